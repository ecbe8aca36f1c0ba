"""Sums and extremes of the bodies of all ranks, by reductions: for models of reduced runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.laws.sample import Sample
from hindmost.models.noise.times import Digest
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of

BINS = 4096
"""Of the times of bodies. Around the median a bin is less than a hundredth of the spread wide, and
keeps mean and variance, so that the mean of a smooth function over all bodies is right to the
fourth order of that."""


def digest_of_ranks(
    durations: NDArray[np.float64],
    fill: NDArray[np.bool_],
    *,
    reductions: Reductions = ONE_PROCESS,
) -> Digest:
    """Reduce the bodies of all ranks; collective.

    Parameters
    ----------
    durations : float64 array, shape (iteration, rank), seconds
        Of the ranks of this process, at least one.
    fill : bool array, shape (iteration,)
        Bodies that only fill a pipeline (prologue).
    """
    least = reductions.least(durations.min(axis=1))
    most = reductions.most(durations.max(axis=1))
    mean = reductions.total(durations.sum(axis=1)) / count_of(durations.shape[1], reductions)
    mean = np.clip(mean, least, most)
    counted = ~fill if not fill.all() else np.ones(fill.size, bool)
    edges = bin_edges(least[counted], most[counted], mean[counted])
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
    sample = Sample(
        point=np.maximum.accumulate(edges[:-1][used] + inside),
        count=count,
        variance=np.maximum(squared / count - inside**2, 0.0),
        smallest=float(least[counted].min()),
        largest=float(most[counted].max()),
    )
    return Digest(fastest=least, slowest=most, middle=mean, sample=sample)


def bin_edges(
    least: NDArray[np.float64], most: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return edges that are close where most bodies lie: float64, shape (BINS + 1,), seconds.

    They are alike in the inverse hyperbolic sine of the distance from the median, in units of the
    spread.

    Parameters
    ----------
    least, most, mean : float64 array, shape (iteration,), seconds
        Over all ranks.
    """
    low, centre, high = np.quantile(mean, (0.25, 0.5, 0.75))
    spread = float(np.hypot(high - low, 0.25 * np.median(most - least)))
    unit = spread or 1e-9 * float(centre) or 1e-9
    first, last = (float(np.arcsinh((end - centre) / unit)) for end in (least.min(), most.max()))
    edges: NDArray[np.float64] = centre + unit * np.sinh(np.linspace(first, last, BINS + 1))
    edges[0] = least.min()
    return edges
