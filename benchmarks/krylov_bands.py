"""Histograms with 90 % bands from a block bootstrap.

Blocks of 100 iterations of all repeats are drawn anew, so that slow stretches and serial
correlation are in the bands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.runs.figures.distributions import NamedTimes, density_in, histograms
from hindmost.analysis.show.chart import Chart, Series
from hindmost.analysis.show.palette import LINES
from hindmost.harness.runfile.reader import Run
from hindmost.text import unit_for

BLOCK, FEWEST_BLOCKS = 100, 10
DRAWS = 300
ENDS = (0.05, 0.95)
FloatArray = NDArray[np.float64]


def blocks_of(times: FloatArray) -> list[FloatArray]:
    """Cut times along the first axis into blocks that keep their neighbours."""
    count = min(max(FEWEST_BLOCKS, times.shape[0] // BLOCK), times.shape[0])
    return np.array_split(times, count)


def banded(drawn: Chart, samples: Sequence[Sequence[FloatArray]]) -> Chart:
    """Add to histograms the 90 % bands of their densities.

    Parameters
    ----------
    drawn : Chart
        Its first series are the densities, one for each sample, in the same bins.
    samples : sequence of sequence of float64 array
        The blocks of every sample, in the unit of the chart.
    """
    bands = []
    for series, blocks in zip(drawn.series, samples, strict=False):
        counts = np.array([block.size for block in blocks], np.float64)
        densities = np.array([density_in(block.ravel(), series.x) for block in blocks])
        random = np.random.default_rng(0)
        chosen = random.integers(counts.size, size=(DRAWS, counts.size))
        weights = np.stack([np.bincount(row, minlength=counts.size) for row in chosen]) * counts
        redrawn = (weights / weights.sum(axis=1, keepdims=True)) @ densities
        low, high = np.quantile(redrawn, ENDS, axis=0)
        ends = np.repeat(series.x, 2)[1:-1]  # of bins, so that bands have steps as densities have
        low, high = np.repeat(low, 2), np.repeat(high, 2)
        bands.append(Series(name=f"{series.name}: 90 %", look="band", x=ends, y=high, base=low))
    highest = max(float(band.y.max()) for band in bands)
    low_end, high_end = drawn.y_limits
    limits = (low_end, max(high_end, 1.05 * highest))
    fills = [each for each in drawn.series if each.filled]
    lines = [each for each in drawn.series if not each.filled]
    return replace(drawn, series=(*fills, *bands, *lines), y_limits=limits, legend_below=True)


def pooled(fitted: FittedGroup, values: Callable[[Run], FloatArray]) -> list[FloatArray]:
    """Return blocks of some times of all repeats, in seconds."""
    return [block for run in fitted.runs for block in blocks_of(values(run.run))]


def banded_histograms(
    samples: dict[str, list[FloatArray]], *, title: str, what: str = "time of an iteration"
) -> Chart:
    """Return the histograms of several samples with their bands."""
    named = [
        NamedTimes(name, np.concatenate([block.ravel() for block in blocks]))
        for name, blocks in samples.items()
    ]
    drawn = histograms(named[: len(LINES)], title=title, what=what)
    scale = scale_of(drawn, named)
    return banded(drawn, [[scale * block for block in blocks] for blocks in samples.values()])


def scale_of(drawn: Chart, named: Sequence[NamedTimes]) -> float:
    """Return the number of the chart's units in a second."""
    unit = unit_for(np.concatenate([each.times.ravel() for each in named]))
    assert drawn.x.unit == unit.sign
    return float(unit.per_second)
