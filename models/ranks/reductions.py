"""Reductions over all processes that hold ranks, in the same bits however many there are.

The arithmetic of this room is written once, for one process that holds all ranks and for many that
hold some each. Sums are made exact, by rounding what is summed to a common grid, so that every
way to spread the ranks over processes gives the same bits.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Reductions(Protocol):
    """Reductions of arrays over all processes, element by element; collective."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum."""

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the minimum."""

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum."""


class OneProcess:
    """One process that holds all ranks."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values."""
        return values

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values."""
        return values

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values."""
        return values


ONE_PROCESS = OneProcess()


def exact_grid(largest: float, count: int) -> float:
    """Return a power of two to whose multiples numbers are rounded so that their sum is exact.

    Parameters
    ----------
    largest : float
        The largest absolute value that is summed.
    count : int
        How many are summed, on all processes.
    """
    bound = max(largest, 1e-280) * max(count, 1)
    return float(2.0 ** (np.ceil(np.log2(bound)) - 52))


def on_grid(values: NDArray[np.float64], grid: float) -> NDArray[np.float64]:
    """Round to multiples of a grid."""
    rounded: NDArray[np.float64] = np.rint(values / grid) * grid
    return rounded


def count_of(rows: int, reductions: Reductions) -> int:
    """Return how many ranks all processes hold; collective."""
    return int(reductions.total(np.array([rows], np.int64))[0])
