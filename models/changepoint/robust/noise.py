"""The noise of the nights and its serial correlation.

Both are estimated twice: from differences, which changes hardly disturb, and then from the
residuals around the levels.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAD_TO_SIGMA = 1.4826
"""The median absolute deviation of a normal law times this is its standard deviation."""
FLOOR = 0.003
"""Lower limit of the noise: a standard deviation of the logarithm."""
OF_UNIT = 0.5
"""The same for values that a file rounds, in units of their last digit."""
BLOCK, EVIDENT = 10, 2.0
"""Nights whose noise is estimated together, with as many on both sides, and the ratio to that of
all nights which neither chance nor changes explain."""
LAGS = (2, 3, 4)
FEWEST_PAIRS, FEWEST_NIGHTS = 8, 20
NEGLIGIBLE = 1e-6
"""Mean square of residuals, in the noise, below which they are errors of rounding."""
MAX_OF_STEPS, MAX_OF_RESIDUALS = 0.95, 0.8
"""Largest correlations. Residuals that are correlated more show an undetected change, not noise."""
PRIOR_NIGHTS, PRIOR_OF_BLOCK = 10.0, 20.0
"""Nights that the noise of the series counts as, in that of a segment and of a block."""


class Noise(NamedTuple):
    """The noise of a series.

    Attributes
    ----------
    sigma : float64 array, shape (observation,)
        Standard deviation of the logarithm.
    rho : float
        AR(1) coefficient.
    """

    sigma: NDArray[np.float64]
    rho: float

    @property
    def wide(self) -> NDArray[np.float64]:
        """The noise of independent nights whose means would vary as those of these nights do."""
        return self.sigma * math.sqrt((1.0 + self.rho) / (1.0 - self.rho))


def noise_of_steps(y: NDArray[np.float64]) -> Noise:
    """Estimate the noise from differences, before any change is known.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms.
    """
    steps = np.abs(np.diff(y))
    common = max(step_scale(steps), least_noise(y))
    rho = correlation_of_steps(y, common)
    return Noise(local_factors(steps, common) * (common / math.sqrt(1.0 - rho)), rho)


def least_noise(y: NDArray[np.float64]) -> float:
    """Return the lower limit of the noise: most values of a file with two decimals may be equal.

    Parameters
    ----------
    y : float64 array, shape (observation,)
        Logarithms.
    """
    distinct = np.unique(np.exp(y - np.median(y)))
    unit = float(np.diff(distinct).min()) if distinct.size > 2 else 0.0
    return max(FLOOR, OF_UNIT * unit)


def local_factors(steps: NDArray[np.float64], common: float) -> NDArray[np.float64]:
    """Return the ratio of every night's noise to that of all nights, from nearby differences.

    Some weeks are noisier than others, and before changes are known only differences show it. Only
    clear cases count (`EVIDENT`); everywhere else the ratio is 1.

    Parameters
    ----------
    steps : float64 array, shape (observation - 1,)
        The sizes of first differences.
    common : float
        Standard deviation of the noise of all nights.

    Returns
    -------
    float64 array, shape (observation,)
    """
    n = steps.size + 1
    factor = np.ones(n)
    for begin in range(0, n, BLOCK):
        near = steps[max(min(begin - BLOCK, n - 3 * BLOCK), 0) : begin + 2 * BLOCK - 1]
        own = MAD_TO_SIGMA * float(np.median(near)) / math.sqrt(2.0) / common
        if own >= EVIDENT:
            # Shrunk towards the noise of all nights.
            square = (PRIOR_OF_BLOCK + near.size * own**2) / (PRIOR_OF_BLOCK + near.size)
            factor[begin : begin + BLOCK] = math.sqrt(square)
    return factor


def step_scale(steps: NDArray[np.float64]) -> float:
    """Return the standard deviation of independent noise from the sizes of first differences.

    The larger one of two estimates: from the median, and from the mean square of the smaller four
    fifths, which also holds for times that are rounded or have two modes, where most differences
    are equal.
    """
    # No outlier is involved, even if one night in ten is one.
    smaller = np.sort(steps)[: math.ceil(0.8 * steps.size)]
    square = float(smaller @ smaller) / smaller.size
    # A difference of two independent nights has twice the variance of one.
    return max(MAD_TO_SIGMA * float(np.median(steps)), math.sqrt(square)) / math.sqrt(2.0)


def correlation_of_steps(y: NDArray[np.float64], common: float) -> float:
    """Return the AR(1) coefficient of the noise, from differences over one and several nights.

    A difference over k nights has the variance 2 sigma^2 (1 - rho^k). Medians ignore the few
    differences that span a change.

    Parameters
    ----------
    y : float64 array, shape (observation,)
    common : float
        Standard deviation of independent noise that explains the first differences.
    """
    if y.size <= FEWEST_NIGHTS:
        return 0.0
    scales = [MAD_TO_SIGMA * float(np.median(np.abs(y[lag:] - y[:-lag]))) for lag in LAGS]
    ratio = float(np.mean(np.square(scales))) / (2.0 * common**2)
    # Solve mean over k of (1 - rho^k) / (1 - rho) = ratio for rho.
    tried = np.linspace(0.0, MAX_OF_STEPS, 500)
    expected = np.mean([(1.0 - tried**lag) / (1.0 - tried) for lag in LAGS], axis=0)
    # Shrink towards 0 as if FEWEST_NIGHTS independent nights were added.
    return float(np.interp(ratio, expected, tried)) * y.size / (y.size + FEWEST_NIGHTS)


def noise_of_residuals(
    y: NDArray[np.float64], residual: NDArray[np.float64], starts: NDArray[np.int64]
) -> Noise:
    """Estimate the noise around the levels: each segment's, shrunk towards that of nearby nights.

    Parameters
    ----------
    y, residual : float64 arrays, shape (observation,)
    starts : int64 array, shape (segment,)
    """
    least, steps = least_noise(y), np.abs(np.diff(y))
    expected = local_factors(steps, max(step_scale(steps), least))
    n = residual.size
    sizes = np.abs(residual)
    # Residuals around fitted levels are too small by the degrees of freedom that the levels used.
    lost = math.sqrt(n / max(n - starts.size, 1))
    common = max(MAD_TO_SIGMA * float(np.median(sizes)) * lost, least)
    sigma = np.empty(n)
    for begin, end in pairwise([*starts.tolist(), n]):
        own = MAD_TO_SIGMA * float(np.median(sizes[begin:end]))
        weight = max(end - begin - 3, 0)
        prior = common**2 * float(np.mean(expected[begin:end] ** 2))
        variance = (PRIOR_NIGHTS * prior + weight * own**2) / (PRIOR_NIGHTS + weight)
        sigma[begin:end] = max(math.sqrt(variance), least)
    return Noise(sigma, correlation_of_residuals(residual / sigma, starts))


def correlation_of_residuals(scaled: NDArray[np.float64], starts: NDArray[np.int64]) -> float:
    """Return the lag-1 correlation within segments, corrected for the bias of fitted levels.

    Parameters
    ----------
    scaled : float64 array, shape (observation,)
        Residuals in standard deviations.
    starts : int64 array, shape (segment,)
    """
    inlier = np.abs(scaled) <= 4.0
    counts = inlier[:-1] & inlier[1:]
    counts[starts[1:] - 1] = False  # pairs with a change between them
    a, b = scaled[:-1][counts], scaled[1:][counts]
    square = 0.5 * float(a @ a + b @ b)
    if a.size < FEWEST_PAIRS or square < NEGLIGIBLE * a.size:
        return 0.0
    # Each fitted level lowers the correlation by about 1 / n.
    rho = float(a @ b) / square + starts.size / a.size
    return min(max(rho, 0.0), MAX_OF_RESIDUALS)
