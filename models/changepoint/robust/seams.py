"""The test of what lies between two segments, and of changes that are held; needs numba.

A held change is tested with the nights near it where the whole segments no longer show it: nights
long after a step say nothing about whether there was one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.line import LINE
from hindmost.models.changepoint.robust.noise import MAD_TO_SIGMA
from hindmost.models.changepoint.robust.search import Segments
from hindmost.models.changepoint.robust.settings import RobustSettings

NEAR_LINE = 10
"""Least number of nights of a line that its end is estimated from."""


class SeamTest(NamedTuple):
    """The test of two levels at a seam.

    Attributes
    ----------
    flat : float64 array, shape (observation,)
        Logarithms without the slopes of lines on both sides.
    begin, end : int
        The observations around the seam from which the levels are estimated.
    sigma : float64 array, shape (observation,)
        Standard deviation of the noise.
    difference, error, freedom, p : float
        See `comparison.compare`.
    """

    flat: NDArray[np.float64]
    begin: int
    end: int
    sigma: NDArray[np.float64]
    difference: float
    error: float
    freedom: float
    p: float


def compare_at_seam(
    y: NDArray[np.float64], found: Segments, settings: RobustSettings, s: int
) -> SeamTest:
    """Test the levels on both sides of the seam at which a segment begins.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms.
    found : Segments
    settings : RobustSettings
    s : int
        The segment.
    """
    wide = found.sigma * math.sqrt((1.0 + found.rho) / (1.0 - found.rho))
    flat, begin, end = level_at_seams(y, found.starts, found.kinds, wide, settings, s)
    whole = tested(flat, begin, int(found.starts[s]), end, found.sigma, found.rho, settings)
    if whole.p <= settings.refuted or found.starts[s] not in found.held:
        return whole
    return compare_nearby(y, found, settings, s)


def compare_nearby(
    y: NDArray[np.float64], found: Segments, settings: RobustSettings, s: int
) -> SeamTest:
    """Test the levels of the nights near a seam, with the noise of these nights."""
    seam = int(found.starts[s])
    end = int(found.starts[s + 1]) if s + 1 < found.starts.size else y.size
    begin = max(int(found.starts[s - 1]), seam - settings.held_near)
    end = min(end, seam + settings.held_near)
    sizes = [
        np.abs(side - loops.median(side)) for side in (y[begin:seam].copy(), y[seam:end].copy())
    ]
    lost = math.sqrt((end - begin) / max(end - begin - 2, 1))
    common = MAD_TO_SIGMA * lost * float(loops.median(np.concatenate(sizes)))
    common = max(common, settings.noise_floor)
    sigma = found.sigma.copy()
    for size, (first, last) in zip(sizes, ((begin, seam), (seam, end)), strict=True):
        own = MAD_TO_SIGMA * float(loops.median(size))
        weight = max(size.size - 3, 0)
        prior = settings.prior_segment
        variance = (prior * common**2 + weight * own**2) / (prior + weight)
        sigma[first:last] = max(math.sqrt(variance), settings.noise_floor)
    return tested(y, begin, seam, end, sigma, found.rho, settings)


def tested(
    flat: NDArray[np.float64],
    begin: int,
    seam: int,
    end: int,
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
) -> SeamTest:
    """Return the test of two levels with the observations that it is of."""
    difference, error, freedom, p = loops.compare(
        flat,
        (begin, seam),
        (seam, end),
        sigma,
        rho,
        settings.above,
        settings.prior_nights,
        settings.wander,
    )
    return SeamTest(flat, begin, end, sigma, difference, error, freedom, p)


def level_at_seams(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    settings: RobustSettings,
    s: int,
) -> tuple[NDArray[np.float64], int, int]:
    """Remove the slopes of lines on both sides of a seam, so that their levels there compare.

    Returns
    -------
    float64 array, shape (observation,)
    begin, end : int
        The observations around the seam from which both levels are estimated.
    """
    seam = starts[s]
    begin = starts[s - 1]
    end = starts[s + 1] if s + 1 < starts.size else y.size
    if kinds[s - 1] != LINE and kinds[s] != LINE:
        return y, begin, end
    flat = y.copy()
    fitted = loops.levels_of(y, starts, sigma, settings.above)
    if kinds[s - 1] == LINE:
        slope = loops.fit_line(y, begin, seam, sigma, fitted, settings.above, settings.below)[2]
        flat[begin:seam] -= slope * np.arange(begin - seam, 0)
        begin = max(begin, seam - max(NEAR_LINE, (seam - begin) // 4))
    if kinds[s] == LINE:
        slope = loops.fit_line(y, seam, end, sigma, fitted, settings.above, settings.below)[2]
        flat[seam:end] -= slope * np.arange(end - seam)
        end = min(end, seam + max(NEAR_LINE, (end - seam) // 4))
    return flat, begin, end
