"""A rank's part of the order: its cells, and their base cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.cells import BlockLoads, Cells
from hindmost.harness.adaptive.mesh.keys import key_loop
from hindmost.harness.adaptive.mesh.move import move_cells
from hindmost.harness.adaptive.mesh.order import Tables
from hindmost.harness.adaptive.mesh.roots import Roots, link_roots
from hindmost.harness.adaptive.mesh.store import Store
from hindmost.models.compiled import compiled


class MeshPart:
    """Cells of a rank, in order.

    Attributes
    ----------
    communicator : MPI communicator
    tables : (int64 array, shape (nx,), int64 array, shape (ny,))
        Tables of the order.
    levels : int
    owned : int
        Current number of cells, also before they are connected.
    store : Store
    changed : bool
        Whether the mesh changed on some rank since it was connected.
    roots : Roots
        As of the last `link`.
    """

    roots: Roots

    def __init__(self, communicator: Any, tables: Tables, levels: int, cells: Cells) -> None:
        self.communicator = communicator
        self.tables = tables
        self.levels = levels
        self.owned = cells.level.size
        self.changed = True
        self.store = Store(self.owned)
        own, (columns, rows) = self.store.cells, tables
        own.i[: self.owned] = cells.i
        own.j[: self.owned] = cells.j
        own.level[: self.owned] = cells.level
        compiled(key_loop)(columns, rows, levels, 0, self.owned, own.i, own.j, own.level, own.key)

    def cells(self) -> Cells:
        """Return the cells, in order."""
        own = self.store.cells
        return Cells(i=own.i[: self.owned], j=own.j[: self.owned], level=own.level[: self.owned])

    def counts(self) -> NDArray[np.int64]:
        """Return the cells of every rank. Collective."""
        counts = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(np.array([self.owned], np.int64), counts)
        return counts

    def begins(self) -> NDArray[np.int64]:
        """Return the rows at which base cells begin."""
        within = (1 << 2 * self.levels) - 1
        return np.flatnonzero((self.store.cells.key[: self.owned] & within) == 0)

    def move(
        self, state: NDArray[np.float64], counts: NDArray[np.int64], splits: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], int]:
        """Change the splits; return the state and the number of cells sent. Collective.

        See `move_cells`.
        """
        state, sent = move_cells(self.communicator, self.store, state, counts, splits)
        self.owned = state.shape[0]
        self.link()
        return state, sent

    def link(self) -> None:
        """Find the base cells and their neighbours. Collective."""
        cells, begin = self.store.cells, self.begins()
        level = cells.level[begin]
        key = cells.key[begin] >> 2 * self.levels
        first_key = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(key[:1], first_key)
        self.roots = link_roots(
            self.tables, key, cells.i[begin] >> level, cells.j[begin] >> level, first_key
        )
        self.changed = True

    def blocks(self, side: int) -> BlockLoads:
        """Return the number of cells in each block of side x side base cells."""
        cells, begin = self.store.cells, self.begins()
        across = -(-self.tables[0].size // side)
        level = cells.level[begin]
        place = (cells.j[begin] >> level) // side * across + (cells.i[begin] >> level) // side
        block, of = np.unique(place.astype(np.int64), return_inverse=True)
        load = np.zeros(block.size, np.int64)
        np.add.at(load, of, np.diff(begin, append=self.owned))
        owner = np.full(block.size, self.communicator.rank, np.int32)
        return BlockLoads(block=block, owner=owner, load=load)

    def locate(self, i: int, j: int, level: int) -> int:
        """Return the row of the cell that covers a square, -1 if another rank owns it."""
        key = np.empty(1, np.int64)
        columns, rows = self.tables
        compiled(key_loop)(
            columns, rows, self.levels, 0, 1,
            np.array([i], np.int32), np.array([j], np.int32), np.array([level], np.int8), key,
        )  # fmt: skip
        cells = self.store.cells
        row = int(np.searchsorted(cells.key[: self.owned], key[0], side="right")) - 1
        if row < 0 or key[0] - cells.key[row] >= 1 << 2 * (self.levels - int(cells.level[row])):
            return -1
        return row
