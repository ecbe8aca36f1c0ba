"""How well one smooth growth fits each stretch of a series: the compiled loop.

For every stretch of consecutive points, the least weighted residual sum of squares over all terms
of a space. Sums grow point by point (Welford's updates), so that a stretch costs a few operations
a term whatever its length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.search import LEAST_ANGLE


@part
def stretch_residuals(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Fill the residuals of all stretches of a series.

    Parameters
    ----------
    y, weight : float64 array, shape (point,)
    columns : float64 array, shape (term, point)
        Each of largest value 1.
    least : float64 array, shape (point, point)
        Row a, column b becomes the residual of points a to b, both included; of a constant and one
        term whose coefficient is not below 0.
    """
    points = y.size
    for a in range(points):
        for b in range(a, points):
            least[a, b] = np.inf
        for q in range(columns.shape[0]):
            total = mean_t = mean_y = 0.0
            tt = ty = yy = 0.0
            for b in range(a, points):
                total += weight[b]
                share = weight[b] / total
                of_t = columns[q, b] - mean_t
                of_y = y[b] - mean_y
                mean_t += share * of_t
                mean_y += share * of_y
                gain = weight[b] * (1.0 - share)
                tt += gain * of_t * of_t
                ty += gain * of_t * of_y
                yy += gain * of_y * of_y
                residual = yy
                if ty > 0.0 and tt > 0.0:
                    residual = max(yy - ty * ty / tt, 0.0)
                if residual < least[a, b]:
                    least[a, b] = residual


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
    total = weight.sum()
    mean = (weight * y).sum() / total
    spread = (weight * (y - mean) ** 2).sum()
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
