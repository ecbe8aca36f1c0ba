"""The split of the order into the parts of the ranks, only between base cells.

Therefore siblings are on one rank at all levels, and combining does
not depend on the ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.mesh.part import MeshPart


def check_ranks(ranks: int, base: tuple[int, int]) -> None:
    """Raise a UsageError if there are more ranks than base cells."""
    if ranks > base[0] * base[1]:
        raise UsageError(
            f"{ranks} ranks for a base mesh of {base[0]} x {base[1]} cells; a rank needs at least "
            f"one base cell: start at most {base[0] * base[1]}, or choose a larger mesh."
        )


def even_splits(communicator: Any, counts: NDArray[np.int64], begin: NDArray[np.int64]) -> Any:
    """Return the first cell of each part, for parts of nearly equal size. Collective.

    An even split is moved to the nearest begin of a base cell.

    Parameters
    ----------
    counts : int64 array, shape (rank,)
        Cells of all ranks.
    begin : int64 array, shape (root,)
        First cells of this rank's base cells, from 0.

    Returns
    -------
    int64 array, shape (rank + 1,)
        From 0 to the number of all cells, strictly ascending.
    """
    ranks = counts.size
    offset = np.concatenate([[0], np.cumsum(counts)])
    first, total = int(offset[communicator.rank]), int(offset[-1])
    edges = np.append(begin, counts[communicator.rank])
    even = total * np.arange(1, ranks) // ranks
    found = np.zeros(ranks + 1, np.int64)
    mine = np.flatnonzero((even >= first) & (even < offset[communicator.rank + 1]))
    found[1 + mine] = first + nearest(edges, even[mine] - first)
    splits = np.empty_like(found)
    communicator.Allreduce(found, splits)
    splits[-1] = total
    if (np.diff(splits) > 0).all():
        return splits
    return gathered_splits(communicator, counts, begin)


def nearest(edges: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nearest edge of each place, the lower of two equally near ones."""
    above = np.clip(np.searchsorted(edges, wanted, side="left"), 1, edges.size - 1)
    low, high = edges[above - 1], edges[above]
    chosen: NDArray[np.int64] = np.where(wanted - low <= high - wanted, low, high)
    return chosen


def gathered_splits(
    communicator: Any, counts: NDArray[np.int64], begin: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return splits as `even_splits`, from the base cells of all ranks. Collective.

    Needed if a base cell exceeds a rank's share, or if parts do not begin with base cells.
    """
    ranks = counts.size
    many = np.empty(ranks, np.int64)
    communicator.Allgather(np.array([begin.size], np.int64), many)
    offset = np.concatenate([[0], np.cumsum(counts)])
    edges = np.empty(int(many.sum()) + 1, np.int64)
    shifts = (np.cumsum(many) - many).tolist()
    communicator.Allgatherv(
        begin + offset[communicator.rank], [edges[:-1], (many.tolist(), shifts)]
    )
    edges[-1] = offset[-1]
    splits = np.zeros(ranks + 1, np.int64)
    at = 0
    for rank in range(1, ranks):
        wanted = np.array([offset[-1] * rank // ranks])
        close = int(np.searchsorted(edges, nearest(edges, wanted)[0]))
        at = min(max(close, at + 1), edges.size - 1 - (ranks - rank))
        splits[rank] = edges[at]
    splits[-1] = offset[-1]
    return splits


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """The result of a call of `Mesh.balance`.

    Attributes
    ----------
    moved : int
        Number of cells that this rank sent away.
    imbalance_before, imbalance_after : float
        Load imbalance: maximum over mean of the cells per rank.
    """

    moved: int
    imbalance_before: float
    imbalance_after: float


def balance(
    part: MeshPart, state: NDArray[np.float64], threshold: float
) -> tuple[NDArray[np.float64], Balanced]:
    """Split the order again if the load imbalance exceeds the threshold. Collective."""
    counts = part.counts()
    mean = counts.sum() / counts.size
    before = after = float(counts.max() / mean)
    moved = 0
    if before > threshold:
        splits = even_splits(part.communicator, counts, part.begins())
        wanted = np.diff(splits)
        if (wanted != counts).any():
            state, moved = part.move(state, counts, splits)
            after = float(wanted.max() / mean)
    balanced = Balanced(moved=moved, imbalance_before=before, imbalance_after=after)
    return state[: part.owned], balanced
