"""What processes that hold the vectors of some ranks each do together.

The arithmetic of this room is written once, for one process that holds all ranks and for many that
hold some each, one stretch of the ranks after the other.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Reductions(Protocol):
    """Reductions of arrays over all processes, element by element, and a root; collective."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum."""

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the minimum."""

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum."""

    def gathered(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows of all processes, in their order, on the root; None elsewhere."""

    def shared(self, value: T | None) -> T:
        """Return on all processes what the root passes."""


class OneProcess:
    """One process that holds all ranks, and sends nothing."""

    calls = sent_bytes = 0

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values."""
        return values

    least = most = gathered = total

    def shared(self, value: T | None) -> T:
        """Return the value."""
        assert value is not None
        return value


ONE_PROCESS = OneProcess()


def count_of(rows: int, reductions: Reductions) -> int:
    """Return how many ranks all processes hold; collective."""
    return int(reductions.total(np.array([rows], np.int64))[0])
