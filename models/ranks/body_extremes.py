"""Sums and extremes of the bodies of all ranks, by reductions: for models of reduced runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.noise.all_ranks import BodyExtremes
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of

BINS = 4096
"""Of the times of bodies. Around the median a bin is less than a hundredth of the spread wide, and
keeps mean and variance, so that the mean of a smooth function over all bodies is right to the
fourth order of that."""


def extremes_of_bodies(
    durations: NDArray[np.float64],
    fill: NDArray[np.bool_],
    *,
    reductions: Reductions = ONE_PROCESS,
) -> BodyExtremes:
    """Reduce the bodies of all ranks; collective.

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds
        Of the ranks of this process, at least one.
    fill : bool array, shape (iteration,)
        Bodies that only fill a pipeline (prologue).
    """
    ranks = count_of(durations.shape[1], reductions)
    least = reductions.least(durations.min(axis=1))
    most = reductions.most(durations.max(axis=1))
    mean = np.clip(reductions.total(durations.sum(axis=1)) / ranks, least, most)
    squares = reductions.total(((durations - mean[:, None]) ** 2).sum(axis=1))
    deviation = np.sqrt(squares / ranks)
    counted = ~fill if not fill.all() else np.ones(fill.size, bool)
    edges = bin_edges(least[counted], most[counted], mean[counted], deviation[counted])
    # number, sum and sum of squares of the distances from the lower edge of each bin
    values = durations[counted].ravel()
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BINS - 1)
    offset = values - edges[place]
    table = np.stack(
        [np.bincount(place, weight, BINS) for weight in (np.ones(values.size), offset, offset**2)]
    )
    table = reductions.total(table)
    used = table[0] > 0.0
    count, sums, squared = table[:, used]
    inside = sums / count
    return BodyExtremes(
        least=least,
        most=most,
        mean=mean,
        deviation=deviation,
        bin_count=np.rint(count).astype(np.int64),
        bin_mean=np.maximum.accumulate(edges[:-1][used] + inside),
        bin_deviation=np.sqrt(np.maximum(squared / count - inside**2, 0.0)),
    )


def bin_edges(
    least: NDArray[np.float64],
    most: NDArray[np.float64],
    mean: NDArray[np.float64],
    deviation: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return edges that are close where most bodies lie: float64, shape (BINS + 1,), seconds.

    They are alike in the inverse hyperbolic sine of the distance from the median, in units of the
    spread. The parameters are those of `BodyExtremes`, the same on all processes.
    """
    low, centre, high = np.quantile(mean, (0.25, 0.5, 0.75))
    unit = float(np.hypot(high - low, np.median(deviation))) or 1e-9 * float(centre) or 1e-9
    first, last = (float(np.arcsinh((end - centre) / unit)) for end in (least.min(), most.max()))
    edges: NDArray[np.float64] = centre + unit * np.sinh(np.linspace(first, last, BINS + 1))
    edges[0] = least.min()
    return edges
