"""Search over sums of products, for many kernels at once: the compiled loop.

On a line along which all other parameters stand still, a sum of products is a constant plus terms
of one parameter alone. So the lines of a parameter are fitted with a constant and a slope each, and
share the term; a line has few points, so that several terms of a parameter stay in the race. Their
products, of at most one term a parameter, are held against each other: alone, in pairs, and the
best pairs with a third. Then each exponent of the best ones is exchanged for every other one of the
search space, as long as that helps. Weights are found as for one parameter: from the values first,
then from the best model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part, summing
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.search import LEAST_ANGLE
from hindmost.models.pmnf.several.combine import combine
from hindmost.models.pmnf.several.exchange import exchange
from hindmost.models.pmnf.several.hypothesis import KEPT, NO_TERM, Best, aim, fill_column

CHOSEN = {2: (6, 3), 3: (4, 2), 4: (3, 1)}
"""Terms a parameter that stay in the race, by how many parameters there are, and where only the
weights are looked for."""


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    *,
    gamma: float,
    penalties: NDArray[np.float64],
    falls: NDArray[np.bool_],
) -> Hypotheses:
    """Find the best hypotheses of a constant and up to four products.

    Parameters
    ----------
    values, shares : float64 array, shape (kernel, point)
        As in the search over one parameter.
    axes : float64 array, shape (parameter, 1 + exponents, point)
        Of each parameter all terms at the points, after a row of ones.
    line : int32 array, shape (parameter, point)
        From `fit.lines`.
    start : int64 array, shape (exponents,)
        Numbers of terms, the typical ones first, for parameters without lines.
    gamma : float
    penalties : float64 array
        From `criterion.joint_penalties`.
    falls : bool array, shape (1 + exponents,)
        Which terms fall; with them, functions of values above 0 have no constant below it.
    """
    kernels, points = values.shape
    many, base = axes.shape[:2]
    scale = np.abs(axes).max(axis=2)
    scale[scale == 0.0] = 1.0
    kept, few = CHOSEN[many]
    terms = np.empty((kernels, KEPT, MOST_PRODUCTS), np.int64)
    coefficients = np.empty((kernels, KEPT, MOST_PRODUCTS + 1))
    criterion = np.empty((kernels, KEPT))
    weights = np.empty((kernels, points))
    search_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(shares, requirements=["C", "W"]),
        np.ascontiguousarray(axes / scale[..., None]),
        np.ascontiguousarray((axes / scale[..., None]).transpose(0, 2, 1)),
        line,
        start[:kept],
        few,
        gamma,
        penalties,
        falls,
        terms,
        coefficients,
        criterion,
        weights,
    )
    numbers = digits(terms, base, many)
    for axis in range(many):
        coefficients[..., 1:] /= scale[axis][numbers[..., axis]]
    return Hypotheses(
        terms=numbers.astype(np.int16),
        coefficients=coefficients,
        criterion=criterion,
        weights=weights,
    )


def digits(terms: NDArray[np.int64], base: int, parameters: int) -> NDArray[np.int64]:
    """Return the exponents' numbers of coded terms, shape (..., parameter)."""
    return np.asarray(terms[..., None] // base ** np.arange(parameters) % base)


@declared(
    "(f8[:,::1], f8[:,::1], f8[:,:,::1], f8[:,:,::1], i4[:,::1], i8[::1], i8, f8, f8[:,:,::1], "
    "b1[::1], i8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1])",
    division="numpy",
)
def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    few: int,
    gamma: float,
    table: NDArray[np.float64],
    falls: NDArray[np.bool_],
    terms: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel; `turned` are the axes, points first."""
    many, _, points = axes.shape
    chosen = np.empty((many, start.size), np.int64)
    rough = np.empty((many, few), np.int64)
    column = np.empty(points)
    fitted = np.empty(points)
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        best = (terms[k], coefficients[k], criterion[k])
        # Weights from the values: 1 / |y|^(2 gamma).
        for a in range(points):
            weight[a] = shares[k, a] * np.abs(y[a]) ** (-2.0 * gamma)
        if gamma != 0.0:
            only = (terms[k, :1], coefficients[k, :1], criterion[k, :1])
            begin(y, weight, axes, turned, line, start, rough, table, falls, only, False)
            # Weights from the best function f: 1 / f^(2 gamma).
            least = np.inf
            for a in range(points):
                fitted[a] = coefficients[k, 0, 0]
                least = min(least, np.abs(y[a]))
            for one in range(MOST_PRODUCTS):
                if terms[k, 0, one] != NO_TERM:
                    fill_column(terms[k, 0, one], axes, column)
                    for a in range(points):
                        fitted[a] += coefficients[k, 0, one + 1] * column[a]
            for a in range(points):
                weight[a] = shares[k, a] * max(fitted[a], 0.5 * least) ** (-2.0 * gamma)
        begin(y, weight, axes, turned, line, start, chosen, table, falls, best, True)
        whole = 0.0
        for a in range(points):
            whole += weight[a]
        for a in range(points):
            weight[a] /= whole


@part
def begin(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
    table: NDArray[np.float64],
    falls: NDArray[np.bool_],
    best: Best,
    thorough: bool,
) -> None:
    """Search with given weights, from an empty list of the best."""
    terms, coefficients, criterion = best
    for h in range(criterion.size):
        criterion[h] = np.inf
        coefficients[h, 0] = 0.0
        for one in range(MOST_PRODUCTS):
            terms[h, one] = NO_TERM
            coefficients[h, one + 1] = 0.0
    target = aim(y, weight, falls)
    # Terms of each parameter along its lines, then their products and sums, then other exponents.
    for axis in range(axes.shape[0]):
        choose(y, target[0], turned[axis], line[axis], start, chosen[axis], thorough)
    combine(axes, chosen, table, target, best, thorough)
    if thorough:
        exchange(axes, table, target, best)


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
