"""The candidates: simple ways to continue a series of values beyond its last point.

All work on the logarithms of points and values, relative to the last point, so that units do not
matter. Each is exact for one kind of growth, and wrong for others; `held_out` finds out which.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.space import PAPER
from hindmost.models.pmnf.term import Exponents


class Candidate(StrEnum):
    """A way to continue a series, in words; in the order of all arrays over candidates."""

    SAME = "the last value"
    HALF = "half the last slope"
    SLOPE_OF_3 = "the slope of the last 3 points, from the last value"
    POWER_OF_3 = "a power law through the last 3 points"
    POWER_OF_4 = "a power law through the last 4 points"
    LINE = "a straight line through the last 2 points"
    PROPORTIONAL = "growth in proportion from the last value"
    SHARED = "ideal strong scaling from the last value"
    INVERSE = "a constant and a shared part through the last 2 points"
    LOGARITHM = "a logarithm through the last 2 points"
    WORK_AND_COST = "shared work, a constant and a growing part over the last 4 points"
    MEAN_SLOPE = "the mean slope of the last 3 steps"
    NORMAL_FORM = "a normal form of all points"
    LIKELIER_FORM = "a normal form of all points, with the likelier kind of noise"
    USUAL_SLOPE = "the usual slope, from the last value"
    WIDE_LINE = "a straight line through the last point and the last but two"
    LINEARITHMIC = "a constant and p log p through the last 2 points"


COUNT = len(Candidate)
REACH = np.array([1, 2, 3, 3, 4, 2, 1, 1, 2, 2, 4, 4, np.inf, np.inf, 1, 3, 2])
"""Points that each candidate continues; infinite for all."""
LONG = 8
"""Points from which a series is long: it tells more of itself, and is learnt from apart."""
OF_LONG = np.array([each in ("LIKELIER_FORM", "WIDE_LINE") for each in Candidate.__members__])
OF_SHORT = np.array([each == "LINEARITHMIC" for each in Candidate.__members__])
"""Candidates that only long or only short series are given: the others foretell worse with them."""
FORMS = np.array([each.endswith("_FORM") for each in Candidate.__members__])
"""Candidates that are a model of all points."""

TERMS: tuple[Exponents, ...] = (
    *PAPER.exponents,
    *((Fraction(power), Fraction(0)) for power in ("1/3", "2/3", "3/4", "5/4", "4/3", "5/3")),
)
"""Of `NORMAL_FORM`: the default search space and powers between its own."""
FARTHEST = 8.0
"""Slope that no prediction exceeds."""
FADING = 0.7
"""Weight of a point over that of its successor in `WORK_AND_COST`."""
PENALTY_OF_TERM = 0.3
"""Share by which each coefficient must lower the residuals there."""
LEAST_LOGARITHM = 0.7
"""Of the last point in `LINEARITHMIC`, which is 2 at least."""
ROUNDING = 1e-4
"""Relative residual that is not told from none."""
PENALTY_OF_GROWTH = 2.0
"""Factor by which a term must lower the residuals of a constant in `NORMAL_FORM`."""


@part
def continue_series(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    terms: NDArray[np.float64],
    count: int,
    target: int,
    answer: NDArray[np.float64],
) -> None:
    """Predict the logarithm of the value at one point from the first `count` ones.

    Parameters
    ----------
    x, y : float64 array, shape (at least count,)
        Logarithms of points and values.
    terms : float64 array, shape (term, point)
        `TERMS` at every point, up to a factor.
    count : int
        At least 3.
    target : int
        Number of the point to predict.
    answer : float64 array, shape (candidate,)
        Result.
    """
    last = count - 1
    here, ahead = y[last], x[target] - x[last]
    step = x[last] - x[last - 1]
    slope = (y[last] - y[last - 1]) / step
    # Ratios to the last point and the last value, so that no unit and no size matters.
    before, grown = np.exp(-step), np.exp(ahead)
    ratio = np.exp(y[last - 1] - here)
    answer[0] = here
    answer[1] = here + 0.5 * slope * ahead
    middle, fitted, of_3 = power_law(x, y, count - 3, count)
    answer[2] = here + of_3 * ahead
    answer[3] = fitted + of_3 * (x[target] - middle)
    middle, fitted, of_4 = power_law(x, y, max(count - 4, 0), count)
    answer[4] = fitted + of_4 * (x[target] - middle)
    # Functions a + b g(p) through the last two points: g = p, 1 / p, log p.
    lowest = -3.0 * ahead - 1.0
    answer[5] = here + through_two(ratio, before - 1.0, grown - 1.0, lowest)
    answer[6] = here + ahead
    answer[7] = here - ahead
    answer[8] = here + through_two(ratio, 1.0 / before - 1.0, 1.0 / grown - 1.0, lowest)
    answer[9] = here + through_two(ratio, -step, ahead, lowest)
    answer[10] = here + work_and_cost(x, y, max(count - 4, 0), count, ahead, lowest)
    steps = min(3, last)
    slopes = 0.0
    for at in range(last - steps, last):
        slopes += (y[at + 1] - y[at]) / (x[at + 1] - x[at])
    answer[11] = here + slopes / steps * ahead
    relative, likely = normal_form(y, terms, count, target, here + lowest, 1.0)
    absolute, likelier = normal_form(y, terms, count, target, here + lowest, 0.0)
    answer[12] = relative
    answer[13] = absolute if likelier > likely else relative
    answer[14] = here + usual_slope(x, y, last) * ahead
    wide = x[last] - x[last - 2]
    answer[15] = here + through_two(
        np.exp(y[last - 2] - here), np.exp(-wide) - 1.0, grown - 1.0, lowest
    )
    size = max(x[last], LEAST_LOGARITHM)  # of p, which has no unit where p log p makes sense
    answer[16] = here + through_two(
        ratio, before * (size - step) / size - 1.0, grown * (size + ahead) / size - 1.0, lowest
    )
    for one in range(answer.size):
        if not np.isfinite(answer[one]):
            answer[one] = here
        away = FARTHEST * np.abs(ahead) + 1.0
        answer[one] = min(max(answer[one], here - away), here + away)


@part
def power_law(
    x: NDArray[np.float64], y: NDArray[np.float64], begin: int, end: int
) -> tuple[float, float, float]:
    """Fit a straight line to logarithms; return a point, the line's value there and its slope."""
    middle, level = 0.0, 0.0
    for at in range(begin, end):
        middle += x[at] / (end - begin)
        level += y[at] / (end - begin)
    length, along = 0.0, 0.0
    for at in range(begin, end):
        length += (x[at] - middle) * (x[at] - middle)
        along += (x[at] - middle) * (y[at] - level)
    return middle, level, along / length


@part
def usual_slope(x: NDArray[np.float64], y: NDArray[np.float64], last: int) -> float:
    """Return the median slope of all steps up to a point."""
    slopes = np.empty(last)
    for at in range(last):
        slopes[at] = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
    return float(np.median(slopes))


@part
def leaps(x: NDArray[np.float64], y: NDArray[np.float64], count: int) -> bool:
    """Say whether the last step is unlike all before: a new behaviour begins with the last point.

    Its slope is outside the range of all others by more than 1 and the width of that range.
    """
    least, most = np.inf, -np.inf
    for at in range(count - 2):
        slope = (y[at + 1] - y[at]) / (x[at + 1] - x[at])
        least, most = min(least, slope), max(most, slope)
    slope = (y[count - 1] - y[count - 2]) / (x[count - 1] - x[count - 2])
    return bool(max(slope - most, least - slope) > 1.0 + most - least)


@part
def through_two(ratio: float, before: float, ahead: float, lowest: float) -> float:
    """Return the logarithm, relative to the last value, of a function a + b g through two points.

    Parameters
    ----------
    ratio : float
        The value before the last over the last.
    before, ahead : float
        g there and at the target, less g at the last point.
    lowest : float
        What is returned where the function is not above that.
    """
    value = 1.0 + (ratio - 1.0) / before * ahead
    return float(np.log(max(value, np.exp(lowest))))


@part
def work_and_cost(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    begin: int,
    end: int,
    ahead: float,
    lowest: float,
) -> float:
    """Fit a + b / p + c p, no part below 0; return its logarithm relative to the last value.

    Of all choices of parts with coefficients above 0, the one of least residuals, each coefficient
    at a price. Later points weigh more.
    """
    best, value = np.inf, 1.0
    normal = np.empty((3, 4))  # normal equations of the parts in use, and their right-hand side
    used = np.empty(3, np.int64)
    basis = np.empty(3)
    factor = np.empty(3)
    for chosen in range(1, 8):
        count = 0
        for one in range(3):
            if chosen >> one & 1:
                used[count] = one
                count += 1
        if count > end - begin - 1:
            continue
        normal[:] = 0.0
        for at in range(begin, end):
            fill_basis(basis, x[at] - x[end - 1])
            size = np.exp(y[at] - y[end - 1])
            weight = FADING ** (end - 1 - at)
            for p in range(count):
                row = basis[used[p]] / size
                normal[p, 3] += weight * row
                for q in range(count):
                    normal[p, q] += weight * row * basis[used[q]] / size
        if not solve(normal, count, factor):
            continue
        misfit = 0.0
        for at in range(begin, end):
            fill_basis(basis, x[at] - x[end - 1])
            fitted = 0.0
            for p in range(count):
                fitted += factor[p] * basis[used[p]]
            off = fitted / np.exp(y[at] - y[end - 1]) - 1.0
            misfit += FADING ** (end - 1 - at) * off * off
        misfit *= 1.0 + PENALTY_OF_TERM * count
        if misfit < best:
            best, value = misfit, 0.0
            fill_basis(basis, ahead)
            for p in range(count):
                value += factor[p] * basis[used[p]]
    return float(np.log(max(value, np.exp(lowest))))


@part
def fill_basis(basis: NDArray[np.float64], ahead: float) -> None:
    """Write 1, 1 / p and p at a logarithm of p, relative to the last point."""
    basis[0], basis[1], basis[2] = 1.0, np.exp(-ahead), np.exp(ahead)


@part
def solve(normal: NDArray[np.float64], count: int, factor: NDArray[np.float64]) -> bool:
    """Solve normal equations by elimination; say whether all unknowns are above 0."""
    for p in range(count):
        pivot = normal[p, p]
        if pivot <= 0.0:
            return False
        for q in range(p + 1, count):
            share = normal[q, p] / pivot
            for r in range(p, count):
                normal[q, r] -= share * normal[p, r]
            normal[q, 3] -= share * normal[p, 3]
    for p in range(count - 1, -1, -1):
        rest = normal[p, 3]
        for q in range(p + 1, count):
            rest -= normal[p, q] * factor[q]
        factor[p] = rest / normal[p, p]
        if not factor[p] >= 0.0:
            return False
    return True


@part
def normal_form(
    y: NDArray[np.float64],
    terms: NDArray[np.float64],
    count: int,
    target: int,
    lowest: float,
    gamma: float,
) -> tuple[float, float]:
    """Fit a constant and one term, none below 0; return its logarithm and the fit's likelihood.

    The noise's standard deviation grows like the value to gamma. A term whose constant would be
    below 0 has none. The constant alone is kept unless a term halves the residuals.
    """
    here = y[count - 1]
    size, weight = np.empty(count), np.empty(count)
    total, level, scale = 0.0, 0.0, 0.0
    for at in range(count):
        size[at] = np.exp(y[at] - here)
        weight[at] = size[at] ** (-2.0 * gamma)
        total += weight[at]
        level += weight[at] * size[at]
        scale += 0.5 * np.log(weight[at])
    level /= total
    constant_misfit = 0.0
    for at in range(count):
        constant_misfit += weight[at] * (level - size[at]) ** 2
    best, value, misfit_of_best = constant_misfit / PENALTY_OF_GROWTH, level, constant_misfit
    for term in range(terms.shape[0]):
        middle = 0.0
        for at in range(count):
            middle += weight[at] * terms[term, at]
        middle /= total
        length, along, square, product = 0.0, 0.0, 0.0, 0.0
        for at in range(count):
            apart = terms[term, at] - middle
            length += weight[at] * apart * apart
            along += weight[at] * apart * (size[at] - level)
            square += weight[at] * terms[term, at] * terms[term, at]
            product += weight[at] * terms[term, at] * size[at]
        if length <= 0.0 or along < 0.0:
            continue
        factor = along / length
        constant = level - factor * middle
        if constant < 0.0:
            constant, factor = 0.0, product / square
        misfit = 0.0
        for at in range(count):
            misfit += weight[at] * (constant + factor * terms[term, at] - size[at]) ** 2
        if misfit < best:
            best, value, misfit_of_best = misfit, constant + factor * terms[term, target], misfit
    likelihood = scale - 0.5 * count * np.log(misfit_of_best / count + ROUNDING**2)
    return float(here + np.log(max(value, np.exp(lowest - here)))), float(likelihood)
