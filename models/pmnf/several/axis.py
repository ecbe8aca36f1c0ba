"""Terms of one parameter that fit along the lines on which all others stand still.

On such a line a sum of products is a constant plus terms of that parameter alone, whatever the
others do; so the lines of a parameter are fitted with a constant and a slope each, and share the
term. Several terms a parameter stay in the race: a line has few points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import summing
from hindmost.models.pmnf.search import LEAST_ANGLE


@summing
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
    columns : float64 array, shape (point, 1 + term)
        The first is 1.
    line : int32 array, shape (point,)
    start : int64 array, shape (at least kept,)
        What to choose where the parameter has no lines.
    chosen : int64 array, shape (kept,)
        Result.
    pairs : bool
        Whether the two terms that fit best together are among them in any case.
    """
    base = columns.shape[1]
    count = 0
    for a in range(line.size):
        count = max(count, line[a] + 1)
    if count == 0:
        for at in range(chosen.size):
            chosen[at] = start[at]
        return
    # On each line g, the sum of the weights and the means of the values and of all columns.
    total, mean = np.zeros(count), np.zeros(count)
    middle = np.zeros((count, base))
    for a in range(y.size):
        if line[a] >= 0:
            total[line[a]] += weight[a]
    for a in range(y.size):
        g = line[a]
        if g >= 0:
            share = weight[a] / total[g]
            mean[g] += share * y[a]
            for e in range(1, base):
                middle[g, e] += share * columns[a, e]
    # The columns without their means, their squared lengths, and the values along them.
    apart = np.zeros((y.size, base))
    length, along, slope = np.zeros((count, base)), np.zeros((count, base)), np.zeros((count, base))
    for a in range(y.size):
        g = line[a]
        if g >= 0:
            heavy = weight[a] * (y[a] - mean[g])
            for e in range(1, base):
                apart[a, e] = columns[a, e] - middle[g, e]
                length[g, e] += weight[a] * apart[a, e] * apart[a, e]
                along[g, e] += heavy * apart[a, e]
    # The residuals of a constant and a slope of its own on each line; slopes are not negative.
    for g in range(count):
        for e in range(1, base):
            if along[g, e] > 0.0:
                slope[g, e] = along[g, e] / length[g, e]
    rss = np.zeros(base)
    for a in range(y.size):
        g = line[a]
        if g >= 0:
            value = y[a] - mean[g]
            for e in range(1, base):
                off = value - slope[g, e] * apart[a, e]
                rss[e] += weight[a] * off * off
    # The list, best first.
    rest = np.full(chosen.size, np.inf)
    for e in range(1, base):
        at = chosen.size - 1
        if rss[e] >= rest[at]:
            continue
        while at > 0 and rss[e] < rest[at - 1]:
            rest[at] = rest[at - 1]
            chosen[at] = chosen[at - 1]
            at -= 1
        rest[at] = rss[e]
        chosen[at] = e
    if pairs and chosen.size >= 3:
        first, second = best_pair(weight, apart, line, length, along)
        for e in (first, second):
            there = e == 0
            for at in range(chosen.size):
                there = there or chosen[at] == e
            if not there:
                chosen[-1 if e == first else -2] = e


@summing
def best_pair(
    weight: NDArray[np.float64],
    apart: NDArray[np.float64],
    line: NDArray[np.int32],
    length: NDArray[np.float64],
    along: NDArray[np.float64],
) -> tuple[int, int]:
    """Return the numbers of the two terms that fit best along all lines together; 0 for none.

    A parameter that occurs with two pairs of exponents shows neither of them alone.

    Parameters
    ----------
    apart : float64 array, shape (point, 1 + term)
        The columns without their means on the point's line.
    length, along : float64 array, shape (line, 1 + term)
        Their squared lengths there, and the values along them.
    """
    count, base = length.shape
    gram = np.zeros((count, base, base))
    for a in range(line.size):
        g = line[a]
        if g >= 0:
            for q in range(2, base):
                heavy = weight[a] * apart[a, q]
                for r in range(1, q):
                    gram[g, q, r] += heavy * apart[a, r]
    # What a pair explains, over all lines; on a line where one of them would fall, the other alone.
    explained = np.zeros((base, base))
    for g in range(count):
        for q in range(2, base):
            of_q, size_q = along[g, q], length[g, q]
            alone_q = of_q * of_q / size_q if of_q > 0.0 else 0.0
            for r in range(1, q):
                shared, of_r, size_r = gram[g, q, r], along[g, r], length[g, r]
                determinant = size_q * size_r - shared * shared
                on_q = size_r * of_q - shared * of_r
                on_r = size_q * of_r - shared * of_q
                alone_r = of_r * of_r / size_r if of_r > 0.0 else 0.0
                alone = alone_q if alone_q > alone_r else alone_r
                both = (on_q * of_q + on_r * of_r) / determinant
                here = both if on_q > 0.0 and on_r > 0.0 else alone
                explained[q, r] += here if determinant > LEAST_ANGLE * size_q * size_r else 0.0
    most = 0.0
    first, second = 0, 0
    for q in range(2, base):
        for r in range(1, q):
            if explained[q, r] > most:
                most = explained[q, r]
                first, second = q, r
    return first, second
