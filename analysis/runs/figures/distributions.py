"""Histograms and empirical distributions of times, with the laws fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.chart import QUANTILES, Chart, Quantity, Series, worth_showing
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
        marks={},
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
        marks={},
    )
