"""The candidates: simple ways to continue a series of values beyond its last point.

Each is exact for one kind of growth, and wrong for others; `held_out` finds out which. They were
chosen over measured programs, each left out in turn ("Forecasts of scaling" in
``docs/records/2026-11-ablation.md``). A search over normal forms is none of them: a term that fits
all points best is a poor guide beyond them.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


class Candidate(StrEnum):
    """A way to continue a series, in words; in the order of all arrays over candidates."""

    SAME = "the last value"
    LINE = "a straight line through the last points"
    POWER = "a power law through the last points"
    PARTS = "a + b/x + c sqrt(x) through all points"


COUNT = len(Candidate)
REACH = np.array([1, 2, 2, np.inf])
"""Points that each candidate continues at least; infinite for all."""
FARTHEST = 4.0
"""Times the distance between the points of a slope, both as logarithms, over which it is continued:
between neighbours as near as 9 and 10 ranks, noise would decide what a slope says of 40."""


def continue_series(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    at: float,
    recent: NDArray[np.float64] | float = np.inf,
) -> NDArray[np.float64]:
    """Predict the logarithms of series beyond their last point.

    The slope of `Candidate.LINE` and `Candidate.POWER` is that to the point before the last one, or
    to the nearest one that is `FARTHEST` enough away for the target.

    Parameters
    ----------
    points : float64 array, shape (point,)
        At least 2, ascending.
    values : float64 array, shape (kernel, point)
        Above 0.
    at : float
        Beyond the points.
    recent : float64 array, shape (kernel,)
        Points of the last behaviour, to which a slope keeps; all by default.

    Returns
    -------
    float64 array, shape (kernel, candidate)
        -inf of a line that falls to zero before the target.
    """
    last, ahead = np.log(values[:, -1]), np.log(at / points[-1])
    far = np.log(points[-1] / points[:-1]) >= ahead / FARTHEST
    nearest = int(np.flatnonzero(far)[-1]) if far.any() else 0
    earliest = np.maximum(points.size - np.asarray(recent), nearest)
    start = np.full(values.shape[0], np.minimum(earliest, points.size - 2), np.intp)
    step = values[:, -1] / values[np.arange(start.size), start]
    distance = points[-1] / points[start]
    line = 1.0 + (1.0 - 1.0 / step) / (1.0 - 1.0 / distance) * (at / points[-1] - 1.0)
    grown = np.empty((values.shape[0], COUNT))
    grown[:, 0] = 0.0
    with np.errstate(divide="ignore"):
        grown[:, 1] = np.log(np.maximum(line, 0.0))
    grown[:, 2] = np.log(step) / np.log(distance) * ahead
    grown[:, 3] = three_parts(points, values, at)
    return np.asarray(last[:, None] + grown)


def three_parts(
    points: NDArray[np.float64], values: NDArray[np.float64], at: float
) -> NDArray[np.float64]:
    """Return by how much a + b/x + c sqrt(x) grows from the last point to a target.

    The parts are not below 0, and fitted by least squares of relative errors: of all sets of parts,
    the one that fits best among those whose coefficients are all above 0 (Lawson and Hanson 1974,
    section 23, by enumeration).

    Returns
    -------
    float64 array, shape (kernel,)
        A difference of logarithms.
    """
    x = np.append(points, at) / points[-1]
    parts = np.stack([np.ones_like(x), 1.0 / x, np.sqrt(x)], axis=1)
    relative = parts[:-1] / values[:, :, None] * values[:, -1, None, None]
    best = np.full(values.shape[0], np.inf)
    growth = np.zeros(values.shape[0])
    for count in range(1, min(points.size, 3) + 1):
        for chosen in map(list, combinations(range(3), count)):
            basis, triangle = np.linalg.qr(relative[:, :, chosen])
            along = basis.sum(axis=1)  # the wanted relative value is 1 at every point
            factors = np.linalg.solve(triangle, along[..., None])[..., 0]
            rest = points.size - (along**2).sum(axis=1)
            # Of sets that fit alike up to rounding, the one of fewer parts.
            better = (factors >= 0.0).all(axis=1) & (rest < best - 1e-12 * points.size)
            best = np.where(better, rest, best)
            ends = parts[[-1, -2]][:, chosen] @ np.maximum(factors, 0.0).T
            with np.errstate(divide="ignore", invalid="ignore"):
                growth = np.where(better, np.log(ends[0] / ends[1]), growth)
    return growth
