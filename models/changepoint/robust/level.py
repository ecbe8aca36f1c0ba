"""Levels under a bounded loss, and the cost of a segment; needs numba: import inside functions.

The loss of a night is the square of its distance in standard deviations, up to a bound: beyond it
all outliers cost the same, except for a term that decides ties (the biweight loss of Fearnhead and
Rigaill, JASA 114 (2019)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.sorting import median

TIE = 0.02
"""Cost of one more standard deviation: it decides to which of two levels an outlier belongs."""
STEPS = 20
CLOSE = 1e-12


@part
def level_near(x: NDArray[np.float64], level: float, reach: float) -> float:
    """Return the mean of what lies within ``reach`` of it, by iteration from a starting level."""
    # Minimises the bounded loss locally: average the inliers until they stay the same.
    for _ in range(STEPS):
        total, count = 0.0, 0
        for value in x:
            if abs(value - level) <= reach:
                total += value
                count += 1
        if count == 0 or abs(total / count - level) < CLOSE:
            break
        level = total / count
    return level


@part
def level_of(x: NDArray[np.float64], reach: float) -> float:
    """Return the mean of what lies within ``reach`` of it, by iteration from the median.

    Parameters
    ----------
    x : float64 array, shape (night,)
    reach : float
        In the unit of x.
    """
    level: float = level_near(x, median(x), reach)
    return level


@part
def levels_of(
    y: NDArray[np.float64], starts: NDArray[np.int64], sigma: NDArray[np.float64], bound: float
) -> NDArray[np.float64]:
    """Return the level of each night's segment.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (night,)
    starts : int64 array, shape (segment,)
    bound : float
        In standard deviations.

    Returns
    -------
    float64 array, shape (night,)
    """
    fitted = np.empty(y.size)
    for s in range(starts.size):
        begin = starts[s]
        end = starts[s + 1] if s + 1 < starts.size else y.size
        level = level_of(y[begin:end], bound * median(sigma[begin:end]))
        for i in range(begin, end):
            fitted[i] = level
    return fitted


@part
def cost_of(
    y: NDArray[np.float64],
    begin: int,
    end: int,
    sigma: NDArray[np.float64],
    level: float,
    slope: float,
    above: float,
    below: float,
) -> float:
    """Return the summed loss of some nights around a straight line.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (night,)
    begin, end : int
    level : float
        At night ``begin``.
    slope : float
        A night.
    above, below : float
        Bounds in standard deviations.
    """
    cost = 0.0
    for i in range(begin, end):
        # min(r^2, K^2), with its own bound K for slow and fast nights
        r = (y[i] - level - slope * (i - begin)) / sigma[i]
        bound = above if r > 0.0 else below
        cost += min(r * r, bound * bound) + TIE * abs(r)
    return cost


@part
def moments_of(
    y: NDArray[np.float64], begin: int, end: int, sigma: float, bound: float
) -> tuple[float, float, int]:
    """Return the level of some nights, and the sum of squares and the count of its inliers."""
    level = level_of(y[begin:end], bound * sigma)
    square, count = 0.0, 0
    for i in range(begin, end):
        distance = y[i] - level
        if abs(distance) <= bound * sigma:
            square += distance * distance
            count += 1
    return level, square, max(count, 1)
