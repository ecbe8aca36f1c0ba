"""The best hypotheses with other exponents, as long as that helps: compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.several.hypothesis import (
    NO_TERM,
    Best,
    Target,
    digit,
    exchanged,
    offer,
    same,
)

STARTS = 2
"""Hypotheses from which the exchange sets out."""
ROUNDS = 4
"""After so many rounds without an end it stops."""


@part
def exchange(
    axes: NDArray[np.float64],
    table: NDArray[np.float64],
    target: Target,
    best: Best,
) -> None:
    """Offer hypotheses that differ from the best ones in a parameter's exponents.

    Of one term, or of all terms that share them; or by a term of one parameter more or less.
    """
    many, base, points = axes.shape
    room = np.empty((2 * MOST_PRODUCTS + 1, points))
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
            for axis in range(many):
                own = digit(centre[one], axis, base)
                shared = False
                for other in range(MOST_PRODUCTS):
                    if other != one and centre[other] != NO_TERM and own:
                        shared = shared or digit(centre[other], axis, base) == own
                for number in range(base):
                    if number == own:
                        continue
                    for other in range(MOST_PRODUCTS):
                        trial[other] = centre[other]
                    trial[one] = exchanged(centre[one], axis, base, number)
                    offer(trial, axes, table, target, best, room)
                    if shared:  # the same in all terms with these exponents
                        for other in range(MOST_PRODUCTS):
                            trial[other] = centre[other]
                            if centre[other] != NO_TERM and digit(centre[other], axis, base) == own:
                                trial[other] = exchanged(centre[other], axis, base, number)
                        offer(trial, axes, table, target, best, room)
