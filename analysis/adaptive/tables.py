"""The tables on adaptive runs, the same on pages and terminals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.analysis.adaptive import paper
from hindmost.analysis.adaptive.baseline import PhaseRow
from hindmost.analysis.adaptive.checkpoints import CheckpointStudy
from hindmost.analysis.adaptive.goals import Goal
from hindmost.analysis.adaptive.onsets import Onset
from hindmost.analysis.adaptive.study import Errors
from hindmost.analysis.page.parts import Column, Table
from hindmost.analysis.tables.terminal import seconds

RIGHT = "right"
ONLINE = "online-all"
"""The paper's online model, with all cycles before in its window."""
NOTHING = ""


def load_text(load: tuple[float, float] | Sequence[float] | None) -> str:
    """Write the load around a run."""
    return "unknown" if load is None else f"{load[0]:.1f} before, {load[1]:.1f} after"


def load_cell(load: tuple[float, float] | None) -> str:
    """Write the load before and after a run for a table."""
    return "unknown" if load is None else f"{load[0]:.1f}, {load[1]:.1f}"


def percent(value: float | None) -> str:
    """Write an error; nothing where there is none."""
    return NOTHING if value is None or not np.isfinite(value) else f"{value:.1f}"


def raw_table(errors: Sequence[Errors]) -> Table:
    """Return the errors of every predictor, as they were made in the runs."""
    names = list(dict.fromkeys(name for each in errors for name in each.raw))
    return Table(
        columns=(
            Column("runs", "wide"),
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
    )


def span(values: list[float]) -> str:
    """Write the mean of errors, and half their range where there are several."""
    if not values:
        return NOTHING
    if len(values) == 1:
        return percent(values[0])
    return f"{np.mean(values):.1f} ± {0.5 * (max(values) - min(values)):.1f}"


def denoised_table(errors: Sequence[Errors]) -> Table:
    """Return the errors over the fastest of all replays of every cycle."""
    shown = [each for each in errors if each.denoised]
    names = list(dict.fromkeys(name for each in shown for name in each.denoised))
    return Table(
        columns=(
            Column("runs", "wide"),
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
    )


def paper_table(errors: Sequence[Errors]) -> Table:
    """Return tables 3 and 4 of the paper with what was measured here above them.

    ``online`` is the paper's model: time per cell over all cycles before; a, b and c are the decks
    timing-a, timing-b and timing-c.
    """
    here = {(each.replays.deck, each.replays.ranks): each for each in reversed(errors)}
    rows = [
        (
            "here",
            str(ranks),
            *(
                percent(here[deck, ranks].mean_raw(name)) if (deck, ranks) in here else NOTHING
                for deck in paper.DECKS
                for name in (ONLINE, "offline")
            ),
        )
        for ranks in sorted({ranks for _, ranks in here})
    ]
    rows += [
        (name, str(ranks), *(printed(value) for pair in pairs for value in pair))
        for name, table in paper.TABLES.items()
        for ranks, pairs in table.items()
    ]
    return Table(
        columns=(
            Column("machine"),
            Column("PEs", RIGHT),
            *(
                Column(f"{deck[-1]} {model}", RIGHT)
                for deck in paper.DECKS
                for model in ("online", "offline")
            ),
        ),
        rows=rows,
    )


def printed(value: float) -> str:
    """Write an error as the paper prints it: mostly with one digit."""
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"


def phase_table(rows: Sequence[PhaseRow]) -> Table:
    """Return the phases of the offline model beside what was measured of each."""
    return Table(
        columns=(
            Column("phase"),
            Column("predicted", RIGHT),
            Column("measured on rank 0", RIGHT),
            Column("error, %", RIGHT),
            Column("on the rank that spent least", RIGHT),
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
    )


def checkpoint_table(study: CheckpointStudy) -> Table:
    """Return what each rule does with a run."""
    return Table(
        columns=(
            Column("rule"),
            Column("checkpoints", RIGHT),
            Column("after cycles", "wide"),
            Column("waste, %", RIGHT),
            Column("points above", RIGHT),
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
    )


def onset_table(onsets: Sequence[Onset]) -> Table:
    """Return where neighbours came and how soon that was noticed."""
    return Table(
        columns=(
            Column("run"),
            Column("from cycle", RIGHT),
            Column("for", RIGHT),
            Column("times the time", RIGHT),
            Column("found after cycles", RIGHT),
            Column("error then, %", RIGHT),
        ),
        rows=[
            (
                str(Path(each.run.run.path.parent.name, each.run.run.path.name)),
                str(each.cycle),
                str(each.length),
                f"{each.factor:.2f}",
                "not found" if each.delay is None else str(each.delay),
                percent(each.error_percent),
            )
            for each in onsets
        ],
    )


def goal_table(goals: Sequence[Goal]) -> Table:
    """Return what is to be reached beside what is."""
    return Table(
        columns=(
            Column("what", "wide"),
            Column("measured"),
            Column("wanted", "wide"),
            Column("reached"),
        ),
        rows=[
            (each.what, each.measured, each.wanted, "yes" if each.met else "NO") for each in goals
        ],
    )
