"""Figures of ranks: who is hindmost, which stand out, how many are at work at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Look, Quantity, Series
from hindmost.analysis.figures.one_body import first_ranks
from hindmost.analysis.figures.phases import in_order, stacked
from hindmost.analysis.figures.units import Unit, unit_for
from hindmost.analysis.ranks.timelines import Timelines
from hindmost.models.ranks.histogram import Histogram
from hindmost.models.ranks.lateness import Lateness
from hindmost.models.ranks.profile import Profile

MOST_STEPS = 600
ROOM = 1.05
"""Of the highest value, what the axis is high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A rank, or several on average, as one bar.

    Attributes
    ----------
    name : str
    times : mapping of str to float, seconds
        Of its parts.
    """

    name: str
    times: Mapping[str, float]


def names_of(numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of ranks that are not numbered from 0 on; nothing where they are."""
    if np.array_equal(numbers, np.arange(numbers.size)):
        return ()
    return tuple(str(number) for number in numbers.tolist())


def hindmost_of_ranks(
    late: Lateness, numbers: NDArray[np.int64], hosts: Sequence[str], *, title: str
) -> Chart:
    """Make the chart of how often every rank is last, and of what waiting it causes.

    Parameters
    ----------
    late : Lateness
    numbers : int64 array, shape (rank,)
        Of the ranks.
    hosts : sequence of str, one a rank, or empty
    """
    factor = -(-late.ranks // MOST_STEPS)
    starts = np.arange(0, late.ranks, factor)
    edges = np.append(starts, late.ranks) - 0.5
    whole = max(float(late.charged_s.sum()), 1e-300)
    shares: tuple[tuple[str, Look, NDArray[np.float64]], ...] = (
        ("waiting of all ranks that it causes", "area", 100.0 * late.charged_s / whole),
        ("bodies in which it is last", "steps", 100.0 * late.last / max(late.bodies, 1)),
    )
    pooled = [np.maximum.reduceat(values, starts) for _, _, values in shares]
    return Chart(
        title=title,
        x=Quantity("rank"),
        y=Quantity("share", "%"),
        series=tuple(
            Series(name=name, look=look, x=edges, y=values)
            for (name, look, _), values in zip(shares, pooled, strict=True)
        ),
        y_limits=(0.0, ROOM * max(float(np.max(pooled)), 1.0)),
        note=f"the highest of {factor} in a step" if factor > 1 else "",
        marks=first_ranks(list(hosts)) if any(hosts) else {},
        counted=True,
        names=names_of(numbers),
        legend_below=True,
    )


def bars(rows: Sequence[Bar], *, title: str, what: str) -> Chart:
    """Make the chart of ranks that stand out beside the mean of all, parts on each other.

    Parameters
    ----------
    rows : sequence of Bar
        All with the same parts.
    what : str
        That is on the axis.
    """
    whole = np.array([sum(row.times.values()) for row in rows])
    unit = unit_for(whole)
    times = {
        part: unit.per_second * np.array([row.times[part] for row in rows])
        for part in rows[0].times
    }
    return Chart(
        title=title,
        x=Quantity("rank"),
        y=Quantity(what, unit.sign),
        series=stacked(times, np.arange(len(rows), dtype=np.float64), "bars"),
        y_limits=(0.0, ROOM * max(unit.per_second * float(whole.max()), 1e-12)),
        marks={},
        stacked=True,
        counted=True,
        names=tuple(row.name for row in rows),
    )


def at_work(profile: Profile, *, title: str, folded: bool = False) -> Chart:
    """Make the chart of the share of ranks that are at work, interval by interval.

    Parameters
    ----------
    profile : Profile
    folded : bool
        Of bodies laid over each other, so that edges are shares of a body and no times.
    """
    unit = Unit("%", 100.0) if folded else unit_for(profile.edges)
    percent = 100.0 * profile.utilisation
    return Chart(
        title=title,
        x=Quantity("share of a body" if folded else "time of the solve", unit.sign),
        y=Quantity("ranks at work", "%"),
        series=(Series(name="at work", look="area", x=unit.per_second * profile.edges, y=percent),),
        y_limits=(0.0, max(100.0, ROOM * float(percent.max()))),
        marks={},
    )


def own_work(histogram: Histogram, *, title: str) -> Chart:
    """Make the histogram of what bodies take without waiting, with what lies beyond its bins."""
    unit = unit_for(histogram.edges)
    total = max(histogram.total, 1)
    percent = 100.0 * histogram.counts / total
    used = np.flatnonzero(histogram.counts)
    shown = slice(used[0], used[-1] + 1) if used.size else slice(None)
    edges = histogram.edges[shown.start : None if shown.stop is None else shown.stop + 1]
    beyond = f"{histogram.below:,} below, {histogram.above:,} above"
    return Chart(
        title=title,
        x=Quantity("own work of a body", unit.sign),
        y=Quantity("bodies", "%"),
        series=(
            Series(name="all ranks", look="area", x=edges * unit.per_second, y=percent[shown]),
        ),
        y_limits=(0.0, ROOM * max(float(percent.max()), 1e-12)),
        note=f"beyond the bins: {beyond}",
        marks={},
    )


def timeline_charts(timelines: Timelines, *, title: str) -> list[Chart]:
    """Make a chart of every rank's bodies, all with the same axes, so that they can be compared."""
    unit = unit_for(timelines.longest)
    together = timelines.bodies_a_step
    highest = ROOM * float(timelines.longest.max()) * unit.per_second
    charts = []
    for at, number in enumerate(timelines.numbers.tolist()):
        series = stacked(
            in_order({name: unit.per_second * mean[at] for name, mean in timelines.mean.items()}),
            timelines.edges,
        )
        if together > 1:
            longest = Series(
                name="longest body",
                look="steps",
                x=timelines.edges,
                y=unit.per_second * timelines.longest[at],
            )
            series = (*series, longest)
        charts.append(
            Chart(
                title=f"{title}: rank {number}",
                x=Quantity("body"),
                y=Quantity("time of a body", unit.sign),
                series=series,
                y_limits=(0.0, highest),
                note=f"means of {together} in a step" if together > 1 else "",
                marks={},
                stacked=True,
                counted=True,
            )
        )
    return charts
