"""The tables on adaptive runs, the same on pages and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.analysis.adaptive.study import CheckpointStudy, Onset, Replays
from hindmost.analysis.runs.cycles import DECIDES
from hindmost.analysis.show.table import RIGHT, WIDE, Column, Table

NOTHING = ""
RAW = (
    "Raw errors in percent, of the predictions as each run made them: mean and half the range over "
    "replays. Load: before and after, the highest of the replays. Floor: no prediction can be "
    "better; it is the mean distance of a replay from the median of all replays of the same cycle."
)
WASTE = (
    "Waste is the expected wall time above the computed time, with random failures. The last "
    "column gives the percentage points above the minimum waste."
)


def load_text(load: Sequence[float] | None) -> str:
    """Write the load before and after a run."""
    return "unknown" if load is None else f"{load[0]:.1f} before, {load[1]:.1f} after"


def percent(value: float | None) -> str:
    """Write an error; empty if there is none."""
    return NOTHING if value is None or not np.isfinite(value) else f"{value:.1f}"


def raw_table(errors: Sequence[Replays]) -> Table:
    """Return the errors of each predictor, as made in the runs."""
    names = list(dict.fromkeys(name for error in errors for name in error.raw))
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
                error.label,
                str(len(error.runs)),
                load_text(error.load),
                percent(error.floor),
                *(span(error.raw.get(name, [])) for name in names),
            )
            for error in errors
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
                rule,
                str(len(plan.after)),
                ", ".join(str(cycle) for cycle in plan.after[:12])
                + (", ..." if len(plan.after) > 12 else ""),
                f"{study.waste_percent(rule):.3f}",
                f"{study.above_percent(rule):.3f}",
            )
            for rule, plan in study.plans.items()
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
                str(Path(onset.run.run.path.parent.name, onset.run.run.path.name)),
                str(onset.cycle),
                str(onset.length),
                f"{onset.factor:.2f}",
                "not detected" if onset.delay is None else str(onset.delay),
                percent(onset.error_percent),
            )
            for onset in onsets
        ],
        notes=(f"Errors are those of {DECIDES} from the fourth disturbed cycle on.",),
    )
