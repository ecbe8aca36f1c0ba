"""How p-values are written, and what the order of repeats is worth, in one place."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST = 1e-15
"""Below it only rounding tells one p-value from another, and none is zero."""


def p_words(p_value: float, digits: int = 2) -> str:
    """Write a p-value as ``p = 0.0021``, or ``p < 1e-15``.

    Parameters
    ----------
    p_value : float
    digits : int
        Significant ones.
    """
    number = p_number(p_value, digits)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def p_number(p_value: float, digits: int = 2) -> str:
    """Write a p-value where a heading says what it is: ``0.0021``, or ``< 1e-15``."""
    return f"< {LEAST:g}" if p_value < LEAST else f"{p_value:.{digits}g}"


DECIDES = 0.1
"""Largest chance of an order of repeats with which it is told as a fact."""


def order_chance(first: int, second: int) -> float:
    """Return the chance that all of some values lie on one side of all others, whichever side.

    That is if both come from one distribution: two orders of all that are equally likely. Two
    repeats of each do so in 1 of 3.

    Parameters
    ----------
    first, second : int
        Numbers of values.

    Examples
    --------
    >>> round(1.0 / order_chance(2, 2), 3), round(1.0 / order_chance(3, 3), 3)
    (3.0, 10.0)
    """
    return 2.0 / math.comb(first + second, first)


def repeats_words(first: Sequence[float], second: Sequence[float]) -> str:
    """Say why repeats do not decide in which order they are; empty if they do."""
    if min(len(first), len(second)) < 2:
        return "there are no repeats"
    side, chance = separated(first, second)
    if not side:
        return "the repeats overlap"
    if chance <= DECIDES:
        return ""
    return (
        f"{len(first)} and {len(second)} are in an order by chance in 1 of {1.0 / chance:.0f}; "
        "repeat each three times"
    )


def separated(first: Sequence[float], second: Sequence[float]) -> tuple[int, float]:
    """Return on which side of some values all others lie, and the chance of that.

    Returns
    -------
    int
        -1 if all of the second are smaller, 1 if all are larger, 0 if the two overlap.
    float
        See `order_chance`; 1 if they overlap.
    """
    side = int(min(second) > max(first)) - int(max(second) < min(first))
    return side, order_chance(len(first), len(second)) if side else 1.0
