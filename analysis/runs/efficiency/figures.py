"""Efficiencies over the windows of a run, and through its restart cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.show.chart import Chart, Look, Quantity, Series
from hindmost.models.ranks.efficiencies import Efficiencies

EFFICIENCY = Quantity("efficiency", "%")
LINES: tuple[tuple[str, Callable[[Efficiencies], float | None]], ...] = (
    ("parallel", lambda each: each.parallel),
    ("load balance", lambda each: each.load_balance),
    ("serialisation", lambda each: each.serialisation),
    ("transfer", lambda each: each.transfer),
)
COMMUNICATION: tuple[str, Callable[[Efficiencies], float | None]] = (
    "communication",
    lambda each: each.communication,
)


def lines_of(
    parts: Sequence[Efficiencies], x: NDArray[np.float64], look: Look
) -> tuple[Series, ...]:
    """Return the product and its factors as lines; unsplit communication is one factor."""
    split = parts[0].transfer is not None
    lines = LINES if split else (*LINES[:2], COMMUNICATION)
    return tuple(
        Series(
            name=name,
            look=look,
            x=x,
            y=np.array([100.0 * (value(each) or 0.0) for each in parts]),
        )
        for name, value in lines
    )


def highest(series: Sequence[Series]) -> float:
    """Return the end of the axis; clock errors may raise a transfer efficiency above 100 %."""
    return max(100.0, *(1.02 * float(each.y.max()) for each in series)) if series else 100.0


def over_windows(of: RunEfficiencies, *, title: str) -> Chart:
    """Make the chart of efficiencies over windows of bodies, in time order."""
    edges = np.array([of.windows[0].first, *(each.last for each in of.windows)]) - 0.5
    series = lines_of([each.efficiencies for each in of.windows], edges, "steps")
    return Chart(
        title=title,
        x=Quantity("body"),
        y=EFFICIENCY,
        series=series,
        y_limits=(0.0, highest(series)),
        marks={},
        counted=True,
        legend_below=True,
    )


def in_cycle(of: RunEfficiencies, *, title: str) -> Chart:
    """Make the chart of efficiencies by place in the restart cycle."""
    x = np.array(list(of.places), np.float64)
    series = lines_of(list(of.places.values()), x, "line")
    return Chart(
        title=title,
        x=Quantity("place of the iteration in the restart cycle"),
        y=EFFICIENCY,
        series=series,
        y_limits=(0.0, highest(series)),
        marks={},
        counted=True,
        legend_below=True,
    )
