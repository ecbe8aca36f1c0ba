"""How well smooth growths fit series and their first and last points: compiled loops.

The least weighted residual sum of squares (RSS) over many candidates. On a side of a split, sums
grow point by point (Welford's updates), so that one more point costs a few operations a term.
Columns lie side by side, the last axis of every array, so that inner loops use vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.pmnf.search import LEAST_ANGLE

LEAST_PRECISION = 1e-300
ROUNDING = 1e-9
"""Share of what a term explains, by which another must explain more."""


@declared("(f8[:,::1], f8[:,::1], f8[:,::1], b1, f8[:,:,::1], f8[:,:,::1])", division="numpy")
def side_residuals(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    columns: NDArray[np.float64],
    placed: bool,
    least: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> None:
    """Fill the residuals of the first and of the last points of series.

    Parameters
    ----------
    values, weights : float64 array, shape (kernel, point)
    columns : float64 array, shape (point, term)
        Each term of largest value 1.
    placed : bool
        Whether `precision` is asked for.
    least : float64 array, shape (kernel, 2, point)
        Entry b becomes the residual of b + 1 points, the first ones and the last ones; of a
        constant and one term whose coefficient is not below 0.
    precision : float64 array, shape (kernel, 2, point)
        Entry b becomes how well these points fix the best fit's coefficients: the logarithm of the
        determinant of the weighted normal matrix, for columns of largest value 1 and coefficients
        in units of the largest value, both among these points.
    """
    kernels, points = values.shape
    terms = columns.shape[1]
    # Of each term, its weighted mean, its spread about that, and the sum of products with values.
    middle, tt, ty = np.empty(terms), np.empty(terms), np.empty(terms)
    for kernel in range(kernels):
        for side in range(2):
            for q in range(terms):
                middle[q] = tt[q] = ty[q] = 0.0
            total = mean = yy = most_y = 0.0
            for b in range(points):
                at = points - 1 - b if side else b
                weight, y = weights[kernel, at], values[kernel, at]
                total += weight
                share = weight / total
                gain = weight * (1.0 - share)
                off = y - mean
                mean += share * off
                yy += gain * off * off
                column = columns[at]
                for q in range(terms):
                    apart = column[q] - middle[q]
                    middle[q] += share * apart
                    tt[q] += gain * apart * apart
                    ty[q] += gain * apart * off
                # Of terms that differ by rounding, the first: two points fit all of them exactly.
                explained, best = 0.0, -1
                for q in range(terms):
                    if ty[q] > 0.0 and ty[q] * ty[q] > (1.0 + ROUNDING) * explained * tt[q]:
                        explained, best = ty[q] * ty[q] / tt[q], q
                least[kernel, side, b] = max(yy - explained, 0.0)
                if not placed:
                    continue
                most_y = max(most_y, abs(y))
                fixed = total * most_y**2
                if best >= 0:
                    most_t = 0.0
                    for a in range(b + 1):
                        most_t = max(most_t, abs(columns[points - 1 - a if side else a, best]))
                    fixed *= tt[best] * (most_y / most_t) ** 2
                precision[kernel, side, b] = np.log(max(fixed, LEAST_PRECISION))


@declared("(f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1])", division="numpy")
def whole_residuals(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    single: NDArray[np.float64],
    coupled: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Lower residuals of whole series to those of a constant with one column, or with two.

    Parameters
    ----------
    values, weights : float64 array, shape (kernel, point)
    single : float64 array, shape (point, column)
        Each of largest value 1; one of them is added or subtracted.
    coupled : float64 array, shape (point, term)
        Each of largest value 1; two of them are added.
    least : float64 array, shape (kernel,)
    """
    points, terms = coupled.shape
    everything = np.concatenate((coupled, single), axis=1)
    count = everything.shape[1]
    middle, tt, ty = np.empty(count), np.empty(count), np.empty(count)
    centred, along = np.empty((terms, points)), np.empty(terms)
    for kernel in range(values.shape[0]):
        y, weight = values[kernel], weights[kernel]
        total = mean = spread = 0.0
        for a in range(points):
            total += weight[a]
            mean += weight[a] * y[a]
        mean /= total
        for q in range(count):
            middle[q] = tt[q] = ty[q] = 0.0
        for a in range(points):
            spread += weight[a] * ((y[a] - mean) * (y[a] - mean))
            share = weight[a] / total
            for q in range(count):
                middle[q] += share * everything[a, q]
        for a in range(points):
            off = weight[a] * (y[a] - mean)
            for q in range(count):
                apart = everything[a, q] - middle[q]
                tt[q] += weight[a] * apart * apart
                ty[q] += off * apart
        explained = 0.0
        for q in range(terms, count):
            if ty[q] * ty[q] > explained * tt[q]:
                explained = ty[q] * ty[q] / tt[q]
        # Columns without their mean, times the root of the weights, of length 1, so that their
        # product is the cosine between them; and the values' components along them.
        for q in range(terms):
            length = np.sqrt(tt[q]) if tt[q] > 0.0 else 1.0
            along[q] = ty[q] / length
            for a in range(points):
                centred[q, a] = np.sqrt(weight[a]) * (coupled[a, q] - middle[q]) / length
        for q in range(1, terms):
            for r in range(q):
                alike = 0.0
                for a in range(points):
                    alike += centred[q, a] * centred[r, a]
                apart = 1.0 - alike * alike
                on_q, on_r = along[q] - alike * along[r], along[r] - alike * along[q]
                both = on_q * along[q] + on_r * along[r]
                if apart >= LEAST_ANGLE and on_q > 0.0 and on_r > 0.0 and both > explained * apart:
                    explained = both / apart
        least[kernel] = min(least[kernel], max(spread - explained, 0.0))
