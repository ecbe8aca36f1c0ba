"""A communicator of one rank, for use without MPI."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Solo:
    """A single rank, with the methods of mpi4py that writing a run file needs."""

    rank = 0
    size = 1

    def allgather(self, value: T) -> list[T]:
        """Return the rank's own value."""
        return [value]

    def gather(self, value: T) -> list[T]:
        """Return the rank's own value."""
        return [value]

    def bcast(self, value: T) -> T:
        """Return the value."""
        return value

    def Gather(self, part: NDArray[Any], whole: NDArray[Any], root: int = 0) -> None:  # noqa: N802
        """Copy the part."""
        np.copyto(whole[root], part)

    def Barrier(self) -> None:  # noqa: N802
        """Do nothing."""
