"""The last test of all segments, when their ends are final; needs numba.

Lines replace flights of steps, their ends move, outlier runs are taken out: each of these gives the
remaining levels other neighbours than those they were tested against. What no longer passes the
test is not reported.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops
from hindmost.models.changepoint.robust.comparison import long_run_factor, mean_error
from hindmost.models.changepoint.robust.line import LEVEL, LINE
from hindmost.models.changepoint.robust.settings import RobustSettings
from hindmost.models.changepoint.student import two_sided


def segment_moments(
    y: NDArray[np.float64],
    begin: int,
    end: int,
    line: bool,
    sigma: NDArray[np.float64],
    wide: NDArray[np.float64],
    fitted: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
) -> tuple[float, float, float, float, float, int]:
    """Return the estimates of a level, or of a line in its middle.

    Parameters
    ----------
    y, sigma, fitted : float64 arrays, shape (observation,)
    begin, end : int
    line : bool
        Whether the segment has a slope.
    wide : float64 array, shape (observation,)
        ``sigma``, enlarged for serial correlation.
    rho : float
        AR(1) coefficient of the noise.
    settings : RobustSettings

    Returns
    -------
    slope : float
        A night; 0 of a level.
    level, error : float
        The squared standard error.
    freedom, variance : float
    count : int
        Of inliers.
    """
    slope = 0.0
    flat = y
    if line:
        slope = loops.fit_line(y, begin, end, wide, fitted, settings.above, settings.below)[2]
        flat = y.copy()
        flat[begin:end] -= slope * (np.arange(end - begin) - 0.5 * (end - begin - 1))
    level, square, count = loops.moments_of(flat, begin, end, sigma[begin], settings.above)
    error, freedom, variance = mean_error(square, count, sigma[begin], rho, settings.prior_nights)
    return slope, level, error, freedom, variance, count


def slope_error(nights: int, deviation: float, rho: float) -> float:
    """Return the standard error of a slope per night, enlarged for serial correlation."""
    # Sum of squared distances of n equidistant nights from their mean.
    spread = nights * (nights**2 - 1.0) / 12.0
    error: float = deviation * math.sqrt(long_run_factor(nights, rho) / spread)
    return error


def drop_insignificant(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    rho: float,
    settings: RobustSettings,
    is_held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Replace lines without a significant slope by levels, and join levels that do not differ.

    The least significant change goes first, and the rest is tested again until all pass.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    starts, kinds : int64 arrays, shape (segment,)
    rho : float
    settings : RobustSettings
    is_held : bool array, shape (observation,)
        Changes that stay.

    Returns
    -------
    starts, kinds : int64 arrays, shape (segment,)
    """
    n = y.size
    wide = sigma * math.sqrt((1.0 + rho) / (1.0 - rho))
    fitted = loops.levels_of(y, starts, wide, settings.above)
    kinds = kinds.copy()
    # t-test of every slope.
    for s in range(starts.size):
        end = starts[s + 1] if s + 1 < starts.size else n
        if kinds[s] == LINE:
            slope, _, _, freedom, variance, count = segment_moments(
                y, starts[s], end, True, sigma, wide, fitted, rho, settings
            )
            error = slope_error(count, math.sqrt(variance), rho)
            if two_sided(slope / error, max(freedom - 1.0, 1.0)) > settings.alpha:
                kinds[s] = LEVEL
    # Backward elimination: remove the least significant change, until all are significant.
    while starts.size > 1:
        worst, at = settings.alpha, 0
        for s in range(1, starts.size):
            if kinds[s - 1] == LINE or kinds[s] == LINE or is_held[starts[s]]:
                continue  # it may only be where the line begins or ends
            end = starts[s + 1] if s + 1 < starts.size else n
            difference, _, _, p = loops.compare(
                y,
                (starts[s - 1], starts[s]),
                (starts[s], end),
                sigma,
                rho,
                settings.above,
                settings.prior_nights,
                settings.wander,
            )
            if abs(difference) < settings.least:
                p = 2.0 - abs(difference)  # before all others, the smallest first
            if p > worst:
                worst, at = p, s
        if at == 0:
            break
        kinds[at - 1] = max(kinds[at - 1], kinds[at])  # of a level and a switching, a switching
        starts, kinds = np.delete(starts, at), np.delete(kinds, at)
    return starts, kinds
