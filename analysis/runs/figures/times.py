"""Times through the restart cycle, of one body on every rank, and split by phase."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.chart import Chart, Look, Quantity, Series
from hindmost.analysis.show.heat_map import MAX_ROWS, MIN_RANGE
from hindmost.text import unit_for

BAND = (0.05, 0.95)
ROOM = 0.06
"""Above and below, of the range of what is shown."""
ORDER = ("local", "post", "unclassified", "halo", "wait")
"""From the bottom: what a rank does by itself, then what it does and loses because of others; above
these, a user's own phases as one area: more areas would look alike in grey."""


def time_in_cycle(
    durations: NDArray[np.float64],
    work: NDArray[np.float64],
    position: NDArray[np.int32],
    *,
    title: str,
) -> Chart:
    """Make the chart of medians and the middle 90 % at every place of the cycle.

    Parameters
    ----------
    durations, work : float64 array, shape (iteration, rank), seconds
    position : int array, shape (iteration,)
        Place in the cycle.
    """
    unit = unit_for(durations)
    shares = (BAND[0], 0.5, BAND[1])
    low, middle, high = quantiles_by_place(durations, position, shares) * unit.per_second
    [alone] = quantiles_by_place(work, position, (0.5,)) * unit.per_second
    x = np.unique(position).astype(np.float64)
    return Chart(
        title=title,
        x=Quantity("place of the iteration in the restart cycle"),
        y=Quantity("time of an iteration", unit.sign),
        series=(
            Series(name="middle 90 % of iterations", look="band", x=x, y=high, base=low),
            Series(name="median", look="line", x=x, y=middle),
            Series(name="median without waiting", look="line", x=x, y=alone),
        ),
        y_limits=(0.0, 1.25 * float(high.max())),
        marks={},
        counted=True,
    )


def quantiles_by_place(
    times: NDArray[np.float64], position: NDArray[np.int32], shares: tuple[float, ...]
) -> NDArray[np.float64]:
    """Return quantiles of the times at every place: float64 array, shape (share, place).

    Parameters
    ----------
    times : float64 array, shape (iteration, rank)
    position : int array, shape (iteration,)
    shares : tuple of float
    """
    order = np.argsort(position, kind="stable")
    counts = np.bincount(position)
    counts = counts[counts > 0]
    begins = np.cumsum(counts) - counts
    quantiles = np.empty((len(shares), counts.size))
    for count in np.unique(counts).tolist():  # places that come as often, all at once
        same = np.flatnonzero(counts == count)
        rows = order[begins[same][:, None] + np.arange(count)]
        quantiles[:, same] = np.quantile(times[rows].reshape(same.size, -1), shares, axis=1)
    return quantiles


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
        for name, values in (("whole iteration", durations), ("without waiting", work))
    )
    low = min(float(each.y.min()) for each in series)
    high = max(float(each.y.max()) for each in series)
    room = ROOM * max(high - low, (MIN_RANGE - 1.0) * high)
    return Chart(
        title=title,
        x=Quantity("rank"),
        y=Quantity("time of the iteration", unit.sign),
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


def names_of(numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of ranks that are not numbered from 0 on; nothing where they are."""
    if np.array_equal(numbers, np.arange(numbers.size)):
        return ()
    return tuple(str(number) for number in numbers.tolist())


def stacked_shares(
    sums: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    marks: dict[str, float],
) -> Chart:
    """Stack the shares of phases in the time of ranks; many neighbours are added up.

    Parameters
    ----------
    sums : mapping of str to float64 array, shape (rank,), seconds
        Time of every phase, of all iterations.
    marks : dict of str to float
        Where the ranks of each host begin.
    """
    length = next(iter(sums.values())).size
    factor = -(-length // MAX_ROWS)
    starts = np.arange(0, length, factor)
    pooled = {name: np.add.reduceat(times, starts) for name, times in in_order(sums).items()}
    whole = np.sum(list(pooled.values()), axis=0)
    whole = np.where(whole > 0, whole, 1.0)
    percent = {name: 100.0 * times / whole for name, times in pooled.items()}
    edges = np.append(starts, length) - 0.5
    return Chart(
        title=title,
        x=Quantity("rank"),
        y=Quantity("share of the time of iterations", "%"),
        series=stacked(percent, edges),
        y_limits=(0.0, 100.0),
        note=f"{factor} together in a step" if factor > 1 else "",
        marks=marks,
        stacked=True,
        counted=True,
    )


def in_order(times: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return the phases that are there from the bottom up, those of a user's own as one.

    Parts of something else than a body stay as they are.
    """
    if not set(ORDER) & times.keys():
        return dict(times)
    own = [name for name in times if name not in ORDER]
    parts = {name: times[name] for name in ORDER if name in times}
    if own:
        parts[", ".join(own)] = np.sum([times[name] for name in own], axis=0)
    return parts


def stacked(
    parts: Mapping[str, NDArray[np.float64]], x: NDArray[np.float64], look: Look = "area"
) -> tuple[Series, ...]:
    """Return areas or bars that stand on each other, from the bottom up.

    Parameters
    ----------
    parts : mapping of str to float64 array, shape (step,)
    x : float64 array, shape (step + 1,) for areas, (step,) for bars
    look : ``area`` or ``bars``
    """
    steps = next(iter(parts.values())).size
    tops = np.cumsum([np.zeros(steps), *parts.values()], axis=0)
    return tuple(
        Series(name=name, look=look, x=x, y=tops[level + 1], base=tops[level])
        for level, name in enumerate(parts)
    )
