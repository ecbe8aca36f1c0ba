"""Series of one behaviour with known noise: the null hypothesis of the test for segments.

Functions in and out of the search space. Coefficients are log-uniform from 1e-3 to 1e3. Noise of
x % is uniform: up to x % of each value (multiplicative), or up to x % of the mean of its series
(additive, so that values of series that grow much may be negative).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.space import PAPER, SearchSpace, columns

Draw = Callable[[np.random.Generator, NDArray[np.float64], int], NDArray[np.float64]]
"""Of a random generator, points and a count: true values, shape (series, point)."""


def coefficients(random: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    """Draw log-uniform coefficients from 1e-3 to 1e3."""
    return np.asarray(10.0 ** random.uniform(-3.0, 3.0, shape))


def growing(space: SearchSpace) -> list[int]:
    """Return the numbers of the terms of a space that grow."""
    return [at for at, (power, _) in enumerate(space.exponents) if power >= 0]


def draw_terms(
    random: np.random.Generator, points: NDArray[np.float64], count: int, space: SearchSpace
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw functions of a constant and one growing term of a search space.

    Returns
    -------
    values : float64 array, shape (series, point)
    term : int array, shape (series,)
        Which one, as a number in the space.
    """
    term = random.choice(growing(space), size=count)
    scale = coefficients(random, count, 2)
    return scale[:, :1] + scale[:, 1:] * columns(space.exponents, points)[term], term


def inside(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw functions whose exponents are in the paper's default set."""
    return draw_terms(random, points, count, PAPER)[0]


def outside(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw functions with any exponents: powers up to 3, logarithms up to 2."""
    power = random.uniform(0.0, 3.0, (count, 1))
    of_logarithm = random.uniform(0.0, 2.0, (count, 1))
    scale = coefficients(random, count, 2)
    logarithm = np.maximum(np.log2(points), 0.0)  # a root of a negative one is no number
    return np.asarray(scale[:, :1] + scale[:, 1:] * points**power * logarithm**of_logarithm)


def strong(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw strong scaling: c_0 + c_1 / p."""
    scale = coefficients(random, count, 2)
    return np.asarray(scale[:, :1] + scale[:, 1:] / points)


def draw_two_terms(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw functions of a constant and two terms of the paper's set or of strong scaling.

    Returns
    -------
    values : float64 array, shape (series, point)
    terms : int array, shape (2, series)
        Which ones, as numbers in the paper's space.
    """
    values = columns(PAPER.exponents, points)
    terms = random.integers(len(PAPER.exponents), size=(2, count))
    scale = coefficients(random, 3, count, 1)
    return scale[0] + scale[1] * values[terms[0]] + scale[2] * values[terms[1]], terms


def two_terms(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw a constant and two terms of the paper's set or of strong scaling."""
    return draw_two_terms(random, points, count)[0]


def valley(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw work that ranks share beside communication that grows: c_0 + c_1 / p + c_2 p^i."""
    scale = coefficients(random, 3, count, 1)
    power = random.uniform(0.0, 1.5, (count, 1))
    shared, grown = points[0] / points, (points / points[-1]) ** power
    return np.asarray(scale[0] + scale[1] * shared + scale[2] * grown)


def saturating(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw what grows towards a bound: c_0 + c_1 (1 - p^-i)."""
    scale = coefficients(random, 2, count, 1)
    power = random.uniform(0.2, 2.0, (count, 1))
    return np.asarray(scale[0] + scale[1] * (1.0 - (points / points[0]) ** -power))


def speedup(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw Amdahl's speedup, or rates: c p / (1 + s (p - 1)), s log-uniform from 1e-4 to 1."""
    serial = 10.0 ** random.uniform(-4.0, 0.0, (count, 1))
    return np.asarray(coefficients(random, count, 1) * points / (1.0 + serial * (points - 1.0)))


def efficiency(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw the efficiency that goes with Amdahl's speedup: c / (1 + s (p - 1))."""
    return np.asarray(speedup(random, points, count) / points)


FAMILIES: dict[str, Draw] = {
    "inside": inside,
    "outside": outside,
    "strong": strong,
    "two-terms": two_terms,
    "valley": valley,
    "saturating": saturating,
    "speedup": speedup,
    "efficiency": efficiency,
}
"""Functions that show one behaviour throughout."""


def measured(
    random: np.random.Generator,
    truth: NDArray[np.float64],
    *,
    noise: float,
    kind: NoiseKind = NoiseKind.MULTIPLICATIVE,
    repetitions: int = 1,
    outliers: float = 0.0,
) -> NDArray[np.float64]:
    """Return measurements of true values.

    Parameters
    ----------
    random : numpy.random.Generator
    truth : float64 array, shape (series, point)
    noise : float
        Largest noise, a share of the value or of the series' mean; 0.05 for 5 %.
    kind : NoiseKind
    repetitions : int
    outliers : float
        Share of measurements that take 3 times as long.

    Returns
    -------
    float64 array, shape (series, point, repetition)
    """
    deviation = noise * random.uniform(-1.0, 1.0, (*truth.shape, repetitions))
    level = truth.mean(axis=1, keepdims=True) ** (1.0 - kind.gamma) * truth**kind.gamma
    values = truth[..., None] + level[..., None] * deviation
    if outliers:
        values = np.where(random.random(values.shape) < outliers, 3.0 * values, values)
    return np.asarray(values)
