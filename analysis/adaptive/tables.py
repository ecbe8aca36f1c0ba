"""The tables on adaptive runs, the same on pages and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.analysis.adaptive.checkpoints import CheckpointStudy
from hindmost.analysis.adaptive.interference import Onset
from hindmost.analysis.adaptive.offline import PhaseRow
from hindmost.analysis.adaptive.study import AdaptiveStudy, PredictionErrors, figures_of_merit
from hindmost.analysis.runs.cycles import DECIDES
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table
from hindmost.text import seconds

NOTHING = ""
RAW = (
    "Raw errors in percent, of the predictions as each run made them: mean and half the range over "
    "replays. Load: before and after, the highest of the replays. Floor: no prediction can be "
    "better; it is the mean distance of a replay from the median of all replays of the same cycle."
)
DENOISED = (
    "Denoised errors in percent: each cycle is the fastest of its replays, and the predictors run "
    "again over these times. They show what the models miss on an undisturbed machine; do not "
    "compare them with raw errors."
)
PHASES = (
    "The offline model by phase, with the actual heat iterations. On rank 0, halo and reduction "
    "include waiting for other ranks. The rank that spends least in a phase hardly waits; its time "
    "is the communication that the model predicts."
)
WASTE = (
    "Waste is the expected wall time above the computed time, with random failures. The last "
    "column gives the percentage points above the minimum waste."
)


def load_text(load: tuple[float, float] | Sequence[float] | None) -> str:
    """Write the load around a run."""
    return "unknown" if load is None else f"{load[0]:.1f} before, {load[1]:.1f} after"


def load_cell(load: tuple[float, float] | None) -> str:
    """Write the load before and after a run for a table."""
    return "unknown" if load is None else f"{load[0]:.1f}, {load[1]:.1f}"


def percent(value: float | None) -> str:
    """Write an error; empty if there is none."""
    return NOTHING if value is None or not np.isfinite(value) else f"{value:.1f}"


def raw_table(errors: Sequence[PredictionErrors]) -> Table:
    """Return the errors of each predictor, as made in the runs."""
    names = list(dict.fromkeys(name for each in errors for name in each.raw))
    return Table(
        columns=(
            Column("runs", WIDE),
            Column("replays", RIGHT),
            Column("load", RIGHT),
            Column("floor", RIGHT),
            *(Column(name, RIGHT) for name in names),
        ),
        rows=[
            (
                each.replays.label,
                str(len(each.replays.runs)),
                load_cell(each.load),
                percent(each.floor),
                *(span(each.raw.get(name, [])) for name in names),
            )
            for each in errors
        ],
        notes=(RAW,),
    )


def span(values: list[float]) -> str:
    """Write the mean of errors, and half their range where there are several."""
    if not values:
        return NOTHING
    if len(values) == 1:
        return percent(values[0])
    return f"{np.mean(values):.1f} ± {0.5 * (max(values) - min(values)):.1f}"


def denoised_table(errors: Sequence[PredictionErrors]) -> Table:
    """Return the errors over the fastest of all replays of every cycle."""
    shown = [each for each in errors if each.denoised]
    names = list(dict.fromkeys(name for each in shown for name in each.denoised))
    return Table(
        columns=(
            Column("runs", WIDE),
            Column("replays", RIGHT),
            Column("load", RIGHT),
            *(Column(name, RIGHT) for name in names),
        ),
        rows=[
            (
                each.replays.label,
                str(len(each.replays.runs)),
                load_cell(each.load),
                *(percent(each.denoised.get(name)) for name in names),
            )
            for each in shown
        ],
        notes=(DENOISED,),
    )


def phase_table(rows: Sequence[PhaseRow]) -> Table:
    """Return predicted and measured time of each phase of the offline model."""
    return Table(
        columns=(
            Column("phase"),
            Column("predicted", RIGHT),
            Column("measured on rank 0", RIGHT),
            Column("error, %", RIGHT),
            Column("on the fastest rank", RIGHT),
            Column("error, %", RIGHT),
        ),
        rows=[
            (
                row.phase,
                seconds(row.predicted_s),
                seconds(row.measured_s),
                percent(row.error_percent),
                seconds(row.least_s),
                percent(row.error_least_percent),
            )
            for row in rows
            if row.predicted_s > 0.0 or row.measured_s > 0.0
        ],
        notes=(PHASES,),
    )


def checkpoint_table(study: CheckpointStudy) -> Table:
    """Return the checkpoints of a run by each rule, and their waste."""
    return Table(
        columns=(
            Column("rule"),
            Column("checkpoints", RIGHT),
            Column("after cycles", WIDE),
            Column("waste, %", RIGHT),
            Column("above minimum, points", RIGHT),
        ),
        rows=[
            (
                each.name,
                str(len(each.plan.after)),
                ", ".join(str(cycle) for cycle in each.plan.after[:12])
                + (", ..." if len(each.plan.after) > 12 else ""),
                f"{each.waste_percent:.3f}",
                f"{each.above_percent:.3f}",
            )
            for each in study.planned
        ],
        notes=(WASTE,),
    )


def onset_table(onsets: Sequence[Onset]) -> Table:
    """Return where neighbours began, and how soon that was detected."""
    return Table(
        columns=(
            Column("run"),
            Column("from cycle", RIGHT),
            Column("cycles", RIGHT),
            Column("slowdown factor", RIGHT),
            Column("detected after cycles", RIGHT),
            Column("error after, %", RIGHT),
        ),
        rows=[
            (
                str(Path(each.run.run.path.parent.name, each.run.run.path.name)),
                str(each.cycle),
                str(each.length),
                f"{each.factor:.2f}",
                "not detected" if each.delay is None else str(each.delay),
                percent(each.error_percent),
            )
            for each in onsets
        ],
        notes=(f"Errors are those of {DECIDES} from the fourth disturbed cycle on.",),
    )


def merit_table(study: AdaptiveStudy) -> Table:
    """Return the figures of merit of what is decided from predictions."""
    return Table(
        columns=(Column("figure of merit", WIDE), Column("value", RIGHT)),
        rows=[(each.what, each.text) for each in figures_of_merit(study)],
        notes=("Time limits are simulated on the recorded cycles of undisturbed runs.",),
    )
