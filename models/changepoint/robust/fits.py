"""Levels and lines under a bounded loss.

The loss of a night is the square of its distance in standard deviations, up to a bound: beyond it
all outliers cost the same, except for a term that decides ties (the biweight loss of Fearnhead and
Rigaill, JASA 114 (2019)).

Optimal partitioning of a series under a bounded loss; needs numba: import inside functions.

Fearnhead and Rigaill, Changepoint Detection in the Presence of Outliers, JASA 114 (2019): squared
errors bounded at K standard deviations, and a penalty for each segment. Their functional pruning
keeps piecewise quadratics; here the level is searched on a grid finer than the noise, on which the
recursion is exact and a segment can have a minimum length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared

BOUND = 3.0
"""Standard deviations beyond which a night costs no more: it is an outlier of the fit."""
TIE = 0.02
"""Cost of one more standard deviation: it decides to which of two levels an outlier belongs."""
STEPS = 20
"""Most rounds in which a fit and its inliers are found from each other."""


class Fit(NamedTuple):
    """A level or a line.

    Attributes
    ----------
    begin, end : int
        Its observations; the end is not among them.
    level : float
        Logarithm, in the middle.
    slope : float
        An observation; 0 for a level.
    square : float
        Sum of squares of its inliers.
    inliers : int
    """

    begin: int
    end: int
    level: float
    slope: float
    square: float
    inliers: int

    @property
    def half(self) -> float:
        """Observations from the middle to either end."""
        return 0.5 * (self.end - self.begin - 1)

    @property
    def values(self) -> NDArray[np.float64]:
        """The fit of each of its observations, float64, shape (observation,)."""
        return self.level + self.slope * (np.arange(self.end - self.begin) - self.half)


def fit(
    y: NDArray[np.float64], begin: int, end: int, sigma: NDArray[np.float64], line: bool = False
) -> Fit:
    """Fit a level or a line: least squares of the inliers, until these stay the same.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
        Logarithms, and the standard deviation of their noise.
    begin, end : int
    line : bool
        Whether it has a slope.
    """
    x = np.arange(end - begin) - 0.5 * (end - begin - 1)
    data, reach = y[begin:end], BOUND * sigma[begin:end]
    level, slope = float(np.median(data)), 0.0
    if line:  # a line through the medians of both halves tells the first inliers
        half = (end - begin) // 2
        rise = float(np.median(data[-half:]) - np.median(data[:half]))
        slope = rise / (end - begin - half)
    inlier = np.abs(data - level - slope * x) <= reach
    for _ in range(STEPS):
        if not inlier.any():
            break
        xs, ys = x[inlier], data[inlier]
        middle = xs.mean()
        spread = float((xs - middle) @ (xs - middle))
        slope = float((xs - middle) @ ys) / spread if line and spread > 0.0 else 0.0
        level = float(ys.mean()) - slope * float(middle)
        now = np.abs(data - level - slope * x) <= reach
        if np.array_equal(now, inlier):
            break
        inlier = now
    rest = (data - level - slope * x)[inlier]
    return Fit(begin, end, level, slope, float(rest @ rest), max(rest.size, 1))


def cost(y: NDArray[np.float64], found: Fit, sigma: NDArray[np.float64]) -> float:
    """Return the summed loss of a fit's observations; see `fit` for the arrays."""
    scaled = (y[found.begin : found.end] - found.values) / sigma[found.begin : found.end]
    return float(losses(scaled).sum())


def losses(scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss of residuals in standard deviations, of any shape."""
    loss: NDArray[np.float64] = np.minimum(scaled**2, BOUND**2) + TIE * np.abs(scaled)
    return loss


FINENESS = 0.3
"""Distance of the levels that are tried, in standard deviations."""


def level_grid(y: NDArray[np.float64], sigma: float, reach: float) -> NDArray[np.float64]:
    """Return levels `FINENESS` sigma apart wherever data are within ``reach`` sigma.

    Parameters
    ----------
    y : float64 array, shape (night,)
    sigma : float
        The least standard deviation of the noise.
    reach : float
    """
    step, least = FINENESS * sigma, float(y.min())
    cells = math.ceil(reach / FINENESS)
    near = np.unique(np.round((y - least) / step))
    levels: NDArray[np.float64] = least + step * np.unique(
        near[:, None] + np.arange(-cells, cells + 1)
    )
    return levels


@declared("(f8[::1], f8[::1], f8[::1], f8, f8[::1], i8)")
def partition(
    y: NDArray[np.float64],
    sigma: NDArray[np.float64],
    levels: NDArray[np.float64],
    bound: float,
    penalty: NDArray[np.float64],
    shortest: int,
) -> NDArray[np.int64]:
    """Return the first nights of the segments that minimise the sum of losses and penalties.

    Parameters
    ----------
    y : float64 array, shape (night,)
    sigma : float64 array, shape (night,)
        Standard deviation of the noise of each night.
    levels : float64 array, shape (level,)
    bound : float
        The loss of a night is at most its square (see `fits.TIE`).
    penalty : float64 array, shape (night,)
        Cost of a segment that begins at a night, in addition to its losses.
    shortest : int
        Nights that a segment has at least.

    Returns
    -------
    int64 array, shape (segment,)
        Begins with 0.
    """
    n, m = y.size, levels.size
    worst = bound * bound
    loss = np.empty((shortest, m))  # row t % shortest: the losses of night t
    running = np.zeros(m)  # losses of the last ``shortest`` nights
    best = np.full(n + 1, np.inf)  # best[t], the F(t) of the paper: least cost of nights before t
    best[0] = 0.0
    cost = np.full(m, np.inf)  # of all nights so far, when the last segment is at a level
    begin = np.zeros(m, np.int64)  # where that segment begins
    last = np.zeros(n + 1, np.int64)
    for t in range(n):
        row = loss[t % shortest]
        # A segment of the minimum length that ends at t begins at ``start``.
        scale = 1.0 / sigma[t]
        start = t - shortest + 1
        opens = start >= 0 and best[max(start, 0)] < np.inf
        enter = best[max(start, 0)] + penalty[max(start, 0)]
        if t >= shortest:
            for g in range(m):
                running[g] -= row[g]
        value = y[t] * scale
        for g in range(m):  # one simple loop each: they become vector instructions
            r = value - levels[g] * scale
            r = min(r * r, worst) + TIE * abs(r)
            row[g] = r
            running[g] += r
            cost[g] += r
        if opens:
            # Stay in the segment, or enter a new one at F(start) + penalty + its losses so far.
            for g in range(m):
                entered = enter + running[g]
                better = entered < cost[g]
                cost[g] = entered if better else cost[g]
                begin[g] = start if better else begin[g]
        # F(t + 1) is the minimum over the level of the last segment.
        at = np.argmin(cost)
        least = cost[at]
        if start >= 0:
            best[t + 1] = least
            last[t + 1] = begin[at]
    # Walk back from the last segment to the first.
    count, t = 0, n
    while t > 0:
        count, t = count + 1, last[t]
    starts = np.empty(count, np.int64)
    t = n
    for s in range(count - 1, -1, -1):
        t = last[t]
        starts[s] = t
    return starts
