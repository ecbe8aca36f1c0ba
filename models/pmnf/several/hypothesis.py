"""Hypotheses inside the compiled loops: terms as numbers, the list of the best, one fit.

A term of several parameters is one number, sum_l e_l (E + 1)^l, where e_l is 0 if parameter l does
not occur and otherwise 1 plus the number of its exponents in the search space of E pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part, summing
from hindmost.models.pmnf.criterion import MAX_PRODUCTS

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
