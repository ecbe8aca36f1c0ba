"""Gather the records of all ranks on rank 0, in blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import RankBodies
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.solo import of_all

if TYPE_CHECKING:
    from mpi4py import MPI

BLOCK_BYTES = 64 << 20
"""Largest block that rank 0 gathers at once."""


def with_counts_everywhere(
    ranks: Sequence[RankBodies], communicator: MPI.Intracomm
) -> Sequence[RankBodies]:
    """Fill the counters of ranks without them with NaN, if another rank has some."""
    if not any(of_all(communicator, [each.instructions is not None for each in ranks])):
        return ranks
    none = np.full(ranks[0].duration.size, np.nan)
    return [
        each if each.instructions is not None else replace(each, instructions=none, cycles=none)
        for each in ranks
    ]


def gathered_blocks(
    ranks: Sequence[NDArray[Any]], communicator: MPI.Intracomm
) -> Iterator[tuple[int, NDArray[Any] | None]]:
    """Gather rows of all ranks in steps, to bound the block on rank 0.

    Parameters
    ----------
    ranks : sequence of arrays, shape (row, ...), one for each rank of this process

    Yields
    ------
    int
        The first row of the block.
    array or None, shape (row, rank, ...)
        The block on rank 0, None elsewhere.
    """
    one, count = ranks[0], len(ranks) * communicator.size
    row_bytes = one.itemsize * int(np.prod(one.shape[1:], dtype=np.int64)) * count
    rows = max(1, BLOCK_BYTES // row_bytes)
    for first in range(0, len(one), rows):
        part = np.stack([each[first : first + rows] for each in ranks])
        whole = (
            np.empty((communicator.size, *part.shape), part.dtype)
            if communicator.rank == 0
            else None
        )
        communicator.Gather(part, whole, root=0)
        yield (
            first,
            None if whole is None else np.moveaxis(whole.reshape(count, *part.shape[1:]), 0, 1),
        )


def gather_edges(incoming: Edges, communicator: MPI.Intracomm) -> Edges:
    """Gather the edges of all ranks on rank 0; other ranks get their own back."""
    parts = communicator.gather(incoming)
    if parts is None:
        return incoming
    return Edges.together(parts)
