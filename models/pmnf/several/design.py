"""The design of an experiment over several parameters: enough values, lines, and where to begin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.observations import LEAST_POINTS
from hindmost.models.pmnf.space import SearchSpace

MOST_PARAMETERS = 4
LEAST_ON_LINE = 3
"""Points of a line that say something about the shape of a term besides a constant."""

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


def check_design(points: NDArray[np.float64], parameters: Sequence[str]) -> None:
    """Refuse points that cannot tell how each parameter matters.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    parameters : sequence of str

    Raises
    ------
    UsageError
        More than 4 parameters, or not as many names as columns.
    DataError
        A parameter with fewer than 5 values.
    """
    if points.ndim != 2 or points.shape[1] != len(parameters):
        raise UsageError(
            f"Points of shape {points.shape} and the parameters {', '.join(parameters)}; points "
            "must be (point, parameter) with a column for each."
        )
    if not 1 <= len(parameters) <= MOST_PARAMETERS:
        raise UsageError(
            f"{len(parameters)} parameters; a model has 1 to {MOST_PARAMETERS}: leave some out."
        )
    if len(set(parameters)) != len(parameters):
        raise UsageError(f"The parameters {', '.join(parameters)}; names must differ.")
    for name, column in zip(parameters, points.T, strict=True):
        values = np.unique(column)
        if values.size == 1:
            raise DataError(
                f"Parameter {name} has one value only, {values[0]:g}; leave it out, or measure at "
                f"{LEAST_POINTS - 1} more."
            )
        if values.size < LEAST_POINTS:
            told = ", ".join(f"{value:g}" for value in values)
            raise DataError(
                f"Parameter {name} has {values.size} values ({told}); a model needs "
                f"{LEAST_POINTS}: measure at {LEAST_POINTS - values.size} more, or leave it out."
            )


def lines(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Give numbers to the lines along each parameter, on which all others stand still.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)

    Returns
    -------
    int32 array, shape (parameter, point)
        -1 for points on a line of fewer than 3 points.
    """
    count, many = points.shape
    found = np.full((many, count), -1, np.int32)
    for axis in range(many):
        others = np.delete(points, axis, axis=1)
        _, line, size = np.unique(others, axis=0, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(size >= LEAST_ON_LINE)
        number = np.full(size.size, -1, np.int32)
        number[kept] = np.arange(kept.size)
        found[axis] = number[line.ravel()]
    return found


def starts(space: SearchSpace) -> NDArray[np.int64]:
    """Return the numbers of all terms, as rows of `space.tabulate`, the typical ones first."""
    first = [space.exponents.index(pair) for pair in TYPICAL if pair in space.exponents]
    others = [at for at in range(len(space.exponents)) if at not in first]
    return np.array(first + others, np.int64) + 1
