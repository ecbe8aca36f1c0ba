"""A search space as the compiled loops take it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.space import SearchSpace
from hindmost.models.pmnf.term import columns

TYPICAL = tuple(
    (Fraction(power), Fraction(of_logarithm))
    for power, of_logarithm in (
        ("1", "0"),
        ("0", "1"),
        ("2", "0"),
        ("-1", "0"),
        ("1/2", "0"),
        ("1", "1"),
    )
)
"""Exponents from which the search sets out for a parameter that has no lines."""


def tabulate(space: SearchSpace, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every term of each parameter at the points, after a row of ones.

    Parameters
    ----------
    space : SearchSpace
    points : float64 array, shape (point, parameter)

    Returns
    -------
    float64 array, shape (parameter, 1 + exponents, point)
    """
    ones = np.ones((1, points.shape[0]))
    each = [np.concatenate([ones, columns(space.exponents, axis)]) for axis in points.T]
    return np.array(each)


def starts(space: SearchSpace) -> NDArray[np.int64]:
    """Return the numbers of all terms of a space, as rows of `tabulate`, the typical ones first."""
    first = [space.exponents.index(pair) for pair in TYPICAL if pair in space.exponents]
    others = [at for at in range(len(space.exponents)) if at not in first]
    return np.array(first + others, np.int64) + 1
