"""The ranks whose data this process has: its own, or some or all of those of a converted program.

What concerns all ranks is a function of a list of ranks, which `of_all` completes from the other
processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def of_all(communicator: Any, values: Sequence[T]) -> list[T]:
    """Return a value of every rank, from those of the ranks of this process; collective."""
    return [each for part in communicator.allgather(values) for each in part]


class Solo:
    """A single process, with the methods of mpi4py that writing a run file needs."""

    rank = 0
    size = 1

    def allgather(self, value: T) -> list[T]:
        """Return the process's own value."""
        return [value]

    def gather(self, value: T) -> list[T]:
        """Return the process's own value."""
        return [value]

    def scatter(self, values: list[T]) -> T:
        """Return the only part."""
        return values[0]

    def alltoall(self, values: list[T]) -> list[T]:
        """Return the only part, as the only part that is received."""
        return values

    def allreduce(self, value: T) -> T:
        """Return the value."""
        return value

    def bcast(self, value: T, root: int = 0) -> T:
        """Return the value."""
        return value

    def Gatherv(self, part: NDArray[Any], whole: list[Any], root: int = 0) -> None:  # noqa: N802
        """Copy the part."""
        np.copyto(whole[root], part)

    def Barrier(self) -> None:  # noqa: N802
        """Do nothing."""
