"""Products of chosen terms, alone, in pairs, and the best pairs with a third: compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.search import LEAST_ANGLE
from hindmost.models.pmnf.several.hypothesis import (
    NO_TERM,
    Best,
    Target,
    dot,
    fill_column,
    offer,
)

PAIRS = 12
"""Pairs of terms that are tried with a third."""
DOUBT = 1e-13
"""Share of the spread that a difference of sums of squares may be wrong by."""


@part
def combine(
    axes: NDArray[np.float64],
    chosen: NDArray[np.int64],
    table: NDArray[np.float64],
    target: Target,
    best: Best,
    thorough: bool,
) -> None:
    """Offer all products of the chosen terms, their pairs, and some triples if thorough."""
    ids, centred, along = products(axes, chosen, target)
    many = ids.size
    points = target[2].size
    spread = 0.0
    for a in range(points):
        spread += target[2][a] * target[2][a]
    criterion = best[2]
    last = criterion.size - 1
    room = np.empty((2 * MOST_PRODUCTS + 1, points))
    trial = np.zeros(MOST_PRODUCTS, np.int64)
    # The constant, then one term each.
    offer(trial, axes, table, target, best, room)
    doubt = DOUBT * spread
    cheapest = table[1].min()
    limit = np.inf
    for q in along.argsort()[::-1]:  # the best first: those after them need not be fitted
        rss = spread - along[q] * along[q]
        if along[q] > 0.0 and rss < limit:
            set_terms(trial, ids[q], NO_TERM)
            offer(trial, axes, table, target, best, room)
            limit = np.exp((criterion[last] - cheapest) / points) + doubt
    cheapest = table[2].min()
    if cheapest == np.inf:
        return
    # Pairs: the normal equations of two columns of length 1, whose cosine is `alike`.
    gram = np.zeros((many, many))
    for q in range(many):
        for r in range(q):
            gram[q, r] = gram[r, q] = dot(centred[q], centred[r], points)
    left = np.full((many, many), np.inf)
    for q in range(1, many):
        for r in range(q):
            alike = gram[q, r]
            apart = 1.0 - alike * alike
            if apart < LEAST_ANGLE:
                continue
            on_q = along[q] - alike * along[r]
            on_r = along[r] - alike * along[q]
            if on_q <= 0.0 or on_r <= 0.0:
                continue
            left[q, r] = spread - (on_q * along[q] + on_r * along[r]) / apart
    limit = np.inf
    order = left.ravel().argsort()
    for at in order:
        q, r = at // many, at % many
        if left[q, r] >= limit:
            break
        set_terms(trial, ids[q], ids[r])
        offer(trial, axes, table, target, best, room)
        limit = np.exp((criterion[last] - cheapest) / points) + doubt
    cheapest = table[3].min()
    if not thorough or cheapest == np.inf:
        return
    offer_partitions(axes, chosen, table, target, best, room)
    limit = np.exp((criterion[last] - cheapest) / points) + doubt
    # The best pairs with a third term.
    for at in order[:PAIRS]:
        q, r = at // many, at % many
        for s in range(many if left[q, r] < np.inf else 0):
            if s in (q, r):
                continue
            rss = rest_of_three(gram, along, q, r, s, spread)
            if rss < limit:
                set_terms(trial, ids[q], ids[r])
                trial[2] = ids[s]
                offer(trial, axes, table, target, best, room)
                limit = np.exp((criterion[last] - cheapest) / points) + doubt


@part
def set_terms(terms: NDArray[np.int64], first: int, second: int) -> None:
    """Write the terms of a hypothesis; of MOST_PRODUCTS, the others are absent."""
    terms[:] = NO_TERM
    terms[0], terms[1] = first, second


@part
def offer_partitions(
    axes: NDArray[np.float64],
    chosen: NDArray[np.int64],
    table: NDArray[np.float64],
    target: Target,
    best: Best,
    room: NDArray[np.float64],
) -> None:
    """Offer every sum of products in which each parameter has its best term once or not at all.

    Pairs and their thirds may miss a sum of one term for each of three parameters and more.
    """
    many, base = axes.shape[0], axes.shape[1]
    trial = np.zeros(MOST_PRODUCTS, np.int64)
    for code in range((many + 1) ** many):
        set_terms(trial, NO_TERM, NO_TERM)
        rest = code
        most = 0
        new = True
        for axis in range(many):
            label = rest % (many + 1)
            rest //= many + 1
            new = new and label <= most + 1  # each division once
            most = max(most, label)
            if label:
                trial[label - 1] += chosen[axis, 0] * base**axis
        if new:
            offer(trial, axes, table, target, best, room)


@part
def products(
    axes: NDArray[np.float64], chosen: NDArray[np.int64], target: Target
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return all products: their numbers, columns of mean 0 and length 1, components along them."""
    weight, root, wanted, _, _, _ = target
    many, base = axes.shape[0], axes.shape[1]
    each = chosen.shape[1] + 1
    count = each**many - 1
    ids = np.zeros(count, np.int64)
    centred = np.zeros((count, wanted.size))
    along = np.zeros(count)
    for q in range(count):
        rest = q + 1
        for axis in range(many):
            if rest % each:
                ids[q] += chosen[axis, rest % each - 1] * base**axis
            rest //= each
        fill_column(ids[q], axes, centred[q])
        # Without its mean, times the root of the weights.
        middle = dot(weight, centred[q], wanted.size)
        for a in range(wanted.size):
            centred[q, a] = root[a] * (centred[q, a] - middle)
        length = dot(centred[q], centred[q], wanted.size)
        if length < 1e-28:  # where there is weight, the column does not vary: it says nothing
            for a in range(wanted.size):
                centred[q, a] = 0.0
            continue
        norm = 1.0 / np.sqrt(length)
        for a in range(wanted.size):
            centred[q, a] *= norm
        along[q] = dot(centred[q], wanted, wanted.size)
    return ids, centred, along


@part
def rest_of_three(
    gram: NDArray[np.float64],
    along: NDArray[np.float64],
    q: int,
    r: int,
    s: int,
    spread: float,
) -> float:
    """Return the RSS of three terms from their Gram matrix; infinite unless all add up."""
    a, b, c = gram[q, r], gram[q, s], gram[r, s]
    determinant = 1.0 + 2.0 * a * b * c - a * a - b * b - c * c
    if determinant < LEAST_ANGLE * LEAST_ANGLE:
        return np.inf
    u, v, w = along[q], along[r], along[s]
    on_q = ((1.0 - c * c) * u + (b * c - a) * v + (a * c - b) * w) / determinant
    on_r = ((b * c - a) * u + (1.0 - b * b) * v + (a * b - c) * w) / determinant
    on_s = ((a * c - b) * u + (a * b - c) * v + (1.0 - a * a) * w) / determinant
    if on_q <= 0.0 or on_r <= 0.0 or on_s <= 0.0:
        return np.inf
    return float(spread - on_q * u - on_r * v - on_s * w)
