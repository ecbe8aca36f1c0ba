"""Charts of times: histograms with laws, through the restart cycle, by rank, split by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.chart import QUANTILES, Chart, Look, Quantity, Series, worth_showing
from hindmost.analysis.show.heat_map import MAX_ROWS, MIN_RANGE
from hindmost.analysis.show.palette import LINES
from hindmost.errors import DataError, UsageError
from hindmost.models.laws.law import fit_johnsonsu
from hindmost.text import unit_for

Density = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FEWEST_BINS, BINS = 12, 80
"""Of a histogram: one for four values, within these."""
POINTS = 400
JOHNSON_SU = "Johnson SU"


@dataclass(frozen=True, slots=True)
class NamedLaw:
    """A density, in 1/s at times in seconds, and the name it goes by."""

    name: str
    pdf: Density


def normal_law(times: NDArray[np.float64]) -> NamedLaw:
    """Return the normal law of the same mean and deviation, for comparison."""
    mean, deviation = float(times.mean()), float(times.std())

    def density(x: NDArray[np.float64]) -> NDArray[np.float64]:
        z = (x - mean) / deviation
        height: NDArray[np.float64] = np.exp(-0.5 * z * z) / (deviation * np.sqrt(2 * np.pi))
        return height

    return NamedLaw("normal", density)


def fitted_laws(times: NDArray[np.float64], *, normal: bool = True) -> list[NamedLaw]:
    """Return the laws that times allow: Johnson SU, and a normal one if asked for.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    """
    laws: list[NamedLaw] = []
    with suppress(DataError):  # draw the histogram alone
        laws.append(NamedLaw(JOHNSON_SU, fit_johnsonsu(times).pdf))
    if normal and times.std() > 1e-12 * abs(times.mean()):
        laws.append(normal_law(times))
    return laws


@dataclass(frozen=True, slots=True)
class NamedTimes:
    """Times under one name.

    Attributes
    ----------
    times : float64 array, any shape, seconds
    """

    name: str
    times: NDArray[np.float64]


def histogram(
    times: NDArray[np.float64],
    laws: Sequence[NamedLaw],
    *,
    title: str,
    what: str = "time of an iteration",
    name: str = "recorded iterations",
) -> Chart:
    """Make the histogram of times with the densities of laws.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    laws : sequence of NamedLaw
    """
    drawn = histograms([NamedTimes(name, times)], title=title, what=what)
    bins = replace(drawn.series[0], look="area")
    highest = headroom(float(bins.y.max()), 1 + len(laws))
    return replace(drawn, series=(bins, *curves_of(laws, bins.x, times)), y_limits=highest)


def curves_of(
    laws: Sequence[NamedLaw],
    edges: NDArray[np.float64],
    times: NDArray[np.float64],
    of: str = "",
) -> list[Series]:
    """Return the densities of laws over the bins of a histogram.

    Parameters
    ----------
    edges : float64 array, shape (bin + 1,)
        In the unit of the axis.
    times : float64 array, any shape, seconds
        Those that gave the axis its unit.
    of : str
        What comes before the names of the laws.
    """
    per_second = unit_for(times).per_second
    x = np.linspace(edges[0], edges[-1], POINTS)
    return [
        Series(name=of + law.name, look="line", x=x, y=law.pdf(x / per_second) / per_second)
        for law in laws
    ]


def histograms(
    samples: Sequence[NamedTimes],
    *,
    title: str,
    what: str = "time of an iteration",
    shown: float = 1.0,
) -> Chart:
    """Make the histograms of several samples over each other, in the same bins.

    Parameters
    ----------
    shown : float
        Share of the sample with the longest times that the axis shows at most.

    Raises
    ------
    UsageError
        More samples than colours and dashes can distinguish.
    """
    check_number(samples)
    unit = unit_for(np.concatenate([sample.times.ravel() for sample in samples]))
    scaled = [sample.times.ravel() * unit.per_second for sample in samples]
    edges = common_edges(scaled, shown)
    series = tuple(
        Series(name=sample.name, look="steps", x=edges, y=density_in(values, edges))
        for sample, values in zip(samples, scaled, strict=True)
    )
    return Chart(
        title=title,
        x=Quantity(what, unit.sign),
        y=Quantity("density", f"1/{unit.sign}"),
        series=series,
        y_limits=headroom(max(float(each.y.max()) for each in series), len(series)),
        note=beyond(scaled, edges[-1], unit.sign),
    )


def laws_over_each_other(
    samples: Sequence[NamedTimes], *, title: str, what: str = "time of an iteration"
) -> Chart:
    """Make the histograms of several samples with the Johnson SU law of each.

    The longest tenth is left out, as a long tail would squeeze the laws. Where that is more
    than a reader can distinguish, a sample shows its law only, or its histogram if no law fits.

    Raises
    ------
    UsageError
        More samples than colours and dashes can distinguish.
    """
    alone = histograms(samples, title=title, what=what, shown=0.9)
    both = 2 * len(samples) <= len(LINES)
    every = np.concatenate([sample.times.ravel() for sample in samples])
    series: list[Series] = []
    for sample, steps in zip(samples, alone.series, strict=True):
        laws = fitted_laws(sample.times, normal=False)
        if both or not laws:
            series.append(steps)
        series += curves_of(laws, steps.x, every, f"{sample.name}: ")
    highest = max(float(each.y.max()) for each in series)
    return replace(alone, series=tuple(series), y_limits=(0.0, 1.05 * highest), legend_below=True)


def check_number(samples: Sequence[NamedTimes]) -> None:
    """Refuse more samples than one figure can distinguish."""
    if len(samples) > len(LINES):
        raise UsageError(
            f"{len(samples)} curves in one figure are too many; choose up to {len(LINES)}."
        )


def common_edges(samples: Sequence[NDArray[np.float64]], shown: float = 1.0) -> NDArray[np.float64]:
    """Return the edges of bins from the smallest value to the end of the axis.

    What lies beyond is counted in the label, not hidden.
    """
    low = min(float(values.min()) for values in samples)
    ends = [(worth_showing(values)[1], float(np.quantile(values, shown))) for values in samples]
    high = max(map(min, ends))
    if high - low <= 1e-6 * abs(low):  # all but equal: a bar in the middle
        low, high = 0.9 * low, 1.1 * high if high > 0 else 1.0
    fewest = min(values.size for values in samples)
    return np.linspace(low, high, int(np.clip(fewest // 4, FEWEST_BINS, BINS)) + 1)


def density_in(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density in bins; what lies beyond them counts, so the area may be below 1.

    Parameters
    ----------
    edges : float64 array, shape (bin + 1,)
        Of bins that are equally wide, which numpy counts without sorting the values.
    """
    ends = float(edges[0]), float(edges[-1])
    counts, _ = np.histogram(values, bins=edges.size - 1, range=ends)
    return np.asarray(counts / (values.size * np.diff(edges)), np.float64)


def rounded(value: float) -> str:
    """Write a number with three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def headroom(highest: float, words: int) -> tuple[float, float]:
    """Return the limits of densities, so that the legend has room above them."""
    return 0.0, (1.05 + 0.1 * words) * highest


def beyond(samples: Sequence[NDArray[np.float64]], end: float, unit: str) -> str:
    """Return a note on how many values lie beyond the end of the axis."""
    number = sum(int(np.count_nonzero(values > end)) for values in samples)
    total = sum(values.size for values in samples)
    longest = max(float(values.max()) for values in samples)
    return f"{number:,} of {total:,} lie beyond, up to {rounded(longest)} {unit}" if number else ""


def ecdf(samples: Sequence[NamedTimes], *, title: str, what: str = "time of an iteration") -> Chart:
    """Make the chart of what share of each sample is no longer than a time.

    Every curve is drawn through the same shares, so that no sample's size shows in its line. The
    longest times, which would squeeze the rest, are left out; the label tells how long they are.

    Raises
    ------
    UsageError
        More samples than colours and dashes can distinguish.
    """
    check_number(samples)
    unit = unit_for(np.concatenate([sample.times.ravel() for sample in samples]))
    shares = np.linspace(0.0, QUANTILES[1], POINTS)
    end = max(worth_showing(sample.times)[1] for sample in samples)
    series = []
    for sample in samples:
        times = np.quantile(sample.times, shares)
        shown = times <= end
        x = times[shown] * unit.per_second
        series.append(Series(name=sample.name, look="line", x=x, y=100.0 * shares[shown]))
    longest = max(float(sample.times.max()) for sample in samples) * unit.per_second
    return Chart(
        title=title,
        x=Quantity(what, unit.sign),
        y=Quantity("iterations that are no longer", "%"),
        series=tuple(series),
        y_limits=(0.0, 100.0),
        note=f"the longest: {rounded(longest)} {unit.sign}",
    )


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
