"""Turns of ranks: some sleep while others are measured, in order not to disturb them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PAUSE_S = 0.01
"""Seconds between two checks whether the others have arrived."""


def sleepy_barrier(communicator: Any) -> None:
    """Wait for all ranks without spinning; collective."""
    request = communicator.Ibarrier()
    while not request.Test():
        time.sleep(PAUSE_S)


def nodes_of(communicator: Any) -> list[int]:
    """Return for every rank the lowest rank of its node; collective."""
    from mpi4py import MPI

    node = communicator.Split_type(MPI.COMM_TYPE_SHARED)
    first = node.allreduce(communicator.rank, op=MPI.MIN)
    node.Free()
    nodes: list[int] = communicator.allgather(first)
    return nodes


@contextmanager
def among(communicator: Any, members: list[int]) -> Iterator[Any]:
    """Give a communicator to some of the ranks and None to the others, which sleep; collective.

    Parameters
    ----------
    members : list of int
        Ranks of ``communicator``, in the order in which they are numbered in the new one.
    """
    from mpi4py import MPI

    mine = communicator.rank in members
    order = members.index(communicator.rank) if mine else 0
    some = communicator.Split(0 if mine else MPI.UNDEFINED, order)
    yield some if mine else None
    # Not in a finally: a failed rank must report its error without waiting for the others.
    sleepy_barrier(communicator)
    if mine:
        some.Free()


def in_turn(communicator: Any, action: Callable[[], object]) -> None:
    """Let rank 0 act first, then the first rank of every other node, then the rest; collective.

    For compilation: later ranks load from disk what earlier ones compiled.
    """
    nodes = nodes_of(communicator)
    rank = communicator.rank
    turn = 0 if rank == 0 else 1 if nodes[rank] == rank else 2
    for now in range(3):
        if now == turn:
            action()
        sleepy_barrier(communicator)
