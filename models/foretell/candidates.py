"""The candidates: simple ways to continue a series of values beyond its last point.

Each is exact for one kind of growth, and wrong for others; `held_out` finds out which. Those that
brought nothing on measured series are gone ("Forecasts of real measurements" in
``docs/validation.md``).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.criterion import penalties
from hindmost.models.pmnf.search import search
from hindmost.models.pmnf.space import FINE, searched_columns


class Candidate(StrEnum):
    """A way to continue a series, in words; in the order of all arrays over candidates."""

    SAME = "the last value"
    LINE = "a straight line through the last 2 points"
    PROPORTIONAL = "growth in proportion from the last value"
    SHARED = "ideal strong scaling from the last value"
    NORMAL_FORM = "a normal form of all points, of one term"


COUNT = len(Candidate)
REACH = np.array([1, 2, 1, 1, np.inf])
"""Points that each candidate continues; infinite for all."""
FORM = list(Candidate).index(Candidate.NORMAL_FORM)


def continue_series(
    points: NDArray[np.float64], values: NDArray[np.float64], at: float, gamma: float
) -> NDArray[np.float64]:
    """Predict the logarithms of series beyond their last point.

    Parameters
    ----------
    points : float64 array, shape (point,)
        At least 3, ascending.
    values : float64 array, shape (kernel, point)
        Above 0.
    at : float
        Beyond the points.
    gamma : float
        The noise's standard deviation grows like the value to gamma, for `NORMAL_FORM`.

    Returns
    -------
    float64 array, shape (kernel, candidate)
        -inf of a function that falls to zero before the target.
    """
    last = values[:, -1]
    slope = (last - values[:, -2]) / (points[-1] - points[-2])
    grown = at / points[-1]
    ratios = np.empty((values.shape[0], COUNT))
    ratios[:, 0] = 1.0
    ratios[:, 1] = 1.0 + slope * (at - points[-1]) / last
    ratios[:, 2], ratios[:, 3] = grown, 1.0 / grown
    ratios[:, 4] = normal_forms(points, values / last[:, None], at, gamma)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(last)[:, None] + np.log(np.maximum(ratios, 0.0)))


def normal_forms(
    points: NDArray[np.float64], values: NDArray[np.float64], at: float, gamma: float
) -> NDArray[np.float64]:
    """Return what the best normal forms of series are at a point: shape (kernel,)."""
    ways = len(FINE.exponents) + sum(power < 0 for power, _ in FINE.exponents)
    columns = searched_columns(FINE, np.append(points, at))
    found = search(
        values,
        np.ones_like(values),
        np.ascontiguousarray(columns[:, :-1]),
        gamma=gamma,
        penalties=penalties(points.size, ways, most=1),
        above_zero=True,
    )
    there = np.append(0.0, columns[:, -1])[found.terms[:, 0, :, 0]]
    coefficients = found.coefficients[:, 0]
    return np.asarray(coefficients[:, 0] + (coefficients[:, 1:] * there).sum(axis=1))
