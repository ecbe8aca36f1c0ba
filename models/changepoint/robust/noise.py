"""The noise of the nights and its serial correlation; needs numba.

Both are estimated twice: from differences, before the changes are known, and then from the
residuals around the levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.sorting import ascending, median

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


@part
def step_scale(y: NDArray[np.float64]) -> float:
    """Return the standard deviation of independent noise from its first differences.

    The larger one of two estimates: from the median, and from the mean square of the smaller four
    fifths, which also holds for times that are rounded or have two modes, where most differences
    are equal.
    """
    steps = ascending(np.abs(y[1:] - y[: y.size - 1]))
    half = steps.size // 2
    middle = 0.5 * (steps[half] + steps[steps.size - 1 - half])
    most = int(np.ceil(SMALLER * steps.size))
    square = 0.0
    for step in steps[:most]:
        square += step * step
    # A difference of two independent nights has twice the variance of one.
    scale: float = max(MAD_TO_SIGMA * middle, np.sqrt(square / most)) / np.sqrt(2.0)
    return scale


@part
def middle_scale(steps: NDArray[np.float64]) -> float:
    """Return the standard deviation of independent noise from the median of its differences."""
    scale: float = MAD_TO_SIGMA * median(np.abs(steps)) / np.sqrt(2.0)
    return scale


@part
def local_factors(y: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return the ratio of every night's noise to that of all nights, from nearby differences.

    Some weeks are noisier than others, and before changes are known only differences show it. Only
    clear cases count (`EVIDENT`); everywhere else the ratio is 1.

    Parameters
    ----------
    y : float64 array, shape (night,)
    least : float
        Standard deviation below which noise is not believed.

    Returns
    -------
    float64 array, shape (night,)
    """
    n = y.size
    factor = np.ones(n)
    common = max(step_scale(y), least)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        first, last = max(begin - BLOCK, 0), min(end + BLOCK, n)
        if last - first < 2 * BLOCK:
            first, last = max(last - 2 * BLOCK, 0), min(first + 2 * BLOCK, n)
        # Noise of the block and its surroundings, shrunk towards the noise of all nights.
        own = max(middle_scale(y[first + 1 : last] - y[first : last - 1]), least) / common
        if own < EVIDENT:
            continue
        weight = last - first
        square = (PRIOR + weight * own**2) / (PRIOR + weight)
        for i in range(begin, end):
            factor[i] = np.sqrt(square)
    return factor


@part
def correlation_of_steps(y: NDArray[np.float64], least: float) -> float:
    """Return the AR(1) coefficient of the noise, from differences over one and several nights.

    A difference over k nights has the variance 2 sigma^2 (1 - rho^k). Medians ignore the few
    differences that span a change.

    Parameters
    ----------
    y : float64 array, shape (night,)
    least : float
        Standard deviation below which noise is not believed.
    """
    if y.size <= FEWEST_NIGHTS:
        return 0.0
    first = max(step_scale(y), least)
    ratio = 0.0
    for lag in LAGS:
        ratio += (middle_scale(y[lag:] - y[: y.size - lag]) / first) ** 2 / len(LAGS)
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


@part
def correlation_of_residuals(
    residual: NDArray[np.float64], starts: NDArray[np.int64], sigma: NDArray[np.float64]
) -> float:
    """Return the lag-1 correlation within segments, corrected for the bias of fitted levels."""
    begins = np.zeros(residual.size, np.bool_)
    for start in starts:
        begins[start] = True
    product, square, pairs = 0.0, 0.0, 0
    for i in range(1, residual.size):
        a, b = residual[i - 1] / sigma[i - 1], residual[i] / sigma[i]
        if begins[i] or abs(a) > INLIERS or abs(b) > INLIERS:
            continue
        product += a * b
        square += 0.5 * (a * a + b * b)
        pairs += 1
    if pairs < FEWEST_PAIRS or square == 0.0:
        return 0.0
    # Each fitted level lowers the correlation by about 1 / n.
    rho = product / square + starts.size / pairs
    return min(max(rho, 0.0), LARGEST_RESIDUAL_CORRELATION)


@part
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
    # Residuals around fitted levels are too small by the degrees of freedom that the levels used.
    lost = np.sqrt(n / max(n - starts.size, 1))
    common = max(MAD_TO_SIGMA * median(np.abs(residual)) * lost, least)
    sigma = np.empty(n)
    for s in range(starts.size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.size else n
        own = MAD_TO_SIGMA * median(np.abs(residual[begin:end]))
        weight = max(end - begin - 3, 0)
        square = 0.0
        for i in range(begin, end):
            square += (common * factor[i]) ** 2 / (end - begin)
        variance = (prior_nights * square + weight * own**2) / (prior_nights + weight)
        for i in range(begin, end):
            sigma[i] = max(np.sqrt(variance), least)
    return sigma


@part
def long_run_factor(nights: int, rho: float) -> float:
    """Return the factor by which AR(1) correlation enlarges the variance of a mean."""
    if rho <= 0.0 or nights < 2:
        return 1.0
    # 1 + 2 sum over k < n of (1 - k / n) rho^k, summed in closed form.
    tail = 2.0 * rho * (1.0 - rho**nights) / (nights * (1.0 - rho) ** 2)
    return (1.0 + rho) / (1.0 - rho) - tail
