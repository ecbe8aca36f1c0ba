"""Search spaces: the exponents that a model may have.

The sets are facts of the literature: PAPER is the default that Calotoiu et al. (2013) suggest, I =
{0, 1/2, ..., 5/2}, J = {0, 1, 2}; EXTRAP the 42 pairs of Extra-P 4. Both get the exponents below
0 of strong scaling, of which only the sum with a constant makes sense.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from hindmost.errors import UsageError
from hindmost.models.pmnf.term import ABSENT, Exponents

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
    exponents=(*STRONG, *pairs("0 1/2 1 3/2 2 5/2", "0 1 2")),
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
FINE = SearchSpace(
    name="fine",
    exponents=(
        *((Fraction(i, 6), Fraction(0)) for i in range(-12, 0)),
        *(
            (Fraction(i, 6), Fraction(j, 2))
            for i, j in product(range(19), range(5))
            if (i, j) != (0, 0)
        ),
    ),
)
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
