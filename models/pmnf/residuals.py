"""How well smooth growths fit series and their first and last points: compiled loops.

The least weighted residual sum of squares (RSS) over many candidates. On a side of a split, sums
grow point by point (Welford's updates), so that one more point costs a few operations a term.

Series lie side by side in blocks, the last axis of every scratch array, so that inner loops use
vectors. Scratch arrays are flat and their rows have a length that the compiler knows: thus it sees
which rows overlap. Explained shares are compared as fractions, as a division takes longer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part
from hindmost.models.pmnf.search import LEAST_ANGLE

BLOCK = 64
"""Series that lie side by side."""
STEP = 4
"""Points that inner loops add at a time, so that sums are read and written less often."""
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
    columns : float64 array, shape (term, point)
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
    # Of each point, what it changes in the weighted means and spreads of the points so far: its
    # share of their weight, the gain of spreads, and how far its value is from the mean so far.
    given = np.empty(3 * BLOCK * (points + 1))
    # Of each point, the best term so far: its sums over y squared, over itself, and its number.
    best = np.empty(3 * BLOCK * (points + 1))
    for each in range(given.size):
        given[each] = best[each] = 0.0
    sums = np.empty(3 * BLOCK)
    for begin in range(0, kernels, BLOCK):
        series = kernels - begin if kernels - begin < BLOCK else BLOCK
        for side in range(2):
            for s in range(series):
                total = mean = yy = 0.0
                for b in range(points):
                    at = points - 1 - b if side else b
                    weight, y = weights[begin + s, at], values[begin + s, at]
                    total += weight
                    share = weight / total
                    gain = weight * (1.0 - share)
                    off = y - mean
                    mean += share * off
                    yy += gain * off * off
                    least[begin + s, side, b] = yy
                    row = 3 * BLOCK * b + s
                    given[row], given[row + BLOCK], given[row + 2 * BLOCK] = share, gain, off
                    best[row], best[row + BLOCK], best[row + 2 * BLOCK] = 0.0, 1.0, -1.0
            for q in range(columns.shape[0]):
                for s in range(3 * BLOCK):
                    sums[s] = 0.0
                for b in range(0, points, 2):
                    row, end = 3 * BLOCK * b, 3 * BLOCK * (b + 2)
                    t_0, t_1 = columns[q, points - 1 - b if side else b], 0.0
                    if b + 1 < points:
                        t_1 = columns[q, points - 2 - b if side else b + 1]
                    add_points(t_0, t_1, 1.0 * q, given[row:end], sums, best[row:end], series)
            for s in range(series):
                total = most_y = 0.0
                for b in range(points):
                    row = 3 * BLOCK * b + s
                    explained = best[row] / best[row + BLOCK]
                    least[begin + s, side, b] = max(least[begin + s, side, b] - explained, 0.0)
                    if not placed:
                        continue
                    at = points - 1 - b if side else b
                    total += weights[begin + s, at]
                    most_y = max(most_y, abs(values[begin + s, at]))
                    fixed = total * most_y**2
                    term = int(best[row + 2 * BLOCK])
                    if term >= 0:
                        # The spread of the best term among these points.
                        mean, spread, most_t = 0.0, 0.0, 0.0
                        for a in range(b + 1):
                            t = columns[term, points - 1 - a if side else a]
                            off = t - mean
                            mean += given[3 * BLOCK * a + s] * off
                            spread += given[3 * BLOCK * a + BLOCK + s] * off * off
                            most_t = max(most_t, abs(t))
                        fixed *= spread * (most_y / most_t) ** 2
                    precision[begin + s, side, b] = np.log(max(fixed, LEAST_PRECISION))


@part
def add_points(
    t_0: float,
    t_1: float,
    number: float,
    given: NDArray[np.float64],
    sums: NDArray[np.float64],
    best: NDArray[np.float64],
    series: int,
) -> None:
    """Add two points to the sums of a term, and compare what the term explains with the best.

    Parameters
    ----------
    t_0, t_1 : float
        The term's values at the points.
    number : float
        Of the term.
    given, best : float64 array, shape (2 * 3 * BLOCK,)
        Of the points, as in `side_residuals`.
    sums : float64 array, shape (3 * BLOCK,)
        The term's weighted mean, its spread about that, and the sum of products with the values.
    series : int
    """
    for s in range(series if series < BLOCK else BLOCK):  # a bound that the compiler sees
        # The first point.
        off = t_0 - sums[s]
        mean = sums[s] + given[s] * off
        more = given[s + BLOCK] * off
        tt, ty = sums[s + BLOCK] + more * off, sums[s + 2 * BLOCK] + more * given[s + 2 * BLOCK]
        rising = ty if ty > 0.0 else 0.0
        square = rising * rising
        # Of terms that differ by rounding, the first: two points fit all of them exactly.
        better = square * best[s + BLOCK] > (1.0 + ROUNDING) * best[s] * tt
        best[s] = square if better else best[s]
        best[s + BLOCK] = tt if better else best[s + BLOCK]
        best[s + 2 * BLOCK] = number if better else best[s + 2 * BLOCK]
        # The second one.
        off = t_1 - mean
        mean += given[s + 3 * BLOCK] * off
        more = given[s + 4 * BLOCK] * off
        tt, ty = tt + more * off, ty + more * given[s + 5 * BLOCK]
        rising = ty if ty > 0.0 else 0.0
        square = rising * rising
        better = square * best[s + 4 * BLOCK] > (1.0 + ROUNDING) * best[s + 3 * BLOCK] * tt
        best[s + 3 * BLOCK] = square if better else best[s + 3 * BLOCK]
        best[s + 4 * BLOCK] = tt if better else best[s + 4 * BLOCK]
        best[s + 5 * BLOCK] = number if better else best[s + 5 * BLOCK]
        sums[s], sums[s + BLOCK], sums[s + 2 * BLOCK] = mean, tt, ty


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
    single : float64 array, shape (column, point of `padded`)
        Each of largest value 1; one of them is added or subtracted.
    coupled : float64 array, shape (term, point of `padded`)
        Each of largest value 1; two of them are added.
    least : float64 array, shape (kernel,)
    """
    kernels, points = values.shape
    steps = (points + STEP - 1) // STEP
    # Of each point, its weight, and the weight times how far its value is from the mean.
    given = np.empty(2 * BLOCK * STEP * steps)
    for each in range(given.size):
        given[each] = 0.0
    inverse, spread = np.empty(BLOCK), np.empty(BLOCK)
    # A column's weighted mean, its spread about that, and the sum of products with the values; and
    # the best so far: the same two, or those of two columns.
    sums, best = np.empty(3 * BLOCK), np.empty(2 * BLOCK)
    centred = np.empty(BLOCK * STEP * steps * coupled.shape[0])
    for each in range(centred.size):
        centred[each] = 0.0
    along, alike = np.empty(BLOCK * coupled.shape[0]), np.empty(BLOCK)
    for begin in range(0, kernels, BLOCK):
        series = kernels - begin if kernels - begin < BLOCK else BLOCK
        for s in range(series):
            total = mean = 0.0
            for a in range(points):
                total += weights[begin + s, a]
                mean += weights[begin + s, a] * values[begin + s, a]
            mean /= total
            inverse[s], spread[s] = 1.0 / total, 0.0
            for a in range(points):
                off = values[begin + s, a] - mean
                given[2 * BLOCK * a + s] = weights[begin + s, a]
                given[2 * BLOCK * a + BLOCK + s] = weights[begin + s, a] * off
                spread[s] += weights[begin + s, a] * (off * off)
            best[s], best[s + BLOCK] = 0.0, 1.0
        for q in range(single.shape[0]):
            sum_up(single[q], given, inverse, sums, best, steps, series, True)
        # Columns without their mean, times the root of the weights, of length 1; and the values'
        # components along them.
        for q in range(coupled.shape[0]):
            sum_up(coupled[q], given, inverse, sums, best, steps, series, False)
            for s in range(series):
                length = np.sqrt(sums[s + BLOCK]) if sums[s + BLOCK] > 0.0 else 1.0
                along[BLOCK * q + s] = sums[s + 2 * BLOCK] / length
                for a in range(points):
                    root = np.sqrt(given[2 * BLOCK * a + s]) / length
                    centred[BLOCK * (STEP * steps * q + a) + s] = root * (coupled[q, a] - sums[s])
        size = BLOCK * STEP * steps
        for q in range(1, coupled.shape[0]):
            for r in range(q):
                of_q, of_r = centred[size * q : size * (q + 1)], centred[size * r : size * (r + 1)]
                along_q = along[BLOCK * q : BLOCK * (q + 1)]
                along_r = along[BLOCK * r : BLOCK * (r + 1)]
                try_pair(of_q, of_r, along_q, along_r, alike, best, steps, series)
        for s in range(series):
            left = max(spread[s] - best[s] / best[s + BLOCK], 0.0)
            least[begin + s] = min(least[begin + s], left)


@part
def sum_up(
    column: NDArray[np.float64],
    given: NDArray[np.float64],
    inverse: NDArray[np.float64],
    sums: NDArray[np.float64],
    best: NDArray[np.float64],
    steps: int,
    series: int,
    alone: bool,
) -> None:
    """Fill the sums of a column over whole series; arguments as in `whole_residuals`.

    If it may stand alone, what it explains is kept if it is the most so far.
    """
    for s in range(3 * BLOCK):
        sums[s] = 0.0
    for step in range(steps):
        a = STEP * step
        rows = given[2 * BLOCK * a : 2 * BLOCK * (a + STEP)]
        t_0, t_1, t_2, t_3 = column[a], column[a + 1], column[a + 2], column[a + 3]
        for s in range(series if series < BLOCK else BLOCK):
            sums[s] += (rows[s] * t_0 + rows[s + 2 * BLOCK] * t_1) + (
                rows[s + 4 * BLOCK] * t_2 + rows[s + 6 * BLOCK] * t_3
            )
    for s in range(series if series < BLOCK else BLOCK):
        sums[s] *= inverse[s]
    for step in range(steps):
        a = STEP * step
        rows = given[2 * BLOCK * a : 2 * BLOCK * (a + STEP)]
        t_0, t_1, t_2, t_3 = column[a], column[a + 1], column[a + 2], column[a + 3]
        for s in range(series if series < BLOCK else BLOCK):
            d_0, d_1, d_2, d_3 = t_0 - sums[s], t_1 - sums[s], t_2 - sums[s], t_3 - sums[s]
            sums[s + BLOCK] += (rows[s] * d_0 * d_0 + rows[s + 2 * BLOCK] * d_1 * d_1) + (
                rows[s + 4 * BLOCK] * d_2 * d_2 + rows[s + 6 * BLOCK] * d_3 * d_3
            )
            sums[s + 2 * BLOCK] += (rows[s + BLOCK] * d_0 + rows[s + 3 * BLOCK] * d_1) + (
                rows[s + 5 * BLOCK] * d_2 + rows[s + 7 * BLOCK] * d_3
            )
    if alone:
        for s in range(series if series < BLOCK else BLOCK):
            tt, square = sums[s + BLOCK], sums[s + 2 * BLOCK] * sums[s + 2 * BLOCK]
            better = (tt > 0.0) & (square * best[s + BLOCK] > best[s] * tt)
            best[s] = square if better else best[s]
            best[s + BLOCK] = tt if better else best[s + BLOCK]


@part
def try_pair(
    of_q: NDArray[np.float64],
    of_r: NDArray[np.float64],
    along_q: NDArray[np.float64],
    along_r: NDArray[np.float64],
    alike: NDArray[np.float64],
    best: NDArray[np.float64],
    steps: int,
    series: int,
) -> None:
    """Keep what two columns explain, by their normal equations, if it is the most so far.

    Columns have length 1, so that their product is the cosine between them. Arguments as in
    `whole_residuals`.
    """
    for s in range(BLOCK):
        alike[s] = 0.0
    for step in range(steps):
        a = STEP * step
        q, r = of_q[BLOCK * a : BLOCK * (a + STEP)], of_r[BLOCK * a : BLOCK * (a + STEP)]
        for s in range(series if series < BLOCK else BLOCK):
            alike[s] += (q[s] * r[s] + q[s + BLOCK] * r[s + BLOCK]) + (
                q[s + 2 * BLOCK] * r[s + 2 * BLOCK] + q[s + 3 * BLOCK] * r[s + 3 * BLOCK]
            )
    for s in range(series if series < BLOCK else BLOCK):
        apart = 1.0 - alike[s] * alike[s]
        on_q, on_r = along_q[s] - alike[s] * along_r[s], along_r[s] - alike[s] * along_q[s]
        both = on_q * along_q[s] + on_r * along_r[s]
        better = (apart >= LEAST_ANGLE) & (on_q > 0.0) & (on_r > 0.0)
        better = better & (both * best[s + BLOCK] > best[s] * apart)
        best[s] = both if better else best[s]
        best[s + BLOCK] = apart if better else best[s + BLOCK]


def padded(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add points of value 0 up to a multiple of `STEP`: shape (column, point)."""
    return np.ascontiguousarray(np.pad(columns, ((0, 0), (0, -columns.shape[1] % STEP))))
