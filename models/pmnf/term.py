"""A term of the performance model normal form: p^i log2^j(p), or a product over parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

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
