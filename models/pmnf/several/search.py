"""Search over sums of products, for many kernels at once: the compiled loop.

On a line along which all other parameters stand still, a sum of products is a constant plus terms
of one parameter alone. So the term of each parameter that fits its lines best is found first, each
line with a constant and a slope of its own. The search sets out from all sums of products of these,
and of plain proportion, as lines may be all noise where only products grow.
Then it changes the best hypothesis in one parameter's exponents: of one term, of all terms that
share them, or of a term more that is like one of the others, or like none; a term without
exponents is gone. It goes on as long as one of the few best hypotheses is new. Weights are found as
for one parameter: from the values first, then from the best model. Both searches are the same: by
weights of a function that does not fit, a few points would outweigh all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part, summing
from hindmost.models.pmnf.criterion import MAX_PRODUCTS
from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.several.hypothesis import (
    KEPT,
    NO_TERM,
    Best,
    Target,
    aim,
    digit,
    exchanged,
    fill_column,
    offer,
    same,
)

STARTS = 8
"""Of the best hypotheses, those from which the search goes on."""
MAX_STEPS = 20
"""After so many steps it ends."""


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    typical: int,
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
    typical : int
        Number of the term from which the search sets out for a parameter that has no lines.
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
    terms = np.empty((kernels, KEPT, MAX_PRODUCTS), np.int64)
    coefficients = np.empty((kernels, KEPT, MAX_PRODUCTS + 1))
    criterion = np.empty((kernels, KEPT))
    weights = np.empty((kernels, points))
    search_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(shares, requirements=["C", "W"]),
        np.ascontiguousarray(axes / scale[..., None]),
        line,
        typical,
        gamma,
        penalties,
        falls,
        terms,
        coefficients,
        criterion,
        weights,
    )
    numbers = terms[..., None] // base ** np.arange(many) % base
    for axis in range(many):
        coefficients[..., 1:] /= scale[axis][numbers[..., axis]]
    return Hypotheses(
        terms=numbers.astype(np.int16),
        coefficients=coefficients,
        criterion=criterion,
        weights=weights,
    )


@declared(
    "(f8[:,::1], f8[:,::1], f8[:,:,::1], i4[:,::1], i8, f8, f8[:,:,::1], b1[::1], i8[:,:,::1], "
    "f8[:,:,::1], f8[:,::1], f8[:,::1])",
    division="numpy",
)
def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    typical: int,
    gamma: float,
    table: NDArray[np.float64],
    falls: NDArray[np.bool_],
    terms: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel."""
    points = axes.shape[2]
    column = np.empty(points)
    fitted = np.empty(points)
    chosen = np.full((2, axes.shape[0]), typical)
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        # Weights from the values: 1 / |y|^(2 gamma).
        for a in range(points):
            weight[a] = shares[k, a] * np.abs(y[a]) ** (-2.0 * gamma)
        for axis in range(axes.shape[0]):
            chosen[0, axis] = choose(y, weight, axes[axis], line[axis], typical)
        best = (terms[k], coefficients[k], criterion[k])
        descend(axes, table, aim(y, weight, falls), chosen, best)
        if gamma != 0.0:
            # Weights from the best function f: 1 / f^(2 gamma).
            least = np.inf
            for a in range(points):
                fitted[a] = coefficients[k, 0, 0]
                least = min(least, np.abs(y[a]))
            for one in range(MAX_PRODUCTS):
                if terms[k, 0, one] != NO_TERM:
                    fill_column(terms[k, 0, one], axes, column)
                    for a in range(points):
                        fitted[a] += coefficients[k, 0, one + 1] * column[a]
            for a in range(points):
                weight[a] = shares[k, a] * max(fitted[a], 0.5 * least) ** (-2.0 * gamma)
            descend(axes, table, aim(y, weight, falls), chosen, best)


@part
def descend(
    axes: NDArray[np.float64],
    table: NDArray[np.float64],
    target: Target,
    chosen: NDArray[np.int64],
    best: Best,
) -> None:
    """Search with given weights, from an empty list of the best."""
    many, base, points = axes.shape
    best[0][:] = NO_TERM
    best[1][:] = 0.0
    best[2][:] = np.inf
    room = np.empty((2 * MAX_PRODUCTS + 1, points))
    trial = np.zeros(MAX_PRODUCTS, np.int64)
    centre = np.zeros(MAX_PRODUCTS, np.int64)
    seen = np.zeros((MAX_STEPS, MAX_PRODUCTS), np.int64)
    # Every sum of products in which each parameter has its first term once or not at all.
    for code in range(2 * (many + 1) ** many):
        trial[:] = NO_TERM
        rest = code // 2
        most = 0
        new = True
        for axis in range(many):
            label = rest % (many + 1)
            rest //= many + 1
            new = new and label <= most + 1  # each division once
            most = max(most, label)
            if label:
                trial[label - 1] += chosen[code % 2, axis] * base**axis
        if new:
            offer(trial, axes, table, target, best, room)
    for step in range(MAX_STEPS):
        at = -1  # the best one from which the search did not go on yet
        for h in range(min(STARTS, best[2].size)):
            fresh = best[2][h] < np.inf
            for one in range(step):
                fresh = fresh and not same(seen[one], best[0][h])
            if fresh:
                at = h
                break
        if at < 0:
            break
        centre[:] = best[0][at]
        seen[step] = centre
        for one in range(MAX_PRODUCTS):
            if one < MAX_PRODUCTS - 1 and centre[one + 1] == NO_TERM:
                continue  # absent terms come first: one of them is enough
            for axis in range(many):
                own = digit(centre[one], axis, base)
                shared = False
                for other in range(MAX_PRODUCTS):
                    if other != one and centre[other] != NO_TERM and own:
                        shared = shared or digit(centre[other], axis, base) == own
                for number in range(base):
                    if number == own:
                        continue
                    changed = exchanged(centre[one], axis, base, number)
                    trial[:] = centre
                    trial[one] = changed
                    offer(trial, axes, table, target, best, room)
                    if one and centre[0] == NO_TERM:  # beside the term, not in its place
                        trial[:] = centre
                        trial[0] = changed
                        offer(trial, axes, table, target, best, room)
                    if shared:  # in all terms with these exponents
                        trial[:] = centre
                        for other in range(MAX_PRODUCTS):
                            if centre[other] != NO_TERM and digit(centre[other], axis, base) == own:
                                trial[other] = exchanged(centre[other], axis, base, number)
                        offer(trial, axes, table, target, best, room)


@summing
def choose(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    line: NDArray[np.int32],
    typical: int,
) -> int:
    """Return the number of the term with the least residuals over all lines of a parameter.

    Parameters
    ----------
    columns : float64 array, shape (1 + term, point)
        The first is 1.
    line : int32 array, shape (point,)
    typical : int
        The term of a parameter without lines.
    """
    base = columns.shape[0]
    count = 0
    for a in range(line.size):
        count = max(count, line[a] + 1)
    if count == 0:
        return typical
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
                middle[g, e] += share * columns[e, a]
    # The columns without their means, their squared lengths, and the values along them.
    apart = np.zeros((y.size, base))
    length, along, slope = np.zeros((count, base)), np.zeros((count, base)), np.zeros((count, base))
    for a in range(y.size):
        g = line[a]
        if g >= 0:
            heavy = weight[a] * (y[a] - mean[g])
            for e in range(1, base):
                apart[a, e] = columns[e, a] - middle[g, e]
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
    return int(rss[1:].argmin()) + 1
