"""The collectives that can be measured, by name, with buffers to call them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.registry import Registry

ITEM_BYTES = 8
"""Of a double, the unit of every buffer."""

Doubles = NDArray[np.float64]
Prepared = tuple[Callable[[], object], Doubles]
"""One call of MPI, collective, and where its result goes: float64 array, shape (block, double), no
block where this rank receives nothing. All buffers have been written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """A collective of MPI.

    Attributes
    ----------
    name : str
    summary : str
        What ``--bytes`` is of it.
    blocks : callable
        From the number of ranks: how many blocks of the given size the buffers of a rank have.
    prepare : callable
        From communicator and doubles of a block, to buffers and call; collective.
    sized : bool
        Whether a size applies.
    """

    name: str
    summary: str
    blocks: Callable[[int], int]
    prepare: Callable[[Any, int], Prepared]
    sized: bool = True

    def solver(self, size: int) -> str:
        """Return what a run file calls the collective at a size."""
        return f"{self.name}-{size}B" if self.sized else self.name


def side_by_side(numbers: Sequence[int], doubles: int) -> Doubles:
    """Return blocks, each of one whole number, whose sums are exact."""
    filled = np.empty((len(numbers), doubles))
    filled[:] = np.array(numbers)[:, None]  # in place: these can be the largest arrays of a run
    return filled


def _described(buffer: Doubles) -> list[Any]:
    """Describe blocks to mpi4py, which need not find out at every call what they are."""
    from mpi4py import MPI

    return [buffer, buffer.shape[1], MPI.DOUBLE]


def _call(
    method: Callable[..., object], numbers: Sequence[int], blocks: int, doubles: int, *more: Any
) -> Prepared:
    """Return a call that sends blocks of these numbers, and receives so many blocks."""
    received = np.full((blocks, doubles), 0.0)
    into = _described(received) if blocks else None
    return partial(method, _described(side_by_side(numbers, doubles)), into, *more), received


def _sum() -> Any:
    from mpi4py import MPI

    return MPI.SUM


def _allreduce(communicator: Any, doubles: int) -> Prepared:
    return _call(communicator.Allreduce, [communicator.rank], 1, doubles, _sum())


def _reduce(communicator: Any, doubles: int) -> Prepared:
    root = int(communicator.rank == 0)
    return _call(communicator.Reduce, [communicator.rank], root, doubles, _sum(), 0)


def _bcast(communicator: Any, doubles: int) -> Prepared:
    buffer = side_by_side([7], doubles)
    received = buffer[:0] if communicator.rank == 0 else buffer
    return partial(communicator.Bcast, _described(buffer), 0), received


def _gather(communicator: Any, doubles: int) -> Prepared:
    blocks = communicator.size if communicator.rank == 0 else 0
    return _call(communicator.Gather, [communicator.rank], blocks, doubles, 0)


def _allgather(communicator: Any, doubles: int) -> Prepared:
    return _call(communicator.Allgather, [communicator.rank], communicator.size, doubles)


def _alltoall(communicator: Any, doubles: int) -> Prepared:
    size, rank = communicator.size, communicator.rank
    return _call(communicator.Alltoall, range(rank * size, (rank + 1) * size), size, doubles)


def _barrier(communicator: Any, doubles: int) -> Prepared:
    return communicator.Barrier, np.zeros((0, 0))


def _reduce_scatter(communicator: Any, doubles: int) -> Prepared:
    size, rank = communicator.size, communicator.rank
    numbers = range(rank, rank + size)
    return _call(communicator.Reduce_scatter_block, numbers, 1, doubles, _sum())


OPERATIONS: Registry[Collective] = Registry(
    "collective",
    (
        Collective(
            name="allreduce",
            summary="the vector of every rank",
            blocks=lambda ranks: 2,
            prepare=_allreduce,
        ),
        Collective(
            name="reduce",
            summary="the vector of every rank, summed on rank 0",
            blocks=lambda ranks: 2,
            prepare=_reduce,
        ),
        Collective(
            name="bcast",
            summary="the vector of rank 0",
            blocks=lambda ranks: 1,
            prepare=_bcast,
        ),
        Collective(
            name="gather",
            summary="the vector of a rank; rank 0 receives P of them",
            blocks=lambda ranks: ranks + 1,
            prepare=_gather,
        ),
        Collective(
            name="allgather",
            summary="the vector of a rank; it receives P of them",
            blocks=lambda ranks: ranks + 1,
            prepare=_allgather,
        ),
        Collective(
            name="alltoall",
            summary="what a rank sends to each rank",
            blocks=lambda ranks: 2 * ranks,
            prepare=_alltoall,
        ),
        Collective(
            name="barrier",
            summary="no size",
            blocks=lambda ranks: 0,
            prepare=_barrier,
            sized=False,
        ),
        Collective(
            name="reduce_scatter",
            summary="the part of the sum that a rank receives (MPI_Reduce_scatter_block)",
            blocks=lambda ranks: ranks + 1,
            prepare=_reduce_scatter,
        ),
    ),
)
"""Every collective that ``hindmost run collectives`` knows. The sums are of doubles."""
