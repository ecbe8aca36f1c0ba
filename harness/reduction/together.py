"""Reductions over the ranks of a communicator, for the models of ranks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpi4py import MPI


class Communicating:
    """`hindmost.models.ranks.together.Together` over MPI; counts what it costs.

    Attributes
    ----------
    calls, sent_bytes : int
        Reductions, and the bytes that this rank brought to them.
    seconds : float
        Spent in them.
    """

    def __init__(self, communicator: MPI.Intracomm) -> None:
        from mpi4py import MPI

        self._communicator = communicator
        self._sum, self._min, self._max = MPI.SUM, MPI.MIN, MPI.MAX
        self.calls = 0
        self.sent_bytes = 0
        self.seconds = 0.0

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over ranks."""
        return self._reduced(values, self._sum)

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the minimum over ranks."""
        return self._reduced(values, self._min)

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum over ranks."""
        return self._reduced(values, self._max)

    def _reduced(self, values: NDArray[Any], operation: Any) -> NDArray[Any]:
        began = time.perf_counter()
        mine = np.ascontiguousarray(values)
        result = np.empty_like(mine)
        self._communicator.Allreduce(mine, result, op=operation)
        self.calls += 1
        self.sent_bytes += mine.nbytes
        self.seconds += time.perf_counter() - began
        return result
