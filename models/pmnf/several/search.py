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

Hypotheses inside the compiled loops: terms as numbers, the list of the best, one fit.

A term of several parameters is one number, sum_l e_l (E + 1)^l, where e_l is 0 if parameter l does
not occur and otherwise 1 plus the number of its exponents in the search space of E pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part, summing
from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.search import MAX_PRODUCTS

KEPT = 100
"""Hypotheses that are kept of each kernel: the best, the runners-up, and others to average over."""
NO_TERM = 0

Best = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""Terms (hypothesis, 4) ascending, coefficients (hypothesis, 5), criterion (hypothesis,)."""
Target = tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    float,
    float,
    NDArray[np.bool_],
]
"""Weights of sum 1, their roots, weighted values less their mean, that mean, least RSS, and the
numbers of exponents with which there is no constant below 0."""


@part
def aim(y: NDArray[np.float64], weight: NDArray[np.float64], falls: NDArray[np.bool_]) -> Target:
    """Return what all fits to the same values and weights share.

    Parameters
    ----------
    falls : bool array, shape (1 + exponents,)
        With which terms values above 0 have no constant below 0: it remains where they fall to
        nothing.
    """
    root, target = np.empty(y.size), np.empty(y.size)
    whole, mean, spread = 0.0, 0.0, 0.0
    bounded = falls.copy()
    for a in range(y.size):
        whole += weight[a]
        if y[a] <= 0.0:
            bounded[:] = False
    for a in range(y.size):
        weight[a] /= whole
        mean += weight[a] * y[a]
    for a in range(y.size):
        root[a] = np.sqrt(weight[a])
        target[a] = root[a] * (y[a] - mean)
        spread += target[a] * target[a]
    tiny = 1e-20 * (mean * mean + spread)
    return weight, root, target, mean, tiny, bounded


@part
def same(terms: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Return whether two ordered lists of terms are alike."""
    different = 0
    for one in range(MAX_PRODUCTS):
        different += terms[one] != others[one]
    return different == 0


@part
def order(terms: NDArray[np.int64]) -> None:
    """Sort the few terms of a hypothesis in place, by insertion."""
    for begin in range(1, MAX_PRODUCTS):
        value = terms[begin]
        at = begin
        while at > 0 and terms[at - 1] > value:
            terms[at] = terms[at - 1]
            at -= 1
        terms[at] = value


@part
def digit(term: int, axis: int, base: int) -> int:
    """Return the exponents' number of one parameter in a term; 0 where it does not occur."""
    return int((term // base**axis) % base)


@part
def exchanged(term: int, axis: int, base: int, number: int) -> int:
    """Return the term with other exponents of one parameter."""
    return int(term + (number - digit(term, axis, base)) * base**axis)


@part
def fill_column(term: int, axes: NDArray[np.float64], column: NDArray[np.float64]) -> None:
    """Write the term's values at all points."""
    many, base, points = axes.shape
    column[:] = 1.0
    for axis in range(many):
        number = digit(term, axis, base)
        if number:
            for a in range(points):
                column[a] *= axes[axis, number, a]


@part
def price_of(
    terms: NDArray[np.int64], axes: NDArray[np.float64], table: NDArray[np.float64]
) -> float:
    """Return what the terms pay: by how many they are, parameters used, and further exponents."""
    many, base = axes.shape[0], axes.shape[1]
    numbers = np.zeros((MAX_PRODUCTS, many), np.int64)
    count = 0
    for term in terms:
        if term != NO_TERM:
            rest = term
            for axis in range(many):
                numbers[count, axis] = rest % base
                rest //= base
            count += 1
    used = 0
    further = 0
    for axis in range(many):
        distinct = 0
        for one in range(count):
            fresh = numbers[one, axis] != 0
            for other in range(one):
                fresh = fresh and numbers[other, axis] != numbers[one, axis]
            distinct += fresh
        used += distinct > 0
        further += max(distinct - 1, 0)
    return float(table[count, used, further])


@summing
def dot(left: NDArray[np.float64], right: NDArray[np.float64], count: int) -> float:
    """Return the sum of the products of the first numbers."""
    total = 0.0
    for a in range(count):
        total += left[a] * right[a]
    return total


@part
def fit_columns(
    columns: NDArray[np.float64],
    used: int,
    target: Target,
    coefficients: NDArray[np.float64],
    scratch: NDArray[np.float64],
    triangle: NDArray[np.float64],
    constant: bool,
) -> float:
    """Fit columns, with a constant or without, by Gram and Schmidt; return the weighted RSS.

    Parameters
    ----------
    columns : float64 array, shape (at least used, point)
    coefficients : float64 array, shape (at least used + 1,)
        Result, the constant first; it is 0 if there is none.
    scratch : float64 array, shape (at least used + 1, point)
        Left with the orthonormal columns, and behind them the weighted residuals.
    triangle : float64 array, shape (at least used, at least used + 1)
        Left with the weighted means of the columns, or 0 without a constant, and beside them the
        triangle R of Q R.

    Returns
    -------
    float
        Infinite where a column depends on the others.
    """
    weight, root, wanted, mean, _, _ = target
    points = wanted.size
    along = np.zeros(used)
    middle = triangle[:, 0]
    upper = triangle[:, 1:]
    offset = 0.0 if constant else mean
    for q in range(used):
        # The column without its weighted mean, times the root of the weights ...
        middle[q] = dot(weight, columns[q], points) if constant else 0.0
        for a in range(points):
            scratch[q, a] = root[a] * (columns[q, a] - middle[q])
        before = dot(scratch[q], scratch[q], points)
        # ... less its components along the columns before it, at length 1: a column of Q.
        for r in range(q):
            upper[r, q] = dot(scratch[r], scratch[q], points)
            for a in range(points):
                scratch[q, a] -= upper[r, q] * scratch[r, a]
        length = dot(scratch[q], scratch[q], points)
        # A column within the others' span adds nothing.
        if length <= 1e-10 * before or before < 1e-28:
            return np.inf
        upper[q, q] = np.sqrt(length)
        for a in range(points):
            scratch[q, a] /= upper[q, q]
    # What is left of the values beside their components along Q; R gives the coefficients.
    rest = scratch[used]
    for a in range(points):
        rest[a] = wanted[a] + offset * root[a]
    for q in range(used):
        along[q] = dot(scratch[q], rest, points)
        for a in range(points):
            rest[a] -= along[q] * scratch[q, a]
    rss = dot(rest, rest, points)
    coefficients[0] = mean - offset
    for q in range(used - 1, -1, -1):
        value = along[q]
        for r in range(q + 1, used):
            value -= upper[q, r] * coefficients[r + 1]
        coefficients[q + 1] = value / upper[q, q]
        coefficients[0] -= coefficients[q + 1] * middle[q]
    return rss


@part
def has_any(
    terms: NDArray[np.int64], parameters: int, base: int, numbers: NDArray[np.bool_]
) -> bool:
    """Say whether terms have exponents of some numbers, of any parameter."""
    found = False
    for term in terms:
        for axis in range(parameters):
            found = found or numbers[digit(term, axis, base)]
    return bool(found)


@part
def offer(
    terms: NDArray[np.int64],
    axes: NDArray[np.float64],
    table: NDArray[np.float64],
    target: Target,
    best: Best,
    room: NDArray[np.float64],
) -> float:
    """Fit a hypothesis and put it in its place in the list of the best, if it has one.

    Parameters
    ----------
    terms : int64 array, shape (4,)
        0 for no term; ordered in place.
    room : float64 array, shape (9, point)
        Scratch.

    Returns
    -------
    float
        Its criterion; infinite where a coefficient would not be above 0, or a term not be seen.
    """
    order(terms)
    kept, factors, criterion = best
    price = price_of(terms, axes, table)
    if price == np.inf:
        return np.inf
    used = 0
    # The columns of its terms, each once, and their least squares.
    for one in range(MAX_PRODUCTS):
        if terms[one] != NO_TERM:
            if one and terms[one] == terms[one - 1]:
                return np.inf
            fill_column(terms[one], axes, room[used])
            used += 1
    found = np.zeros(MAX_PRODUCTS + 1)
    triangle = np.empty((MAX_PRODUCTS, MAX_PRODUCTS + 1))
    rss = fit_columns(room, used, target, found, room[MAX_PRODUCTS:], triangle, True)
    if found[0] < 0.0 and rss < np.inf and has_any(terms, axes.shape[0], axes.shape[1], target[5]):
        rss = fit_columns(room, used, target, found, room[MAX_PRODUCTS:], triangle, False)
    if rss == np.inf:
        return np.inf
    for one in range(used):
        if found[one + 1] <= 0.0 or (found[one + 1] * triangle[one, one + 1]) ** 2 < target[4]:
            return np.inf
    value = float(target[2].size * np.log(rss + target[4]) + price)
    last = criterion.size - 1
    if value >= criterion[last]:
        return value
    # Once only; worse ones move down by one place.
    for at in range(criterion.size):
        if criterion[at] < np.inf and same(kept[at], terms):
            return value
    at = last
    while at > 0 and value < criterion[at - 1]:
        criterion[at] = criterion[at - 1]
        factors[at, 0] = factors[at - 1, 0]
        for one in range(MAX_PRODUCTS):
            kept[at, one] = kept[at - 1, one]
            factors[at, one + 1] = factors[at - 1, one + 1]
        at -= 1
    criterion[at] = value
    factors[at, 0] = found[0]
    for one in range(MAX_PRODUCTS):
        kept[at, one] = terms[one]
        factors[at, one + 1] = 0.0
    for one in range(used):  # in the places of their terms, of which the absent ones come first
        factors[at, MAX_PRODUCTS - used + one + 1] = found[one + 1]
    return value


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
