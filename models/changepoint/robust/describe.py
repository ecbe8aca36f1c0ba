"""What is said of the segments that were found, in numbers; needs numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.comparison import compare, mean_error
from hindmost.models.changepoint.robust.level import levels_of, moments_of
from hindmost.models.changepoint.robust.line import LINE, fit_line
from hindmost.models.changepoint.robust.noise import long_run_factor
from hindmost.models.changepoint.robust.placement import place_interval
from hindmost.models.changepoint.robust.search import level_at_seams
from hindmost.models.changepoint.robust.settings import RobustSettings
from hindmost.models.compiled import compiled

SEAM_COLUMNS = 9
SEGMENT_COLUMNS = 8


@compiled
def describe_seams(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    may_change: NDArray[np.bool_],
    settings: RobustSettings,
    level: float,
) -> NDArray[np.float64]:
    """Describe what lies between segments.

    Returns
    -------
    float64 array, shape (segment - 1, 9)
        First observation; level before and after; standard error of their difference, its degrees
        of freedom and p-value; first and last place where the change may lie; and whether it is a
        step (1), or only where a trend begins or ends (0).
    """
    rows = np.zeros((starts.size - 1, SEAM_COLUMNS))
    wide = sigma * np.sqrt((1.0 + rho) / (1.0 - rho))
    for s in range(1, starts.size):
        seam = starts[s]
        flat, begin, end = level_at_seams(y, starts, kinds, wide, settings, s)
        difference, error, freedom, p = compare(
            flat,
            (begin, seam),
            (seam, end),
            sigma,
            rho,
            settings.above,
            settings.prior_nights,
            settings.wander,
        )
        before = moments_of(flat, begin, seam, sigma[begin], settings.above)[0]
        first, last = place_interval(
            flat, begin, seam, end, wide, settings.above, settings.below, may_change, level
        )
        step = p <= settings.alpha and abs(difference) >= settings.least
        line = kinds[s - 1] == LINE or kinds[s] == LINE
        row = rows[s - 1]
        row[0] = seam
        row[1] = before
        row[2] = before + difference
        row[3] = error
        row[4] = freedom
        row[5] = p
        row[6] = first
        row[7] = last
        row[8] = 1.0 if step or not line else 0.0
    return rows


@compiled
def describe_segments(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Describe the segments, and fit every night.

    Returns
    -------
    float64 array, shape (segment, 8)
        First observation and the one after the last; level in the middle, its standard error and
        degrees of freedom; standard deviation of the noise; count of inliers; slope a night.
    float64 array, shape (observation,)
        What was fitted.
    """
    n = y.size
    rows = np.zeros((starts.size, SEGMENT_COLUMNS))
    wide = sigma * np.sqrt((1.0 + rho) / (1.0 - rho))
    fitted = levels_of(y, starts, wide, settings.above)
    lines = fitted.copy()
    for s in range(starts.size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.size else n
        flat = y
        slope = 0.0
        if kinds[s] == LINE:
            slope = fit_line(y, begin, end, wide, fitted, settings.above, settings.below)[2]
            flat = y.copy()
            for i in range(begin, end):
                flat[i] -= slope * (i - 0.5 * (begin + end - 1))
        level, square, count = moments_of(flat, begin, end, sigma[begin], settings.above)
        error, freedom, variance = mean_error(
            square, count, sigma[begin], rho, settings.prior_nights
        )
        row = rows[s]
        row[0] = begin
        row[1] = end
        row[2] = level
        row[3] = np.sqrt(error)
        row[4] = freedom
        row[5] = np.sqrt(variance)
        row[6] = count
        row[7] = slope
        for i in range(begin, end):
            lines[i] = level + slope * (i - 0.5 * (begin + end - 1))
    return rows, lines


@compiled
def slope_error(nights: int, deviation: float, rho: float) -> float:
    """Return the standard error of a slope a night, of correlated nights as of fewer."""
    spread = nights * (nights**2 - 1.0) / 12.0
    error: float = deviation * np.sqrt(long_run_factor(nights, rho) / spread)
    return error


@compiled
def describe_outliers(
    y: NDArray[np.float64],
    fitted: NDArray[np.float64],
    sigma: NDArray[np.float64],
    came_back: NDArray[np.bool_],
    outlying: float,
) -> list[tuple[int, int, float]]:
    """Join what lies far from the fit, and the runs that came back, into runs.

    Parameters
    ----------
    y, fitted, sigma : float64 arrays, shape (observation,)
    came_back : bool array, shape (observation,)
    outlying : float
        In standard deviations.

    Returns
    -------
    list of (begin, end, effect)
        The effect is the difference of logarithms in the middle.
    """
    far = (np.abs(y - fitted) > outlying * sigma) | came_back
    found = [(0, 0, 0.0) for _ in range(0)]
    i = 0
    while i < y.size:
        begin = i
        while i < y.size and far[i]:
            i += 1
        if i > begin:
            found.append((begin, i, float(np.median(y[begin:i] - fitted[begin:i]))))
        i += 1
    return found
