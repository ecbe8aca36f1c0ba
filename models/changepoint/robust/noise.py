"""The noise of the nights and its serial correlation; needs numba: import inside functions.

Both are estimated twice: from differences, before the changes are known, and then from the
residuals around the levels.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops

MAD_TO_SIGMA = 1.4826
"""The median absolute deviation of a normal law times this is its standard deviation."""
LAGS = (2, 3, 4)
LARGEST_CORRELATION = 0.95
LARGEST_RESIDUAL_CORRELATION = 0.8
"""Beyond it, residuals around levels are not noise but an undetected change."""
BLOCK = 10
"""Nights whose noise is estimated together, with as many on both sides."""
PRIOR = 20.0
"""Nights that the noise of all nights counts as, when it is combined with the local noise."""
EVIDENT = 2.0
"""A ratio of noises that neither chance nor shifts explain."""
SMALLER = 0.8
"""Share of the differences that involve no outlier, even if one night in ten is one."""
INLIERS = 4.0
"""Standard deviations beyond which residuals do not count for the correlation."""
FEWEST_PAIRS = 8
FEWEST_NIGHTS = 20
HALVINGS = 30


def step_scale(steps: NDArray[np.float64]) -> float:
    """Return the standard deviation of independent noise from the sizes of first differences.

    The larger one of two estimates: from the median, and from the mean square of the smaller four
    fifths, which also holds for times that are rounded or have two modes, where most differences
    are equal.
    """
    steps = np.sort(steps)
    half = steps.size // 2
    middle = 0.5 * float(steps[half] + steps[steps.size - 1 - half])
    most = math.ceil(SMALLER * steps.size)
    square = float(steps[:most] @ steps[:most])
    # A difference of two independent nights has twice the variance of one.
    return max(MAD_TO_SIGMA * middle, math.sqrt(square / most)) / math.sqrt(2.0)


def middle_scale(steps: NDArray[np.float64]) -> float:
    """Return the standard deviation of independent noise from the median size of differences."""
    return MAD_TO_SIGMA * float(loops.median(steps)) / math.sqrt(2.0)


def local_factors(steps: NDArray[np.float64], common: float, least: float) -> NDArray[np.float64]:
    """Return the ratio of every night's noise to that of all nights, from nearby differences.

    Some weeks are noisier than others, and before changes are known only differences show it. Only
    clear cases count (`EVIDENT`); everywhere else the ratio is 1.

    Parameters
    ----------
    steps : float64 array, shape (night - 1,)
        The sizes of first differences.
    common : float
        Standard deviation of the noise of all nights.
    least : float
        Standard deviation below which noise is not believed.

    Returns
    -------
    float64 array, shape (night,)
    """
    n = steps.size + 1
    factor = np.ones(n)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        first, last = max(begin - BLOCK, 0), min(end + BLOCK, n)
        if last - first < 2 * BLOCK:
            first, last = max(last - 2 * BLOCK, 0), min(first + 2 * BLOCK, n)
        # Noise of the block and its surroundings, shrunk towards the noise of all nights.
        own = max(middle_scale(steps[first : last - 1]), least) / common
        if own >= EVIDENT:
            weight = last - first
            factor[begin:end] = math.sqrt((PRIOR + weight * own**2) / (PRIOR + weight))
    return factor


def correlation_of_steps(y: NDArray[np.float64], common: float) -> float:
    """Return the AR(1) coefficient of the noise, from differences over one and several nights.

    A difference over k nights has the variance 2 sigma^2 (1 - rho^k). Medians ignore the few
    differences that span a change.

    Parameters
    ----------
    y : float64 array, shape (night,)
    common : float
        Standard deviation of independent noise that explains the first differences.
    """
    if y.size <= FEWEST_NIGHTS:
        return 0.0
    ratio = 0.0
    for lag in LAGS:
        ratio += (middle_scale(np.abs(y[lag:] - y[:-lag])) / common) ** 2 / len(LAGS)
    # Solve mean over k of (1 - rho^k) / (1 - rho) = ratio for rho, by bisection.
    low, high = 0.0, LARGEST_CORRELATION
    for _ in range(HALVINGS):
        rho = 0.5 * (low + high)
        expected = 0.0
        for lag in LAGS:
            expected += (1.0 - rho**lag) / (1.0 - rho) / len(LAGS)
        if expected < ratio:
            low = rho
        else:
            high = rho
    # Shrink towards 0 as if FEWEST_NIGHTS independent nights were added.
    return low * y.size / (y.size + FEWEST_NIGHTS)


def correlation_of_residuals(
    residual: NDArray[np.float64], starts: NDArray[np.int64], sigma: NDArray[np.float64]
) -> float:
    """Return the lag-1 correlation within segments, corrected for the bias of fitted levels."""
    scaled = residual / sigma
    inlier = np.abs(scaled) <= INLIERS
    counts = inlier[:-1] & inlier[1:]
    counts[starts[1:] - 1] = False  # pairs with a change between them
    a, b = scaled[:-1][counts], scaled[1:][counts]
    square = 0.5 * float(a @ a + b @ b)
    if a.size < FEWEST_PAIRS or square == 0.0:
        return 0.0
    # Each fitted level lowers the correlation by about 1 / n.
    rho = float(a @ b) / square + starts.size / a.size
    return float(min(max(rho, 0.0), LARGEST_RESIDUAL_CORRELATION))


def segment_scales(
    residual: NDArray[np.float64],
    starts: NDArray[np.int64],
    factor: NDArray[np.float64],
    prior_nights: float,
    least: float,
) -> NDArray[np.float64]:
    """Return every night's standard deviation: its segment's, shrunk towards the expected one.

    Parameters
    ----------
    residual : float64 array, shape (night,)
    starts : int64 array, shape (segment,)
    factor : float64 array, shape (night,)
        See `local_factors`.
    prior_nights : float
        Nights that the expected standard deviation counts as.
    least : float

    Returns
    -------
    float64 array, shape (night,)
    """
    n = residual.size
    sizes = np.abs(residual)
    # Residuals around fitted levels are too small by the degrees of freedom that the levels used.
    lost = math.sqrt(n / max(n - starts.size, 1))
    common = max(MAD_TO_SIGMA * float(loops.median(sizes)) * lost, least)
    expected = (common * factor) ** 2
    sigma = np.empty(n)
    bounds = [*starts.tolist(), n]
    for begin, end in pairwise(bounds):
        own = MAD_TO_SIGMA * float(loops.median(sizes[begin:end]))
        weight = max(end - begin - 3, 0)
        square = float(expected[begin:end].mean())
        variance = (prior_nights * square + weight * own**2) / (prior_nights + weight)
        sigma[begin:end] = max(math.sqrt(variance), least)
    return sigma
