"""How noisy the nights are, and how much they depend on each other; needs numba.

Both are taken from medians: of first differences before anything is known of the changes, and of
what is left once levels are taken off.
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
INLIERS = 4.0
"""Standard deviations within which products of neighbours are summed."""
FEWEST_PAIRS = 8
FEWEST_NIGHTS = 20
HALVINGS = 30


@compiled
def step_scale(y: NDArray[np.float64], lag: int) -> float:
    """Return the standard deviation of independent noise with such differences over ``lag``."""
    steps = np.abs(y[lag:] - y[: y.size - lag])
    return MAD_TO_SIGMA * np.median(steps) / np.sqrt(2.0)


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
    prior_nights: float,
    least: float,
) -> NDArray[np.float64]:
    """Return every night's standard deviation: its segment's own, drawn towards that of all.

    Parameters
    ----------
    residual : float64 array, shape (night,)
    starts : int64 array, shape (segment,)
    prior_nights : float
        Nights that the standard deviation of all counts for.
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
        variance = (prior_nights * common**2 + weight * own**2) / (prior_nights + weight)
        sigma[begin:end] = max(np.sqrt(variance), least)
    return sigma


@compiled
def long_run_factor(nights: int, rho: float) -> float:
    """Return by what correlation multiplies the variance of a mean of so many nights."""
    if rho <= 0.0 or nights < 2:
        return 1.0
    tail = 2.0 * rho * (1.0 - rho**nights) / (nights * (1.0 - rho) ** 2)
    return (1.0 + rho) / (1.0 - rho) - tail
