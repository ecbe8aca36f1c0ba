"""Search spaces: the exponents that a model may have.

The sets are facts of the literature: PAPER is the default that Calotoiu et al. (2013) suggest, I =
{0/2, 1/2, ..., 6/2}, J = {0, 1, 2}; EXTRAP the 42 pairs of Extra-P 4. Both get the exponents below
0 of strong scaling, of which only the sum with a constant makes sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError

Exponents = tuple[Fraction, Fraction]
"""Of a parameter and of its binary logarithm: (i, j) of p^i log2^j(p)."""

ABSENT: Exponents = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A product of powers and powers of logarithms.

    Attributes
    ----------
    exponents : tuple of (Fraction, Fraction), one a parameter
        (i, j) of p^i log2^j(p); (0, 0) where the parameter does not occur.
    """

    exponents: tuple[Exponents, ...]

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the term's values.

        Parameters
        ----------
        points : float64 array, shape (..., parameter)
            Above 0.

        Returns
        -------
        float64 array, shape (...)
        """
        value = np.ones(points.shape[:-1])
        for axis, exponents in enumerate(self.exponents):
            value = value * columns([exponents], points[..., axis])[0]
        return value


def columns(exponents: Sequence[Exponents], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of one-parameter terms.

    Parameters
    ----------
    exponents : sequence of (i, j)
    points : float64 array, shape (...), above 0

    Returns
    -------
    float64 array, shape (term, ...)
        p^i log2^j(p); of a logarithm below 0 (p < 1) to a power that is no integer, 0.
    """
    shape = (-1,) + (1,) * points.ndim
    powers = np.array([float(power) for power, _ in exponents]).reshape(shape)
    of_logarithms = np.array([float(of_logarithm) for _, of_logarithm in exponents]).reshape(shape)
    logarithm = np.log2(points)[None]
    # One call for all terms: intervals ask for thousands.
    whole = of_logarithms == np.rint(of_logarithms)
    base = np.where(whole, logarithm, np.maximum(logarithm, 0.0))
    return np.asarray(points**powers * base**of_logarithms)


STRONG = tuple((Fraction(i), Fraction(0)) for i in ("-1/3", "-1/2", "-2/3", "-1", "-3/2", "-2"))
"""What a cost does that ranks share: volumes by p, surfaces by p^2/3, both with their squares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """The terms from which models are built.

    Attributes
    ----------
    name : str
    exponents : tuple of (Fraction, Fraction)
        Of all terms but the constant, each once.
    """

    name: str
    exponents: tuple[Exponents, ...]


def pairs(powers: str, logarithms: str) -> list[Exponents]:
    """Return all pairs of two lists of numbers, but for the constant."""
    every = product(map(Fraction, powers.split()), map(Fraction, logarithms.split()))
    return [pair for pair in every if pair != ABSENT]


PAPER = SearchSpace(
    name="paper",
    exponents=(*STRONG, *pairs("0 1/2 1 3/2 2 5/2 3", "0 1 2")),
)
EXTRAP = SearchSpace(
    name="extrap",
    exponents=(
        *STRONG,
        *pairs("0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2", "0 1 2"),
        *pairs("5/4 4/3 3", "0 1"),
        *pairs("4/5 5/3 7/4 9/4 7/3 8/3 11/4", "0"),
    ),
)


@cache
def lattice(of_powers: int, of_logarithms: int) -> tuple[Exponents, ...]:
    """Return evenly spaced exponents: powers from -2 to 3, logarithms from 0 to 2.

    Parameters
    ----------
    of_powers, of_logarithms : int
        Steps from one whole number to the next.
    """
    falling = [(Fraction(i, of_powers), Fraction(0)) for i in range(-2 * of_powers, 0)]
    powers = [Fraction(i, of_powers) for i in range(3 * of_powers + 1)]
    logarithms = [Fraction(j, of_logarithms) for j in range(2 * of_logarithms + 1)]
    return (*falling, *(pair for pair in product(powers, logarithms) if pair != ABSENT))


FINE = SearchSpace(name="fine", exponents=lattice(6, 2))
"""Steps of 1/6 and 1/2: near every smooth growth, so that what it cannot fit has segments."""

SEARCH_SPACES = {space.name: space for space in (PAPER, EXTRAP, FINE)}


def search_space(name: str) -> SearchSpace:
    """Return a search space by its name.

    Raises
    ------
    UsageError
        An unknown name.
    """
    if name not in SEARCH_SPACES:
        raise UsageError(f"No search space {name!r}; there are {', '.join(SEARCH_SPACES)}.")
    return SEARCH_SPACES[name]


def searched_columns(space: SearchSpace, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the terms that are searched at points of one parameter, 0 for the others.

    Where a point is below 1 those are the terms without a logarithm: powers of one that changes
    its sign fall and grow again.

    Parameters
    ----------
    points : float64 array, shape (point,)

    Returns
    -------
    float64 array, shape (exponents, point)
    """
    found = columns(space.exponents, points)
    if points.min() < 1.0:
        found[[log > 0 for _, log in space.exponents]] = 0.0
    return found


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
