"""Empirical distributions of several samples over each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.analysis.figures.chart import Chart, Quantity, Series
from hindmost.analysis.figures.histogram import Sample, check_number, rounded
from hindmost.analysis.figures.limits import worth_showing
from hindmost.analysis.figures.units import unit_for

POINTS = 400
LONGEST = 0.995
"""Share at which every curve ends: the longest 0.5 % are left out."""


def ecdf(samples: Sequence[Sample], *, title: str, what: str = "time of a body") -> Chart:
    """Make the chart of what share of each sample is no longer than a time.

    Every curve is drawn through the same shares, so that no sample's size shows in its line. The
    longest times, which would squeeze the rest, are left out; the label tells how long they are.

    Raises
    ------
    UsageError
        More samples than can be told apart.
    """
    check_number(samples)
    unit = unit_for(np.concatenate([sample.times.ravel() for sample in samples]))
    shares = np.linspace(0.0, LONGEST, POINTS)
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
        y=Quantity("bodies that are no longer", "%"),
        series=tuple(series),
        y_limits=(0.0, 100.0),
        note=f"the longest: {rounded(longest)} {unit.sign}",
        marks={},
    )
