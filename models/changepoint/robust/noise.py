"""How noisy the nights are, and how much they depend on each other; needs numba.

Both are taken from differences, before anything is known of the changes, and then from what is left
once levels are taken off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled

MAD_TO_SIGMA = 1.4826
"""The median absolute deviation of a normal law times this is its standard deviation."""
LAGS = (2, 3, 4)
LARGEST_CORRELATION = 0.95
LARGEST_RESIDUAL_CORRELATION = 0.8
"""Beyond it, what is left around levels is no noise but a change of its own."""
BLOCK = 10
"""Nights whose noise is told by theirs and by as many on both sides."""
PRIOR = 20.0
"""Nights that the noise of all counts for, beside the noise around."""
EVIDENT = 2.0
"""A ratio of noises that is no chance, nor the work of shifts."""
SMALLER = 0.8
"""The share of differences that are no outlier's, even where these are one night in ten."""
INLIERS = 4.0
"""Standard deviations within which products of neighbours are summed."""
FEWEST_PAIRS = 8
FEWEST_NIGHTS = 20
HALVINGS = 30


@compiled
def step_scale(y: NDArray[np.float64], lag: int) -> float:
    """Return the standard deviation of independent noise with such differences over ``lag``.

    The larger one of two: from the median, and from the mean square of the smaller four fifths,
    which notices times that are rounded or have two modes, where most differences are alike.
    """
    steps = np.sort(np.abs(y[lag:] - y[: y.size - lag]))
    half = steps.size // 2
    middle = 0.5 * (steps[half] + steps[steps.size - 1 - half])
    most = int(np.ceil(SMALLER * steps.size))
    square = 0.0
    for step in steps[:most]:
        square += step * step
    scale: float = max(MAD_TO_SIGMA * middle, np.sqrt(square / most)) / np.sqrt(2.0)
    return scale


@compiled
def local_factors(y: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return by what every night's noise is larger than that of all, from the differences around.

    Some weeks are noisier than others, and before changes are known only differences tell. Only
    what is evidently noisier counts as such.

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
    common = max(step_scale(y, 1), least)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        first, last = max(begin - BLOCK, 0), min(end + BLOCK, n)
        if last - first < 2 * BLOCK:
            first, last = max(last - 2 * BLOCK, 0), min(first + 2 * BLOCK, n)
        own = max(step_scale(y[first:last], 1), least) / common
        if own < EVIDENT:
            continue
        weight = last - first
        square = (PRIOR + weight * own**2) / (PRIOR + weight)
        for i in range(begin, end):
            factor[i] = np.sqrt(square)
    return factor


@compiled
def correlation_of_steps(y: NDArray[np.float64], least: float) -> float:
    """Return the AR(1) coefficient of the noise, from differences over one night and over more.

    Over k nights they have the variance 2 sigma^2 (1 - rho^k), whatever the few nights say whose
    differences span a change.

    Parameters
    ----------
    y : float64 array, shape (night,)
    least : float
        Standard deviation below which noise is not believed.
    """
    if y.size <= FEWEST_NIGHTS:
        return 0.0
    first = max(step_scale(y, 1), least)
    ratio = 0.0
    for lag in LAGS:
        ratio += (step_scale(y, lag) / first) ** 2 / len(LAGS)
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
    # What 20 independent nights would add keeps few nights from saying much.
    return low * y.size / (y.size + FEWEST_NIGHTS)


@compiled
def correlation_of_residuals(
    residual: NDArray[np.float64], starts: NDArray[np.int64], sigma: NDArray[np.float64]
) -> float:
    """Return the correlation of neighbours in a segment, with the bias of its level taken off."""
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
    rho = product / square + starts.size / pairs
    return min(max(rho, 0.0), LARGEST_RESIDUAL_CORRELATION)


@compiled
def segment_scales(
    residual: NDArray[np.float64],
    starts: NDArray[np.int64],
    factor: NDArray[np.float64],
    prior_nights: float,
    least: float,
) -> NDArray[np.float64]:
    """Return every night's standard deviation: its segment's own, drawn towards the expected one.

    Parameters
    ----------
    residual : float64 array, shape (night,)
    starts : int64 array, shape (segment,)
    factor : float64 array, shape (night,)
        See `local_factors`.
    prior_nights : float
        Nights that the expected standard deviation counts for.
    least : float

    Returns
    -------
    float64 array, shape (night,)
    """
    n = residual.size
    lost = np.sqrt(n / max(n - starts.size, 1))
    common = max(MAD_TO_SIGMA * np.median(np.abs(residual)) * lost, least)
    sigma = np.empty(n)
    for s in range(starts.size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.size else n
        own = MAD_TO_SIGMA * np.median(np.abs(residual[begin:end]))
        weight = max(end - begin - 3, 0)
        square = 0.0
        for i in range(begin, end):
            square += (common * factor[i]) ** 2 / (end - begin)
        variance = (prior_nights * square + weight * own**2) / (prior_nights + weight)
        for i in range(begin, end):
            sigma[i] = max(np.sqrt(variance), least)
    return sigma


@compiled
def long_run_factor(nights: int, rho: float) -> float:
    """Return by what correlation multiplies the variance of a mean of so many nights."""
    if rho <= 0.0 or nights < 2:
        return 1.0
    tail = 2.0 * rho * (1.0 - rho**nights) / (nights * (1.0 - rho) ** 2)
    return (1.0 + rho) / (1.0 - rho) - tail
