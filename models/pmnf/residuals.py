"""How well one smooth growth fits a series and its first points: parts of a compiled loop.

For the first points, the least weighted residual sum of squares (RSS) over all terms of a space,
for every number of points. Sums grow point by point (Welford's updates), so that one more point
costs a few operations a term.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.search import LEAST_ANGLE

LEAST_PRECISION = 1e-300
ROUNDING = 1e-9
"""Share of what a term explains, by which another must explain more."""


@part
def first_residuals(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    of_terms: NDArray[np.float64],
    least: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> None:
    """Fill the residuals of the first points of a series; of the last ones, if it is reversed.

    Parameters
    ----------
    y, weight : float64 array, shape (point,)
    columns : float64 array, shape (point, term)
        Each term of largest value 1.
    of_terms : float64 array, shape (at least 3, term)
        Scratch.
    least : float64 array, shape (point,)
        Entry b becomes the residual of points 0 to b, both included; of a constant and one term
        whose coefficient is not below 0.
    precision : float64 array, shape (point,)
        Entry b becomes how well these points fix the best fit's coefficients: the logarithm of the
        determinant of the weighted normal matrix, for columns of largest value 1 and coefficients
        in units of the largest value, both among these points.
    """
    # Weighted means of the terms t and of the values, and their sums of products about these,
    # updated for each further point; all terms side by side, so that loops over them use vectors.
    terms = columns.shape[1]
    mean_t, tt, ty = of_terms[0], of_terms[1], of_terms[2]
    for q in range(terms):
        mean_t[q] = tt[q] = ty[q] = 0.0
    total = mean_y = yy = most_y = 0.0
    for b in range(y.size):
        total += weight[b]
        share = weight[b] / total
        gain = weight[b] * (1.0 - share)
        of_y = y[b] - mean_y
        mean_y += share * of_y
        yy += gain * of_y * of_y
        most_y = max(most_y, abs(y[b]))
        at_b = columns[b]
        for q in range(terms):
            of_t = at_b[q] - mean_t[q]
            mean_t[q] += share * of_t
            tt[q] += gain * of_t * of_t
            ty[q] += gain * of_t * of_y
        # The constant's residual; less what a term that is added explains.
        most, best = 0.0, -1
        for q in range(terms):
            # Of terms that differ by rounding, the first: two points fit all of them exactly.
            if ty[q] > 0.0 and ty[q] * ty[q] > (1.0 + ROUNDING) * most * tt[q] and tt[q] > 0.0:
                most, best = ty[q] * ty[q] / tt[q], q
        least[b] = max(yy - most, 0.0)
        fixed = total * most_y**2
        if best >= 0:
            most_t = 0.0
            for a in range(b + 1):
                most_t = max(most_t, abs(columns[a, best]))
            fixed *= tt[best] * (most_y / most_t) ** 2
        precision[b] = np.log(max(fixed, LEAST_PRECISION))


@part
def single_residual(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    of_columns: NDArray[np.float64],
) -> float:
    """Return the least residual of a constant and one column over a whole series.

    Parameters
    ----------
    y, weight : float64 array, shape (point,)
    columns : float64 array, shape (point, column)
        Each of largest value 1; they may be subtracted, too.
    of_columns : float64 array, shape (at least 3, column)
        Scratch.
    """
    total, mean, spread = about_mean(y, weight)
    middle, tt, ty = of_columns[0], of_columns[1], of_columns[2]
    many = columns.shape[1]
    for q in range(many):
        middle[q] = tt[q] = ty[q] = 0.0
    for a in range(y.size):
        share, at_a = weight[a] / total, columns[a]
        for q in range(many):
            middle[q] += share * at_a[q]
    # Sums of products of the columns t and of the values about their means.
    for a in range(y.size):
        heavy, off, at_a = weight[a], weight[a] * (y[a] - mean), columns[a]
        for q in range(many):
            apart = at_a[q] - middle[q]
            tt[q] += heavy * apart * apart
            ty[q] += off * apart
    most = 0.0
    for q in range(many):
        if ty[q] * ty[q] > most * tt[q] and tt[q] > 0.0:
            most = ty[q] * ty[q] / tt[q]
    return float(max(spread - most, 0.0))


@part
def pair_residual(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
) -> float:
    """Return the least residual of a constant and two terms over a whole series.

    Parameters
    ----------
    y, weight : float64 array, shape (point,)
    columns : float64 array, shape (term, point)
        Each of largest value 1.
    centred : float64 array, shape (term, point)
    along : float64 array, shape (term,)
        Both scratch.
    """
    points = y.size
    total, mean, spread = about_mean(y, weight)
    # Columns without their mean, times the root of the weights, of length 1; and the values'
    # components along them.
    for q in range(columns.shape[0]):
        middle = 0.0
        for a in range(points):
            middle += weight[a] * columns[q, a]
        middle /= total
        length = 0.0
        along[q] = 0.0
        for a in range(points):
            centred[q, a] = np.sqrt(weight[a]) * (columns[q, a] - middle)
            length += centred[q, a] ** 2
            along[q] += centred[q, a] * np.sqrt(weight[a]) * (y[a] - mean)
        if length > 0.0:
            along[q] /= np.sqrt(length)
            for a in range(points):
                centred[q, a] /= np.sqrt(length)
    # The most that two columns explain which are both added: the normal equations.
    most = 0.0
    for q in range(1, columns.shape[0]):
        for r in range(q):
            alike = 0.0
            for a in range(points):
                alike += centred[q, a] * centred[r, a]
            apart = 1.0 - alike * alike
            if apart < LEAST_ANGLE:
                continue
            on_q = (along[q] - alike * along[r]) / apart
            on_r = (along[r] - alike * along[q]) / apart
            if on_q > 0.0 and on_r > 0.0:
                most = max(most, on_q * along[q] + on_r * along[r])
    return float(max(spread - most, 0.0))


@part
def about_mean(y: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the sum of the weights, the weighted mean and the weighted spread about it."""
    total, mean, spread = 0.0, 0.0, 0.0
    for a in range(y.size):
        total += weight[a]
        mean += weight[a] * y[a]
    mean /= total
    for a in range(y.size):
        off = y[a] - mean
        spread += weight[a] * (off * off)
    return total, mean, spread
