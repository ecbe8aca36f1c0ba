"""Terms of one parameter that fit along the lines on which all others stand still.

On such a line a sum of products is a constant plus terms of that parameter alone, whatever the
others do; so the lines of a parameter are fitted with a constant and a slope each, and share the
term. Several terms a parameter stay in the race: a line has few points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.search import LEAST_ANGLE


@part
def choose(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
    pairs: bool,
) -> None:
    """Write the numbers of the terms with the least residuals over all lines, best first.

    Parameters
    ----------
    columns : float64 array, shape (1 + term, point)
        The first is 1.
    line : int32 array, shape (point,)
    start : int64 array, shape (at least kept,)
        What to choose where the parameter has no lines.
    chosen : int64 array, shape (kept,)
        Result.
    pairs : bool
        Whether the two terms that fit best together are among them in any case.
    """
    count = 0
    for a in range(line.size):
        count = max(count, line[a] + 1)
    if count == 0:
        for at in range(chosen.size):
            chosen[at] = start[at]
        return
    # Of each line, the sum of the weights and the mean of the values.
    total = np.zeros(count)
    mean = np.zeros(count)
    for a in range(y.size):
        if line[a] >= 0:
            total[line[a]] += weight[a]
            mean[line[a]] += weight[a] * y[a]
    for g in range(count):
        if total[g] > 0.0:
            mean[g] /= total[g]
    rest = np.full(chosen.size, np.inf)
    middle = np.empty(count)
    length = np.empty(count)
    along = np.empty(count)
    for e in range(1, columns.shape[0]):
        # On each line g, the column without its mean: its squared length, and the values along it.
        for g in range(count):
            middle[g], length[g], along[g] = 0.0, 0.0, 0.0
        for a in range(y.size):
            if line[a] >= 0:
                middle[line[a]] += weight[a] * columns[e, a] / total[line[a]]
        for a in range(y.size):
            if line[a] >= 0:
                apart = columns[e, a] - middle[line[a]]
                length[line[a]] += weight[a] * apart * apart
                along[line[a]] += weight[a] * apart * (y[a] - mean[line[a]])
        # The residuals of a constant and a slope of its own on each line; slopes are not negative.
        rss = 0.0
        for a in range(y.size):
            g = line[a]
            if g >= 0:
                off = y[a] - mean[g]
                if along[g] > 0.0:
                    off -= along[g] / length[g] * (columns[e, a] - middle[g])
                rss += weight[a] * off * off
        # Into the list, best first.
        at = chosen.size - 1
        if rss >= rest[at]:
            continue
        while at > 0 and rss < rest[at - 1]:
            rest[at] = rest[at - 1]
            chosen[at] = chosen[at - 1]
            at -= 1
        rest[at] = rss
        chosen[at] = e
    if pairs and chosen.size >= 3:
        first, second = best_pair(y, weight, columns, line, mean, total)
        for e in (first, second):
            there = e == 0
            for at in range(chosen.size):
                there = there or chosen[at] == e
            if not there:
                chosen[-1 if e == first else -2] = e


@part
def best_pair(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    line: NDArray[np.int32],
    mean: NDArray[np.float64],
    total: NDArray[np.float64],
) -> tuple[int, int]:
    """Return the numbers of the two terms that fit best along all lines together; 0 for none.

    A parameter that occurs with two pairs of exponents shows neither of them alone.
    """
    # On each line g, the columns without their means, their Gram matrix, and the values along them.
    count = mean.size
    base = columns.shape[0]
    apart = np.zeros((base, y.size))
    middle = np.empty(count)
    gram = np.zeros((count, base, base))
    along = np.zeros((count, base))
    for e in range(1, base):
        for g in range(count):
            middle[g] = 0.0
        for a in range(y.size):
            if line[a] >= 0:
                middle[line[a]] += weight[a] * columns[e, a] / total[line[a]]
        for a in range(y.size):
            g = line[a]
            if g < 0:
                continue
            apart[e, a] = columns[e, a] - middle[g]
            heavy = weight[a] * apart[e, a]
            along[g, e] += heavy * (y[a] - mean[g])
            for other in range(1, e + 1):
                gram[g, e, other] += heavy * apart[other, a]
    # What a pair explains, over all lines; on a line where one of them would fall, the other alone.
    most = 0.0
    first, second = 0, 0
    for q in range(2, base):
        for r in range(1, q):
            explained = 0.0
            for g in range(count):
                determinant = gram[g, q, q] * gram[g, r, r] - gram[g, q, r] ** 2
                if determinant <= LEAST_ANGLE * gram[g, q, q] * gram[g, r, r]:
                    continue
                on_q = gram[g, r, r] * along[g, q] - gram[g, q, r] * along[g, r]
                on_r = gram[g, q, q] * along[g, r] - gram[g, q, r] * along[g, q]
                if on_q > 0.0 and on_r > 0.0:
                    explained += (on_q * along[g, q] + on_r * along[g, r]) / determinant
                else:
                    alone_q = max(along[g, q], 0.0) ** 2 / gram[g, q, q]
                    alone_r = max(along[g, r], 0.0) ** 2 / gram[g, r, r]
                    explained += max(alone_q, alone_r)
            if explained > most:
                most = explained
                first, second = q, r
    return first, second
