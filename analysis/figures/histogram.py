"""Histograms of times: with the laws fitted to them, and several over each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.laws import Law
from hindmost.analysis.figures.limits import worth_showing
from hindmost.analysis.figures.palette import MOST_LINES
from hindmost.analysis.figures.units import unit_for
from hindmost.errors import UsageError

BINS = 80
POINTS = 400
HEADROOM = 0.1
"""Above the highest bin, for each word of the legend."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Times under one name.

    Attributes
    ----------
    times : float64 array, any shape, seconds
    """

    name: str
    times: NDArray[np.float64]


def histogram(
    times: NDArray[np.float64],
    laws: Sequence[Law],
    *,
    title: str,
    what: str = "time of a body",
    name: str = "recorded bodies",
) -> Chart:
    """Make the histogram of times with the densities of laws.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    laws : sequence of Law
        Anything with a ``name`` and ``pdf(x)``, x in seconds.
    """
    unit = unit_for(times)
    values = times.ravel() * unit.per_second
    edges = common_edges([values])
    density = density_in(values, edges)
    x = np.linspace(edges[0], edges[-1], POINTS)
    curves = [
        Series(name=law.name, look="line", x=x, y=law.pdf(x / unit.per_second) / unit.per_second)
        for law in laws
    ]
    return Chart(
        title=title,
        x=Quantity(what, unit.sign),
        y=Quantity("density", f"1/{unit.sign}"),
        series=(Series(name=name, look="area", x=edges, y=density), *curves),
        y_limits=headroom(float(density.max()), 1 + len(laws)),
        note=beyond([values], edges[-1], unit.sign),
        marks={},
    )


def histograms(samples: Sequence[Sample], *, title: str, what: str = "time of a body") -> Chart:
    """Make the histograms of several samples over each other, in the same bins.

    Raises
    ------
    UsageError
        More samples than can be told apart.
    """
    check_number(samples)
    unit = unit_for(np.concatenate([sample.times.ravel() for sample in samples]))
    scaled = [sample.times.ravel() * unit.per_second for sample in samples]
    edges = common_edges(scaled)
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


def check_number(samples: Sequence[Sample]) -> None:
    """Refuse more samples than can be told apart in one figure."""
    if len(samples) > MOST_LINES:
        raise UsageError(
            f"{len(samples)} curves in one figure cannot be told apart; choose up to {MOST_LINES}."
        )


def common_edges(samples: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the edges of bins from the least of all values to the last that is worth showing.

    What lies beyond is counted in the label, not hidden.
    """
    low = min(float(values.min()) for values in samples)
    high = max(worth_showing(values)[1] for values in samples)
    if high - low <= 1e-6 * abs(low):  # all but equal: a bar in the middle
        low, high = 0.9 * low, 1.1 * high if high > 0 else 1.0
    return np.linspace(low, high, BINS + 1)


def density_in(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density in bins; what lies beyond them counts, so the area may be below 1."""
    counts, _ = np.histogram(values, bins=edges)
    return np.asarray(counts / (values.size * np.diff(edges)), np.float64)


def rounded(value: float) -> str:
    """Write a number with three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def headroom(highest: float, words: int) -> tuple[float, float]:
    """Return the limits of densities, so that the legend has room above them."""
    return 0.0, (1.05 + HEADROOM * words) * highest


def beyond(samples: Sequence[NDArray[np.float64]], end: float, unit: str) -> str:
    """Say how many values lie beyond the end of the axis."""
    number = sum(int(np.count_nonzero(values > end)) for values in samples)
    total = sum(values.size for values in samples)
    longest = max(float(values.max()) for values in samples)
    return f"{number:,} of {total:,} lie beyond, up to {rounded(longest)} {unit}" if number else ""
