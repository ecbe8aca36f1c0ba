"""Synthetic experiments over several parameters: functions with known terms, and designs.

Coefficients are log-uniform from 1e-3 to 1e3, exponents those of growing terms of the paper's set;
`measured` of `hindmost.models.pmnf.segments.one_behaviour` adds the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.pmnf.segments.one_behaviour import coefficients, growing
from hindmost.models.pmnf.space import ABSENT, PAPER, Exponents, columns

AXES = (
    (4.0, 8.0, 16.0, 32.0, 64.0),
    (10.0, 20.0, 30.0, 40.0, 50.0),
    (2.0, 4.0, 6.0, 8.0, 10.0),
    (3.0, 6.0, 12.0, 24.0, 48.0),
)
"""Values of the first to fourth parameter: ranks, a size, and two more, 5 each."""
FAMILIES = ("additive", "multiplicative", "mixed", "irrelevant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Random functions of several parameters.

    Attributes
    ----------
    constants : float64 array, shape (function,)
    factors : float64 array, shape (function, term)
        0 where a function has no such term.
    terms : int64 array, shape (function, term, parameter)
        Numbers of exponents in the paper's set; -1 where a parameter does not occur.
    """

    constants: NDArray[np.float64]
    factors: NDArray[np.float64]
    terms: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.constants.size)

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the true values.

        Parameters
        ----------
        points : float64 array, shape (point, parameter)

        Returns
        -------
        float64 array, shape (function, point)
        """
        values = np.repeat(self.constants[:, None], points.shape[0], axis=1)
        axes = [
            np.concatenate([columns(PAPER.exponents, axis), np.ones((1, axis.size))])
            for axis in points.T
        ]
        for one in range(self.factors.shape[1]):
            grown = self.factors[:, one, None]
            for number, axis in zip(self.terms[:, one].T, axes, strict=True):
                grown = grown * axis[number]
            values += grown
        return np.asarray(values)

    def leading(self, function: int) -> tuple[Exponents, ...]:
        """Return each parameter's fastest growth; (0, 0) where it does not occur."""
        pairs = (*PAPER.exponents, ABSENT)
        there = self.factors[function] > 0.0
        return tuple(max(pairs[n] for n in axis) for axis in self.terms[function][there].T)


def grid(*axes: tuple[float, ...]) -> NDArray[np.float64]:
    """Return all combinations of values, shape (point, parameter)."""
    every = np.meshgrid(*axes, indexing="ij")
    return np.stack([axis.ravel() for axis in every], axis=1)


def cross(*axes: tuple[float, ...]) -> NDArray[np.float64]:
    """Return a sparse design: a line a parameter where all others are least, and one more point.

    The further point, the largest values of all, tells sums from products.

    Returns
    -------
    float64 array, shape (point, parameter)
    """
    least = np.array([axis[0] for axis in axes])
    points = [least]
    for at, axis in enumerate(axes):
        for value in axis[1:]:
            points.append(least.copy())
            points[-1][at] = value
    points.append(np.array([axis[-1] for axis in axes]))
    return np.array(points)


def draw(random: np.random.Generator, family: str, count: int, *, parameters: int = 2) -> Drawn:
    """Draw random functions.

    Parameters
    ----------
    random : numpy.random.Generator
    family : str
        ``additive``: a term a parameter; ``multiplicative``: one product of all; ``mixed``: the
        product of some, and one term more of one that is among them or of the others together;
        ``irrelevant``: any of these, of all parameters but one.
    count : int
    parameters : int

    Raises
    ------
    UsageError
        An unknown family, or fewer than 2 parameters.
    """
    if family not in FAMILIES:
        raise UsageError(f"No functions {family!r}; there are {', '.join(FAMILIES)}.")
    if parameters < 2:
        raise UsageError(f"{parameters} parameter; these functions are of 2 and more.")
    numbers = random.choice(growing(PAPER), size=(count, parameters))
    terms = np.full((count, parameters, parameters), -1)
    factors = np.zeros((count, parameters))
    for function in range(count):
        relevant = np.arange(parameters)
        kind = family
        if family == "irrelevant":
            relevant = np.delete(relevant, random.integers(parameters))
            kind = FAMILIES[random.integers(3)] if parameters > 2 else "additive"
        for at, of in enumerate(sets(random, kind, relevant)):
            terms[function, at, of] = numbers[function, of]
            factors[function, at] = coefficients(random, 1)[0]
    return Drawn(constants=coefficients(random, count), factors=factors, terms=terms)


def balanced(random: np.random.Generator, drawn: Drawn, points: NDArray[np.float64]) -> Drawn:
    """Return the same terms with coefficients that let each of them be seen.

    The means of the constant and of every term over the points are log-uniform over a decade.
    Coefficients over six decades, each for itself, leave most sums with one visible term.
    """
    free = Drawn(
        constants=np.zeros(len(drawn) * drawn.factors.shape[1]),
        factors=np.ones((drawn.factors.size, 1)),
        terms=drawn.terms.reshape(drawn.factors.size, 1, -1),
    )
    size = free(points).mean(axis=1).reshape(drawn.factors.shape)
    wanted = 10.0 ** random.uniform(-1.0, 0.0, drawn.factors.shape)
    factors = np.where(drawn.factors > 0.0, wanted / size, 0.0)
    constants = 10.0 ** random.uniform(-1.0, 0.0, len(drawn))
    return Drawn(constants=constants, factors=factors, terms=drawn.terms)


def sets(
    random: np.random.Generator, kind: str, relevant: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return the parameters of each term."""
    if kind == "additive":
        return [relevant[[at]] for at in range(relevant.size)]
    if kind == "multiplicative":
        return [relevant]
    pairs = [
        relevant[list(of)]
        for size in range(2, relevant.size + 1)
        for of in combinations(range(relevant.size), size)
    ]
    product = pairs[random.integers(len(pairs))]
    others = np.setdiff1d(relevant, product)
    return [product, others if others.size else product[[random.integers(product.size)]]]
