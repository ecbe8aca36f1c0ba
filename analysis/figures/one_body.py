"""The time of one body on every rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.units import unit_for

ROOM = 0.06
"""Above and below, of the range of what is shown."""
LEAST_RANGE = 0.05
"""Of the longest time: smaller differences are not to look large."""


def time_per_rank(
    durations: NDArray[np.float64],
    work: NDArray[np.float64],
    *,
    title: str,
    hosts: list[str],
    names: tuple[str, ...] = (),
) -> Chart:
    """Make the chart of one body on every rank, with and without waiting.

    The axis does not begin at zero: ranks of a host differ by little.

    Parameters
    ----------
    durations, work : float64 array, shape (rank,), seconds
    hosts : list of str
        Of every rank; where the host changes a mark is set.
    names : tuple of str
        Of the ranks, where they are not numbered from 0 on.
    """
    unit = unit_for(durations)
    edges = np.arange(durations.size + 1) - 0.5
    series = tuple(
        Series(name=name, look="steps", x=edges, y=values * unit.per_second)
        for name, values in (("whole body", durations), ("without waiting", work))
    )
    low = min(float(each.y.min()) for each in series)
    high = max(float(each.y.max()) for each in series)
    room = ROOM * max(high - low, LEAST_RANGE * high)
    return Chart(
        title=title,
        x=Quantity("rank"),
        y=Quantity("time of the body", unit.sign),
        series=series,
        # Hosts are named below the steps, words of the legend stand above them.
        y_limits=(low - 2 * room, high + 6 * room),
        marks=first_ranks(hosts),
        counted=True,
        names=names,
    )


def first_ranks(hosts: list[str]) -> dict[str, float]:
    """Return where the ranks of each host begin, by name; a host that comes back keeps its first.

    Returns
    -------
    dict of str to float
        The left edge of its first rank.
    """
    marks: dict[str, float] = {}
    for rank, host in enumerate(hosts):
        marks.setdefault(host, rank - 0.5)
    return marks
