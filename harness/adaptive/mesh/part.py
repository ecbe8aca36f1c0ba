"""A rank's part of the order: its cells, and how they move between ranks.

All cells within a base cell are on one rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.order import Cells, Tables, keys_at


@dataclass(frozen=True, slots=True)
class Columns:
    """Level, indices and key of every cell.

    Attributes
    ----------
    i, j : int32 array, shape (cell,)
    level : int8 array, shape (cell,)
    key : int64 array, shape (cell,)
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    level: NDArray[np.int8]
    key: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        tables: Tables,
        levels: int,
        i: NDArray[np.int32],
        j: NDArray[np.int32],
        level: NDArray[np.int8],
    ) -> Columns:
        """Return cells with their keys."""
        finest = levels - level.astype(np.int64)
        return cls(i, j, level, keys_at(tables, levels, i << finest, j << finest))

    @classmethod
    def empty(cls, rows: int) -> Columns:
        """Return room for cells."""
        return cls(
            np.empty(rows, np.int32),
            np.empty(rows, np.int32),
            np.empty(rows, np.int8),
            np.empty(rows, np.int64),
        )


def move_cells(
    communicator: Any,
    cells: Columns,
    state: NDArray[np.float64],
    counts: NDArray[np.int64],
    splits: NDArray[np.int64],
) -> tuple[Columns, NDArray[np.float64], int]:
    """Send and receive the cells between old and new splits. Collective.

    Parameters
    ----------
    counts : int64 array, shape (rank,)
        Previous number of cells of all ranks.
    splits : int64 array, shape (rank + 1,)
        First cell of each rank's new part, and the number of all cells.

    Returns
    -------
    Columns, float64 array of shape (owned cell, column)
        The new cells and their state.
    int
        Number of cells that this rank sent away.
    """
    rank = communicator.rank
    old = np.concatenate([[0], np.cumsum(counts)])
    sent, received = overlaps(old[rank : rank + 2], splits), overlaps(splits[rank : rank + 2], old)
    owned = int(received.sum())
    new, moved = Columns.empty(owned), np.empty((owned, state.shape[1]))
    for before, after in (
        (cells.i, new.i),
        (cells.j, new.j),
        (cells.level, new.level),
        (cells.key, new.key),
        (state[: sent.sum()], moved),
    ):
        wide = before.shape[1] if before.ndim == 2 else 1
        communicator.Alltoallv([before, wide * sent], [after, wide * received])
    return new, moved, int(sent.sum() - sent[rank])


def overlaps(part: NDArray[np.int64], splits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of a range of cells every part has.

    Parameters
    ----------
    part : int64 array, shape (2,)
    splits : int64 array, shape (rank + 1,)
    """
    low, high = np.maximum(part[0], splits[:-1]), np.minimum(part[1], splits[1:])
    return np.asarray(np.maximum(high - low, 0))


class MeshPart:
    """Cells of a rank, in order; `Mesh` adapts, balances and connects them.

    Attributes
    ----------
    communicator : MPI communicator
    tables : (int64 array, shape (nx,), int64 array, shape (ny,))
        Tables of the order.
    levels : int
    owned : int
        Current number of cells, also before they are connected.
    columns : Columns
        The current cells.
    changed : bool
        Whether the mesh changed on some rank since it was connected.
    """

    def __init__(self, communicator: Any, tables: Tables, levels: int, cells: Cells) -> None:
        self.communicator = communicator
        self.tables = tables
        self.levels = levels
        self.owned = cells.level.size
        self.changed = True
        self.columns = Columns.of(tables, levels, cells.i, cells.j, cells.level)

    def counts(self) -> NDArray[np.int64]:
        """Return the cells of every rank. Collective."""
        counts = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(np.array([self.owned], np.int64), counts)
        return counts

    def begins(self) -> NDArray[np.int64]:
        """Return the rows at which base cells begin."""
        within = (1 << 2 * self.levels) - 1
        return np.flatnonzero((self.columns.key & within) == 0)

    def move(
        self, state: NDArray[np.float64], counts: NDArray[np.int64], splits: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], int]:
        """Change the splits; return the state and the number of cells sent. Collective.

        See `move_cells`.
        """
        self.columns, state, sent = move_cells(
            self.communicator, self.columns, state, counts, splits
        )
        self.owned = state.shape[0]
        self.changed = True
        return state, sent

    def split(self) -> NDArray[np.int64]:
        """Return the first cell of each rank's part, for parts of nearly equal size. Collective.

        Parts begin with base cells: therefore siblings are on one rank at all levels, and combining
        does not depend on the ranks. An even split is moved to the nearest begin of a base cell.

        Returns
        -------
        int64 array, shape (rank + 1,)
            From 0 to the number of all cells, strictly ascending.
        """
        communicator, counts, begin = self.communicator, self.counts(), self.begins()
        ranks, total = counts.size, int(counts.sum())
        many = np.empty(ranks, np.int64)
        communicator.Allgather(np.array([begin.size], np.int64), many)
        edges = np.empty(int(many.sum()) + 1, np.int64)
        shifts = (np.cumsum(many) - many).tolist()
        communicator.Allgatherv(
            begin + counts[: communicator.rank].sum(), [edges[:-1], (many.tolist(), shifts)]
        )
        edges[-1] = total
        splits = np.zeros(ranks + 1, np.int64)
        at = 0
        for rank in range(1, ranks):
            close = nearest(edges, total * rank // ranks)
            at = min(max(close, at + 1), edges.size - 1 - (ranks - rank))
            splits[rank] = edges[at]
        splits[-1] = total
        return splits


def nearest(edges: NDArray[np.int64], wanted: int) -> int:
    """Return the index of the nearest edge of a place, the lower of two equally near ones."""
    above = min(max(int(np.searchsorted(edges, wanted)), 1), edges.size - 1)
    return above - 1 if wanted - edges[above - 1] <= edges[above] - wanted else above
