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


def _doubles(buffer: Doubles) -> list[Any]:
    """Describe a buffer to mpi4py, which need not find out at every call what it is."""
    from mpi4py import MPI

    return [buffer, buffer.size, MPI.DOUBLE]


def _blocks_of_doubles(buffer: Doubles) -> list[Any]:
    """Describe a buffer of which every rank has a block."""
    from mpi4py import MPI

    return [buffer, buffer.shape[1], MPI.DOUBLE]


def _allreduce(communicator: Any, doubles: int) -> Prepared:
    from mpi4py import MPI

    sent, received = np.full(doubles, float(communicator.rank)), np.zeros((1, doubles))
    call = partial(communicator.Allreduce, _doubles(sent), _doubles(received), MPI.SUM)
    return call, received


def _reduce(communicator: Any, doubles: int) -> Prepared:
    from mpi4py import MPI

    sent, root = np.full(doubles, float(communicator.rank)), communicator.rank == 0
    received = np.zeros((1 if root else 0, doubles))
    into = _doubles(received) if root else None
    return partial(communicator.Reduce, _doubles(sent), into, MPI.SUM, 0), received


def _bcast(communicator: Any, doubles: int) -> Prepared:
    buffer = side_by_side([7], doubles)
    received = buffer[:0] if communicator.rank == 0 else buffer
    return partial(communicator.Bcast, _doubles(buffer), 0), received


def _gather(communicator: Any, doubles: int) -> Prepared:
    sent, root = np.full(doubles, float(communicator.rank)), communicator.rank == 0
    received = np.zeros((communicator.size if root else 0, doubles))
    into = _blocks_of_doubles(received) if root else None
    return partial(communicator.Gather, _doubles(sent), into, 0), received


def _allgather(communicator: Any, doubles: int) -> Prepared:
    sent = np.full(doubles, float(communicator.rank))
    received = np.zeros((communicator.size, doubles))
    call = partial(communicator.Allgather, _doubles(sent), _blocks_of_doubles(received))
    return call, received


def _alltoall(communicator: Any, doubles: int) -> Prepared:
    size, rank = communicator.size, communicator.rank
    sent = side_by_side(range(rank * size, (rank + 1) * size), doubles)
    received = np.zeros_like(sent)
    words = (_blocks_of_doubles(sent), _blocks_of_doubles(received))
    return partial(communicator.Alltoall, *words), received


def _barrier(communicator: Any, doubles: int) -> Prepared:
    return communicator.Barrier, np.zeros((0, 0))


def _reduce_scatter(communicator: Any, doubles: int) -> Prepared:
    from mpi4py import MPI

    size, rank = communicator.size, communicator.rank
    sent = side_by_side(range(rank, rank + size), doubles)
    received = np.zeros((1, doubles))
    words = (_blocks_of_doubles(sent), _doubles(received), MPI.SUM)
    return partial(communicator.Reduce_scatter_block, *words), received


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
