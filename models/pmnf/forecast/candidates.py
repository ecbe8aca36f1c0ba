"""The candidates: simple ways to continue a series of values beyond its last point.

Each is exact for one kind of growth, and wrong for others; `held_out` finds out which. They were
chosen over measured programs, each left out in turn ("Forecasts of scaling" in
``docs/records/2026-11-ablation.md``). The term that fits all points best is a poor guide beyond
them, so a normal form counts only where it foretold all held-out points (`weighing.exact`); then it
counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.hypotheses import patterns
from hindmost.models.pmnf.observations import MIN_POINTS
from hindmost.models.pmnf.space import PAPER, searched_columns


class Candidate(StrEnum):
    """A way to continue a series, in words; in the order of all arrays over candidates."""

    SAME = "the last value"
    LINE = "a straight line through the last points"
    POWER = "a power law through the last points"
    PARTS = "a + b/x + c sqrt(x) through all points"
    FORM = "a + c x^i log(x)^j, which foretold all held-out points"


COUNT = len(Candidate)
REACH = np.array([1, 2, 2, np.inf, np.inf])
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
        -inf of a line that falls to zero before the target; NaN of a form with too few points.
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
    grown[:, 4] = one_term(points, values, at)
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


def one_term(
    points: NDArray[np.float64], values: NDArray[np.float64], at: float
) -> NDArray[np.float64]:
    """Return by how much a + c x^i log(x)^j grows from the last point to a target.

    The term of the search space `PAPER` that fits best by least squares of relative errors; none if
    what it leaves is more than a hundredth of what a constant leaves, which may be noise.

    Returns
    -------
    float64 array, shape (kernel,)
        A difference of logarithms; NaN for fewer than 4 points, and of forms that fall
        to zero.
    """
    if points.size < 4:
        return np.full(values.shape[0], np.nan)
    terms = searched_columns(PAPER, np.append(points, at))
    terms = terms[terms[:, -2] > 0.0]
    terms /= terms[:, -2:-1]
    weight = values[:, -1:] / values
    # Normal equations of weight (a + c term) = 1: (kernel, term).
    square = weight**2
    ones, both, terms_2 = (
        square.sum(axis=1, keepdims=True),
        square @ terms[:, :-1].T,
        square @ (terms[:, :-1] ** 2).T,
    )
    along, along_term = weight.sum(axis=1, keepdims=True), weight @ terms[:, :-1].T
    with np.errstate(all="ignore"):
        determinant = ones * terms_2 - both**2
        constant = (along * terms_2 - along_term * both) / determinant
        factor = (along_term * ones - along * both) / determinant
        rest = points.size - constant * along - factor * along_term
        rest[~(determinant > 1e-9 * ones * terms_2)] = np.inf
        best = np.arange(rest.shape[0]), rest.argmin(axis=1)
        ends = constant[best] + factor[best] * terms[best[1], -2:].T
        alone = along / ones
        seen = points.size - alone * along > 100.0 * rest[best][:, None]
        ends = np.where(seen[:, 0], ends, [np.ones(len(alone)), alone[:, 0]])
        return np.asarray(np.log(ends[1] / ends[0]))


MAX_ORIGINS = 10
"""Held-out points of a series that are looked at, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Predictions of a target by all candidates, and their errors at held-out points.

    Attributes
    ----------
    predicted : float64 array, shape (kernel, candidate)
        Logarithms of the value at the target; -inf of what falls to zero before it.
    errors : float64 array, shape (kernel, origin, candidate)
        Predicted less measured logarithm, the last held-out point first; NaN where there is no such
        point.
    distance : float64 array, shape (kernel, origin)
        Logarithm of the held-out point over the last one before it; 0 where there is none.
    ahead : float64 array, shape (kernel,)
        Logarithm of the target over the last point.
    recent : float64 array, shape (kernel,)
        Points of the last behaviour; infinite if there is one only.
    """

    predicted: NDArray[np.float64]
    errors: NDArray[np.float64]
    distance: NDArray[np.float64]
    ahead: NDArray[np.float64]
    recent: NDArray[np.float64]


def hold_out(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    at: float,
    recent: NDArray[np.float64] | None = None,
) -> Trials:
    """Let all candidates predict a target and the last points of each kernel.

    Parameters
    ----------
    points : float64 array, shape (point,)
        Ascending, above 0.
    values : float64 array, shape (kernel, point)
        Above 0, NaN where a kernel has no measurement; at least 2 of each kernel.
    at : float
        Beyond all points.
    recent : float64 array, shape (kernel,), optional
        As in `Trials`; one behaviour by default. What was measured before the last behaviour is
        left out if this has points enough.
    """
    kernels = values.shape[0]
    if recent is None:
        recent = np.full(kernels, np.inf)
    # Points from each one to the last one of its kernel.
    left = np.isfinite(values)[:, ::-1].cumsum(axis=1)[:, ::-1]
    enough = recent >= MIN_POINTS
    values = np.where(enough[:, None] & (left > recent[:, None]), np.nan, values)
    predicted = np.empty((kernels, COUNT))
    errors = np.full((kernels, MAX_ORIGINS, COUNT), np.nan)
    distance = np.zeros((kernels, MAX_ORIGINS))
    ahead = np.empty(kernels)
    for there, members in patterns(values):
        p, y = points[there], values[np.ix_(members, there)]
        ahead[members] = np.log(at / p[-1])
        predicted[members] = continue_series(p, y, at, recent[members])
        for origin in range(min(p.size - 3, MAX_ORIGINS)):
            known = p.size - 1 - origin
            # The held-out point whose distance is most like the target's.
            far = np.log(p[known:] / p[known - 1])
            held = int(np.argmin(np.abs(far - np.log(at / p[-1]))))
            foretold = continue_series(p[:known], y[:, :known], float(p[known + held]))
            errors[members, origin] = foretold - np.log(y[:, known + held, None])
            distance[members, origin] = far[held]
    return Trials(
        predicted=predicted,
        errors=errors,
        distance=distance,
        ahead=ahead,
        recent=np.where(enough, np.inf, recent),
    )
