"""Levels and lines under a bounded loss.

The loss of a night is the square of its distance in standard deviations, up to a bound: beyond it
all outliers cost the same, except for a term that decides ties (the biweight loss of Fearnhead and
Rigaill, JASA 114 (2019)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
