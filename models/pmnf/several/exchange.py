"""The best hypotheses with other exponents, as long as that helps: compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.several.combine import DOUBT
from hindmost.models.pmnf.several.hypothesis import (
    NO_TERM,
    Best,
    Target,
    could_enter,
    digit,
    dot,
    exchanged,
    fill_column,
    fit_columns,
    multiply,
    offer,
    same,
)

STARTS = 2
"""Hypotheses from which the exchange sets out."""
ROUNDS = 4
"""After so many rounds without an end it stops."""
INDEPENDENT = 1e-6
"""Share of a column's squared length outside the others' span that rounding leaves exact enough."""


@part
def exchange(
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    table: NDArray[np.float64],
    target: Target,
    best: Best,
) -> None:
    """Offer hypotheses that differ from the best ones in a parameter's exponents.

    Of one term, or of all terms that share them; or by a term of one parameter more or less.
    """
    many, base, points = axes.shape
    room = np.empty((2 * MOST_PRODUCTS + 1, points))
    least = np.empty((many, base))
    trial = np.zeros(MOST_PRODUCTS, np.int64)
    centre = np.zeros(MOST_PRODUCTS, np.int64)
    seen = np.zeros((STARTS * ROUNDS, MOST_PRODUCTS), np.int64)
    done = 0
    while done < STARTS * ROUNDS:
        at = -1  # the best one from which no exchange set out yet
        for h in range(STARTS):
            fresh = best[2][h] < np.inf
            for one in range(done):
                fresh = fresh and not same(seen[one], best[0][h])
            if fresh:
                at = h
                break
        if at < 0:
            break
        for one in range(MOST_PRODUCTS):
            centre[one] = best[0][at, one]
            seen[done, one] = centre[one]
        done += 1
        for one in range(MOST_PRODUCTS):
            if one < MOST_PRODUCTS - 1 and centre[one + 1] == NO_TERM:
                continue  # absent terms come first: one of them is enough
            count = 1
            for other in range(MOST_PRODUCTS):
                count += other != one and centre[other] != NO_TERM
            cheapest = table[count].min()
            if cheapest < np.inf:
                least_residuals(centre, one, axes, turned, target, room, least)
            for axis in range(many):
                own = digit(centre[one], axis, base)
                shared = False
                for other in range(MOST_PRODUCTS):
                    if other != one and centre[other] != NO_TERM and own:
                        shared = shared or digit(centre[other], axis, base) == own
                for number in range(base):
                    if number == own:
                        continue
                    rss = least[axis, number] if number and cheapest < np.inf else 0.0
                    if could_enter(rss, cheapest if number else 0.0, target, best):
                        for other in range(MOST_PRODUCTS):
                            trial[other] = centre[other]
                        trial[one] = exchanged(centre[one], axis, base, number)
                        offer(trial, axes, table, target, best, room, rss)
                    if shared:  # the same in all terms with these exponents
                        for other in range(MOST_PRODUCTS):
                            trial[other] = centre[other]
                            if centre[other] != NO_TERM and digit(centre[other], axis, base) == own:
                                trial[other] = exchanged(centre[other], axis, base, number)
                        offer(trial, axes, table, target, best, room, 0.0)


@part
def least_residuals(
    centre: NDArray[np.int64],
    one: int,
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    target: Target,
    room: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Write what the RSS is at least, for all exponents of each parameter in one of the terms.

    The other terms are fitted once. What a column c explains beside them is (r c)^2 / |c|^2, with
    their residuals r and the part of c that is orthogonal to them.

    Parameters
    ----------
    turned : float64 array, shape (parameter, point, 1 + exponents)
        The parameters' terms at the points.
    least : float64 array, shape (parameter, 1 + exponents)
        Result; 0 where rounding leaves it unknown.
    """
    many, points, base = turned.shape
    _, root, wanted, _, _, _ = target
    columns, basis = room[:MOST_PRODUCTS], room[MOST_PRODUCTS:]
    used = 0
    for other in range(MOST_PRODUCTS):
        if other != one and centre[other] != NO_TERM:
            fill_column(centre[other], axes, columns[used])
            used += 1
    triangle = np.empty((MOST_PRODUCTS, MOST_PRODUCTS + 1))
    found = np.zeros(MOST_PRODUCTS + 1)
    rss = fit_columns(columns, used, target, found, basis, triangle, True)
    least[:] = 0.0
    if rss == np.inf:
        return
    rest, without = basis[used], columns[0]
    doubt = DOUBT * dot(wanted, wanted, points)
    # c is the term without the parameter, times the parameter's own terms: all of them at once.
    rows = np.empty((used + 2, points))
    squares, here = np.empty((1, points)), np.empty((points, base))
    along_rows, lengths = np.empty((used + 2, base)), np.empty((1, base))
    for axis in range(many):
        fill_column(exchanged(centre[one], axis, base, 0), axes, without)
        for a in range(points):
            factor = root[a] * without[a]
            rows[used, a] = factor * root[a]
            rows[used + 1, a] = factor * rest[a]
            squares[0, a] = factor * factor
            for q in range(used):
                rows[q, a] = factor * basis[q, a]
            for number in range(base):
                here[a, number] = turned[axis, a, number] * turned[axis, a, number]
        multiply(rows, turned[axis], along_rows, False)
        multiply(squares, here, lengths, False)
        for number in range(base):
            length = lengths[0, number]
            for q in range(used + 1):
                length -= along_rows[q, number] * along_rows[q, number]
            if length > INDEPENDENT * lengths[0, number]:
                gain = along_rows[used + 1, number] * along_rows[used + 1, number] / length
                least[axis, number] = rss - gain * (1.0 + INDEPENDENT) - doubt
