"""Levels and lines under a bounded loss; needs numba: import inside functions.

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
STEPS, LINE_STEPS = 20, 15
HOPELESS = 40.0
"""Cost above the least one, in squared standard deviations, at which no further place is tried."""
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


@part
def fit_line(
    y: NDArray[np.float64],
    begin: int,
    end: int,
    sigma: NDArray[np.float64],
    fitted: NDArray[np.float64],
    above: float,
    below: float,
) -> tuple[float, float, float]:
    """Fit a line under the bounded loss: least squares of inliers, until these stay the same.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (night,)
    begin, end : int
    fitted : float64 array, shape (night,)
        The fit that selects the first inliers.
    above, below : float
        Bounds in standard deviations.

    Returns
    -------
    cost, level, slope : float
        The level is that at night ``begin``; the slope is that of a night.
    """
    n = end - begin
    inlier = np.empty(n, np.bool_)
    for i in range(n):
        inlier[i] = -below <= (y[begin + i] - fitted[begin + i]) / sigma[begin + i] <= above
    least, level, slope = np.inf, y[begin], 0.0
    for _ in range(LINE_STEPS):
        # Weighted least squares of the inliers: the normal equations of level and slope.
        w = wx = wy = wxx = wxy = 0.0
        for i in range(n):
            if inlier[i]:
                weight = 1.0 / sigma[begin + i] ** 2
                w += weight
                wx += weight * i
                wy += weight * y[begin + i]
                wxx += weight * i * i
                wxy += weight * i * y[begin + i]
        determinant = w * wxx - wx * wx
        if determinant <= 0.0:
            break
        rise = (w * wxy - wx * wy) / determinant
        foot = (wy - rise * wx) / w
        cost = cost_of(y, begin, end, sigma, foot, rise, above, below)
        if cost < least:
            least, level, slope = cost, foot, rise
        # Nights within the bounds of the new line are the next inliers.
        same = True
        for i in range(n):
            r = (y[begin + i] - foot - rise * i) / sigma[begin + i]
            if (-below <= r <= above) != inlier[i]:
                inlier[i] = not inlier[i]
                same = False
        if same:
            break
    return least, level, slope


@part
def add_place_costs(
    y: NDArray[np.float64],
    begin: int,
    change: int,
    end: int,
    sigma: NDArray[np.float64],
    above: float,
    below: float,
    may_change: NDArray[np.bool_],
    first: int,
    cost: NDArray[np.float64],
) -> None:
    """Compute what two segments cost when the second one begins elsewhere, both fitted again.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    begin, change, end : int
        Of the two segments.
    above, below : float
    may_change : bool array, shape (observation,)
    first : int
        The first place to try.
    cost : float64 array, shape (place,)
        Infinite everywhere; the costs of the places that are tried are written into it.
    """
    least = np.inf
    before = level_of(y[begin:change], above * sigma[begin])
    after = level_of(y[change:end], above * sigma[end - 1])
    # Outwards from the change on both sides.
    for way in (1, -1):
        place = change if way == 1 else change - 1
        while first <= place < first + cost.size:
            if place == change or may_change[place]:
                left = level_near(y[begin:place], before, above * sigma[begin])
                right = level_near(y[place:end], after, above * sigma[end - 1])
                here = cost_of(y, begin, place, sigma, left, 0.0, above, below)
                here += cost_of(y, place, end, sigma, right, 0.0, above, below)
                cost[place - first] = here
                if here > least + HOPELESS:
                    break
                if here < least:
                    least = here
            place += way
