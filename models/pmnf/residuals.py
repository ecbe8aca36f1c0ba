"""How well one smooth growth fits series and their first points: parts of a compiled loop.

For the first points, the least weighted residual sum of squares (RSS) over all terms of a space,
for every number of points. Sums grow point by point (Welford's updates), so that one more point
costs a few operations a term.

Series lie side by side in blocks, the last axis of every array, so that inner loops use vectors.
They are short and several for the same reason: a compiler compares the places of few arrays only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.search import LEAST_ANGLE

LEAST_PRECISION = 1e-300
ROUNDING = 1e-9
"""Share of what a term explains, by which another must explain more."""
OF_POINTS, OF_FOURS, OF_SERIES = 4, 3, 5
"""Arrays of shape (point, series), of the same with points as of `fours`, and of shape (series,)
that these parts use as scratch."""


@part
def first_residuals(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    of_points: NDArray[np.float64],
    of_series: NDArray[np.float64],
    placed: bool,
    least: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> None:
    """Fill the residuals of the first points of series; of the last ones, if they are reversed.

    Parameters
    ----------
    y, weight : float64 array, shape (point, series)
    columns : float64 array, shape (term, point)
        Each term of largest value 1.
    of_points : float64 array, shape (OF_POINTS, point, series)
        Scratch.
    of_series : float64 array, shape (OF_SERIES, series)
        Scratch.
    placed : bool
        Whether `precision` is asked for.
    least : float64 array, shape (point, series)
        Entry b becomes the residual of points 0 to b, both included; of a constant and one term
        whose coefficient is not below 0.
    precision : float64 array, shape (point, series)
        Entry b becomes how well these points fix the best fit's coefficients: the logarithm of the
        determinant of the weighted normal matrix, for columns of largest value 1 and coefficients
        in units of the largest value, both among these points.
    """
    points, series = y.shape
    share, gain, of_y, most = of_points[0], of_points[1], of_points[2], of_points[3]
    # What a further point changes in the weighted mean of the values and in their spread.
    for s in range(series):
        total = mean_y = yy = 0.0
        for b in range(points):
            total += weight[b, s]
            share[b, s] = weight[b, s] / total
            gain[b, s] = weight[b, s] * (1.0 - share[b, s])
            of_y[b, s] = y[b, s] - mean_y
            mean_y += share[b, s] * of_y[b, s]
            yy += gain[b, s] * of_y[b, s] * of_y[b, s]
            least[b, s] = yy
            most[b, s] = 0.0
            precision[b, s] = -1.0  # until the end, which term is the best
    # Weighted means of the terms t and sums of products about these, for each further point; and
    # the most that a term explains which is added.
    mean_t, tt, ty = of_series[0], of_series[1], of_series[2]
    of_t, better = of_series[3], of_series[4]
    for q in range(columns.shape[0]):
        for s in range(series):
            mean_t[s] = tt[s] = ty[s] = 0.0
        for b in range(points):
            at_b = columns[q, b]
            share_b, gain_b, of_y_b, most_b = share[b], gain[b], of_y[b], most[b]
            for s in range(series):
                of_t[s] = at_b - mean_t[s]
                mean_t[s] += share_b[s] * of_t[s]
            for s in range(series):
                more = gain_b[s] * of_t[s]
                tt[s] += more * of_t[s]
                ty[s] += more * of_y_b[s]
            for s in range(series):
                # Of terms that differ by rounding, the first: two points fit all of them exactly.
                enough = (1.0 + ROUNDING) * most_b[s] * tt[s]
                clear = (ty[s] > 0.0) & (tt[s] > 0.0) & (ty[s] * ty[s] > enough)
                better[s] = ty[s] * ty[s] / tt[s] if clear else -1.0
            for s in range(series):
                most_b[s] = better[s] if better[s] >= 0.0 else most_b[s]
            if placed:
                best_b = precision[b]
                for s in range(series):
                    best_b[s] = q if better[s] >= 0.0 else best_b[s]
    for s in range(series):
        total = most_y = 0.0
        for b in range(points):
            total += weight[b, s]
            most_y = max(most_y, abs(y[b, s]))
            least[b, s] = max(least[b, s] - most[b, s], 0.0)
            if not placed:
                continue
            fixed = total * most_y**2
            best = int(precision[b, s])
            if best >= 0:
                # The spread of the best term among these points.
                mean, spread, most_t = 0.0, 0.0, 0.0
                for a in range(b + 1):
                    off = columns[best, a] - mean
                    mean += share[a, s] * off
                    spread += gain[a, s] * off * off
                    most_t = max(most_t, abs(columns[best, a]))
                fixed *= spread * (most_y / most_t) ** 2
            precision[b, s] = np.log(max(fixed, LEAST_PRECISION))


@part
def single_residuals(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    of_points: NDArray[np.float64],
    of_series: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Lower residuals to the least of a constant and one column over whole series.

    Parameters
    ----------
    y, weight : float64 array, shape (point, series)
    columns : float64 array, shape (column, point of `fours`)
        Each of largest value 1; they may be subtracted, too.
    of_points : float64 array, shape (OF_FOURS, point of `fours`, series)
        Scratch, 0 beyond the points.
    of_series : float64 array, shape (OF_SERIES, series)
        Scratch.
    least : float64 array, shape (series,)
    """
    points, series = y.shape
    share, heavy, off = of_points[0], of_points[1], of_points[2]
    middle, tt, ty = of_series[0], of_series[1], of_series[2]
    most, spread = of_series[3], of_series[4]
    for s in range(series):
        total, mean, spread[s] = about_mean(y[:, s], weight[:, s])
        most[s] = 0.0
        for a in range(points):
            share[a, s] = weight[a, s] / total
            heavy[a, s] = weight[a, s]
            off[a, s] = weight[a, s] * (y[a, s] - mean)
    for q in range(columns.shape[0]):
        for s in range(series):
            middle[s] = tt[s] = ty[s] = 0.0
        # Four points at a time, so that sums are read and written less often. The column's mean,
        # then sums of products of it and of the values about their means.
        for a in range(0, columns.shape[1], 4):
            t_0, t_1 = columns[q, a], columns[q, a + 1]
            t_2, t_3 = columns[q, a + 2], columns[q, a + 3]
            w_0, w_1, w_2, w_3 = share[a], share[a + 1], share[a + 2], share[a + 3]
            for s in range(series):
                middle[s] += w_0[s] * t_0 + w_1[s] * t_1 + w_2[s] * t_2 + w_3[s] * t_3
        for a in range(0, columns.shape[1], 4):
            t_0, t_1 = columns[q, a], columns[q, a + 1]
            t_2, t_3 = columns[q, a + 2], columns[q, a + 3]
            w_0, w_1, w_2, w_3 = heavy[a], heavy[a + 1], heavy[a + 2], heavy[a + 3]
            for s in range(series):
                d_0, d_1 = t_0 - middle[s], t_1 - middle[s]
                d_2, d_3 = t_2 - middle[s], t_3 - middle[s]
                tt[s] += (
                    w_0[s] * d_0 * d_0
                    + w_1[s] * d_1 * d_1
                    + w_2[s] * d_2 * d_2
                    + w_3[s] * d_3 * d_3
                )
            w_0, w_1, w_2, w_3 = off[a], off[a + 1], off[a + 2], off[a + 3]
            for s in range(series):
                d_0, d_1 = t_0 - middle[s], t_1 - middle[s]
                d_2, d_3 = t_2 - middle[s], t_3 - middle[s]
                ty[s] += w_0[s] * d_0 + w_1[s] * d_1 + w_2[s] * d_2 + w_3[s] * d_3
        for s in range(series):
            clear = (tt[s] > 0.0) & (ty[s] * ty[s] > most[s] * tt[s])
            most[s] = ty[s] * ty[s] / tt[s] if clear else most[s]
    for s in range(series):
        least[s] = min(least[s], max(spread[s] - most[s], 0.0))


def fours(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add points of value 0 up to a multiple of four: shape (column, point)."""
    return np.pad(columns, ((0, 0), (0, -columns.shape[1] % 4)))


@part
def pair_residuals(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    of_points: NDArray[np.float64],
    of_series: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Lower residuals to the least of a constant and two terms over whole series.

    Parameters
    ----------
    y, weight : float64 array, shape (point, series)
    columns : float64 array, shape (term, point)
        Each of largest value 1.
    centred : float64 array, shape (term, point, series)
        Scratch.
    along : float64 array, shape (term, series)
        Scratch.
    of_points : float64 array, shape (OF_POINTS, point, series)
        Scratch.
    of_series : float64 array, shape (OF_SERIES, series)
        Scratch.
    least : float64 array, shape (series,)
    """
    points, series = y.shape
    root, off, share = of_points[0], of_points[1], of_points[2]
    alike, most, spread = of_series[0], of_series[1], of_series[2]
    # Columns without their mean, times the root of the weights, of length 1; and the values'
    # components along them.
    for s in range(series):
        total, mean, spread[s] = about_mean(y[:, s], weight[:, s])
        most[s] = 0.0
        for a in range(points):
            root[a, s] = np.sqrt(weight[a, s])
            off[a, s] = root[a, s] * (y[a, s] - mean)
            share[a, s] = weight[a, s] / total
    middle, length = of_series[0], of_series[3]
    for q in range(columns.shape[0]):
        on = along[q]
        for s in range(series):
            middle[s] = length[s] = on[s] = 0.0
        for a in range(points):
            at_a, share_a = columns[q, a], share[a]
            for s in range(series):
                middle[s] += share_a[s] * at_a
        for a in range(points):
            at_a, root_a, off_a, centred_a = columns[q, a], root[a], off[a], centred[q, a]
            for s in range(series):
                centred_a[s] = root_a[s] * (at_a - middle[s])
                length[s] += centred_a[s] * centred_a[s]
            for s in range(series):
                on[s] += centred_a[s] * off_a[s]
        for s in range(series):
            length[s] = np.sqrt(length[s]) if length[s] > 0.0 else 1.0
            on[s] /= length[s]
        for a in range(points):
            centred_a = centred[q, a]
            for s in range(series):
                centred_a[s] /= length[s]
    # The most that two columns explain which are both added: the normal equations.
    for q in range(1, columns.shape[0]):
        along_q = along[q]
        for r in range(q):
            along_r = along[r]
            for s in range(series):
                alike[s] = 0.0
            for a in range(points):
                at_q, at_r = centred[q, a], centred[r, a]
                for s in range(series):
                    alike[s] += at_q[s] * at_r[s]
            for s in range(series):
                apart = 1.0 - alike[s] * alike[s]
                on_q = (along_q[s] - alike[s] * along_r[s]) / apart
                on_r = (along_r[s] - alike[s] * along_q[s]) / apart
                both = on_q * along_q[s] + on_r * along_r[s]
                clear = (apart >= LEAST_ANGLE) & (on_q > 0.0) & (on_r > 0.0) & (both > most[s])
                most[s] = both if clear else most[s]
    for s in range(series):
        least[s] = min(least[s], max(spread[s] - most[s], 0.0))


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
