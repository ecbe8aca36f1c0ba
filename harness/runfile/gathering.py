"""Gather the records of all ranks on rank 0, in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import RankBodies
from hindmost.harness.runfile.contents import Edges

if TYPE_CHECKING:
    from mpi4py import MPI

BLOCK_BYTES = 64 << 20
"""Largest block that rank 0 gathers at once."""


def with_counts_everywhere(bodies: RankBodies, communicator: MPI.Intracomm) -> RankBodies:
    """Fill the counters of a rank without them with NaN, if another rank has some."""
    counted = bodies.instructions is not None
    if not any(communicator.allgather(counted)) or counted:
        return bodies
    none = np.full(bodies.duration.size, np.nan)
    return replace(bodies, instructions=none, cycles=none)


def gathered_blocks(
    mine: Any, communicator: MPI.Intracomm
) -> Iterator[tuple[int, NDArray[Any] | None]]:
    """Gather rows of all ranks in steps, to bound the block on rank 0.

    Yields
    ------
    int
        The first row of the block.
    array or None, shape (row, rank, ...)
        The block on rank 0, None elsewhere.
    """
    row_bytes = mine.itemsize * int(np.prod(mine.shape[1:], dtype=np.int64)) * communicator.size
    rows = max(1, BLOCK_BYTES // row_bytes)
    for first in range(0, len(mine), rows):
        part = np.ascontiguousarray(mine[first : first + rows])
        whole = (
            np.empty((communicator.size, *part.shape), part.dtype)
            if communicator.rank == 0
            else None
        )
        communicator.Gather(part, whole, root=0)
        yield first, None if whole is None else np.moveaxis(whole, 0, 1)


def gather_edges(incoming: Edges, communicator: MPI.Intracomm) -> Edges:
    """Gather the edges of all ranks on rank 0; other ranks get their own back."""
    parts = communicator.gather(incoming)
    if parts is None:
        return incoming
    return Edges.together(parts)
