"""Kinds of growth that candidates fit to a series: functions of two points, and sums.

Candidates give points and values as logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part

FADING = 0.7
"""Weight of a point over that of its successor in `work_and_cost`."""
PENALTY_OF_TERM = 0.3
"""Share by which each coefficient must lower the residuals there."""
ROUNDING = 1e-4
"""Relative residual that is not told from none."""
PENALTY_OF_GROWTH = 2.0
"""Factor by which a term must lower the residuals of a constant in `normal_form`."""


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
    factor = np.empty(3)
    # 1, 1 / p and p, and the value, at every point and at the target, over those of the last point.
    points = end - begin
    basis, used = np.empty((4, points + 1)), np.empty((3, points + 1))
    for at in range(points + 1):
        away = ahead if at == points else x[begin + at] - x[end - 1]
        basis[0, at], basis[1, at], basis[2, at] = 1.0, np.exp(-away), np.exp(away)
        basis[3, at] = 0.0 if at == points else np.exp(y[begin + at] - y[end - 1])
    for chosen in range(1, 8):
        count = 0
        for one in range(3):
            if chosen >> one & 1:
                for at in range(points + 1):
                    used[count, at] = basis[one, at]
                count += 1
        if count > points - 1:
            continue
        normal[:] = 0.0
        for at in range(points):
            size = basis[3, at]
            weight = FADING ** (points - 1 - at)
            for p in range(count):
                row = used[p, at] / size
                normal[p, 3] += weight * row
                for q in range(count):
                    normal[p, q] += weight * row * used[q, at] / size
        if not solve(normal, count, factor):
            continue
        misfit = 0.0
        for at in range(points):
            fitted = 0.0
            for p in range(count):
                fitted += factor[p] * used[p, at]
            off = fitted / basis[3, at] - 1.0
            misfit += FADING ** (points - 1 - at) * off * off
        misfit *= 1.0 + PENALTY_OF_TERM * count
        if misfit < best:
            best, value = misfit, 0.0
            for p in range(count):
                value += factor[p] * used[p, points]
    return float(np.log(max(value, np.exp(lowest))))


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
