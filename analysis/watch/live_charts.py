"""The charts of a program that runs, from its windows: those of every page, over its iterations."""

from __future__ import annotations

import numpy as np

from hindmost.analysis.runs.figures.distributions import in_order, stacked
from hindmost.analysis.show.chart import Chart, Quantity, Series
from hindmost.analysis.show.heat_map import Callout, HeatMap
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.rank_windows import MAX_ROWS, RankWindows
from hindmost.harness.runfile.time_left import BandPoint
from hindmost.text import counted, unit_for

MAX_COLUMNS = 300
"""Of a map that is sent again with every window."""
EMPTY = RankWindows(
    ranks=1,
    ends=np.ones(1, np.int64),
    begin=0,
    shares=np.zeros((1, 1, len(PHASES)), np.float32),
    totals=np.zeros((1, len(PHASES))),
)
"""Before the first window has ended."""


def rank_map(
    title: str, windows: RankWindows, phase: str, callouts: tuple[Callout, ...] = ()
) -> HeatMap:
    """Return the share of a phase in the time of ranks, by iteration and rank."""
    shares = windows.by_rank(PHASES.index(phase))
    begin, end = windows.begin, int(windows.ends[-1])
    step = -(-(end - begin) // MAX_COLUMNS)
    bodies = np.arange(begin, end, step)
    low = np.searchsorted(windows.ends, bodies, side="right")
    high = np.searchsorted(windows.ends[:-1], bodies + step, side="left") + 1
    columns = np.array([shares[at:to].max(axis=0) for at, to in zip(low, high, strict=True)])
    selection = f"each column: the largest of {counted(step, 'iteration')}" if step > 1 else ""
    if windows.ranks > MAX_ROWS:
        rows = f"{windows.ranks:,} ranks share {MAX_ROWS} rows: the largest share of each"
        selection = "; ".join(filter(None, (selection, rows)))
    return HeatMap(
        title=title,
        what=f"{phase}, share of the time",
        selection=selection,
        times=columns,
        bodies=bodies,
        ranks=windows.ranks,
        bodies_a_column=1,
        ranks_a_row=1,
        in_percent=True,
        callouts=callouts,
    )


def phase_chart(title: str, windows: RankWindows) -> Chart:
    """Return the share of each phase in the time of all ranks."""
    percent = 100.0 * windows.totals / np.maximum(windows.totals.sum(axis=1, keepdims=True), 1e-300)
    return Chart(
        title=title,
        x=Quantity("iteration"),
        y=Quantity("share of the time of all ranks", "%"),
        series=stacked(
            in_order(dict(zip(PHASES, percent.T, strict=True))),
            np.append(windows.begin, windows.ends).astype(np.float64),
        ),
        y_limits=(0.0, 100.0),
        stacked=True,
    )


def time_chart(title: str, band: tuple[BandPoint, ...]) -> Chart:
    """Return how long iterations were lately, and how long the next one might have been."""
    x = np.array([point.iteration for point in band] or [0], np.float64)
    level_s = np.array([point.level_s for point in band] or [0.0])
    bound_s = np.array([point.bound_s for point in band] or [0.0])
    unit = unit_for(bound_s)
    return Chart(
        title=title,
        x=Quantity("iteration"),
        y=Quantity("time of an iteration", unit.sign),
        series=(
            Series(
                name="what the next iteration may take",
                look="band",
                x=x,
                y=unit.per_second * bound_s,
                base=unit.per_second * level_s,
            ),
            Series(name="median of the last ones", look="line", x=x, y=unit.per_second * level_s),
        ),
        y_limits=(0.0, max(1.2 * unit.per_second * float(bound_s.max()), 1e-9)),
    )
