"""Serial correlation: the effective sample size of a rank's times, for their distribution.

The empirical distribution of n independent times has the variance F (1 - F) / n at every level. If
the times of a rank are serially correlated, it has F (1 - F) tau / n, with tau the sum of the
autocorrelations of the *indicator* series 1{T_k <= x} over all lags, positive and negative. The
effective sample size is n / tau. The indicators are used instead of the times, because the
empirical distribution averages them, and a single long detour weighs no more than any other time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared

QUARTILES = (0.25, 0.5, 0.75)
WINDOW = 5.0
"""Correlation times up to which autocorrelations are summed; further ones are only noise."""
GRID = 16
"""Levels of the simulated limit, as parts of the data; finer ones change it by less than 1 %."""
DRAWS = 20_000


def correlation_times(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation time of every rank, over the indicators of its three quartiles.

    Parameters
    ----------
    series : float64 array, shape (rank, iteration), contiguous
        In the order in which they happened.

    Returns
    -------
    float64 array, shape (rank,), iterations
        tau, at least 1; 1 for a constant series. A periodic series, such as the work in restart
        cycles, has more than n effective times, but counts as n.
    """
    ordered = np.sort(series, axis=1)
    places = (np.array(QUARTILES) * (series.shape[1] - 1)).astype(np.intp)
    times: NDArray[np.float64] = sum_correlations(series, ordered[:, places], WINDOW)
    return times


@declared("(f8[:,::1], f8[::1,:], f8)")
def sum_correlations(
    series: NDArray[np.float64], levels: NDArray[np.float64], window: float
) -> NDArray[np.float64]:
    """Sum the autocorrelations of the indicators, until the lag is a window of their sum.

    With c_k the number of levels that T_k does not exceed, min(c_k, c_k+h) counts the levels that
    neither exceeds: one pass over small integers does for all indicators.
    """
    ranks, iterations = series.shape
    times = np.ones(ranks)
    count = np.empty(iterations, np.int8)
    for rank in range(ranks):
        total = 0
        squares = 0.0
        count[:] = 0
        for level in levels[rank]:
            below = 0
            for k in range(iterations):
                held = series[rank, k] <= level
                count[k] += held
                below += held
            total += below
            squares += (below / iterations) ** 2
        variance = total / iterations - squares
        if variance <= 0.0:
            continue
        time = 1.0
        lag = 0
        while lag < window * time and lag < iterations // 2:
            lag += 1
            shared = 0
            for k in range(iterations - lag):
                shared += min(count[k], count[k + lag])
            time += 2.0 * (shared / (iterations - lag) - squares) / variance
        # The mean that was subtracted is the series' own: every autocorrelation is tau / n too low.
        times[rank] = max(1.0, time * (1.0 + (2 * lag + 1) / iterations))
    return times


def limit_factor(series: NDArray[np.float64], time: float, alpha: float) -> float:
    """Return how much narrower the Kolmogorov limit is than at independence, tau being allowed for.

    Correlated indicators make the deviation of the empirical distribution smoother from level to
    level, so the greatest one of all levels is smaller than tau alone says. Both limits, Gaussian
    processes over the levels, are simulated from the same normal draws: the one with the long-run
    covariances of these series, the one with those of a Brownian bridge; each with its mean
    variance as unit.

    Parameters
    ----------
    series : float64 array, shape (rank, iteration)
        A few ranks; their covariances are averaged.
    time : float
        The correlation time, in iterations.
    alpha : float
        Significance level.

    Returns
    -------
    float
        In (0, 1]; 1 for constant series.
    """
    iterations = series.shape[1]
    lags = min(int(np.ceil(WINDOW * time)), iterations // 2)
    independent = np.zeros((GRID - 1, GRID - 1))
    longrun = np.zeros_like(independent)
    for times in series:
        levels = np.quantile(times, np.arange(1, GRID) / GRID)
        code = np.searchsorted(levels, times)
        share = np.cumsum(np.bincount(code, minlength=GRID) / iterations)[:-1]
        for lag in range(lags + 1):
            pairs = np.bincount(code[: iterations - lag] * GRID + code[lag:], minlength=GRID**2)
            joint = pairs.reshape(GRID, GRID).cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
            covariance = joint / (iterations - lag) - np.outer(share, share)
            if lag == 0:
                independent += covariance
                longrun += covariance
            else:
                longrun += covariance + covariance.T
    if not (np.trace(independent) > 0.0 and np.trace(longrun) > 0.0):
        return 1.0
    return min(1.0, greatest(longrun, alpha) / greatest(independent, alpha))


def greatest(covariance: NDArray[np.float64], alpha: float) -> float:
    """Return the quantile 1 - alpha of the greatest deviation of a Gaussian vector."""
    normal = np.random.default_rng(0).standard_normal((DRAWS, covariance.shape[0]))
    value, vector = np.linalg.eigh(covariance / np.trace(covariance))
    deviation = normal @ (vector * np.sqrt(np.maximum(value, 0.0))).T
    return float(np.quantile(np.abs(deviation).max(axis=1), 1.0 - alpha))
