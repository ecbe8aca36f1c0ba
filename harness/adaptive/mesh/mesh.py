"""The adaptive mesh of a rank: divide and combine, balance, connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.mesh.adapt import rewrite_loop, settle_loop, wish_loop
from hindmost.harness.adaptive.mesh.cells import Blocks, Cells
from hindmost.harness.adaptive.mesh.connection import Connection
from hindmost.harness.adaptive.mesh.exchange import EXCHANGES
from hindmost.harness.adaptive.mesh.keys import key_loop
from hindmost.harness.adaptive.mesh.move import move_cells
from hindmost.harness.adaptive.mesh.order import tables_of
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.harness.adaptive.mesh.roots import link_roots
from hindmost.harness.adaptive.mesh.split import check_ranks, even_splits, gathered_splits
from hindmost.harness.adaptive.mesh.start import base_part, check_cells, check_order
from hindmost.harness.adaptive.mesh.store import Store, roomy
from hindmost.harness.runfile.contents import Edges
from hindmost.models.compiled import compiled

State = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """What one call of `Mesh.adapt` did on this rank.

    Attributes
    ----------
    divided : int
        Cells that were divided.
    combined : int
        Cells that came to be by combining four.
    sweeps : int
        Rounds of exchange and reduction until neighbours differed by at most one level.
    held : bool
        Nothing divided, on any rank, because of `most_cells`.
    """

    divided: int
    combined: int
    sweeps: int
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """What one call of `Mesh.balance` did.

    Attributes
    ----------
    moved : int
        Cells that this rank sent away.
    imbalance_before, imbalance_after : float
        Most cells of a rank over the mean of all, at least 1.
    """

    moved: int
    imbalance_before: float
    imbalance_after: float


class Mesh:
    """Square cells on ranks, each rank with a run of cells along an order.

    A cycle calls `adapt`, `balance` and `connect`, in this order; in between, `patch` and
    `exchange` are those of before. States handed in are given up: what comes back may lie in
    their memory, and the memory of arrays in `patch` is used again two changes later.

    Parameters
    ----------
    communicator : MPI communicator
    base : (int, int)
        Columns and rows of the base mesh.
    levels : int
        How often a base cell may divide; 0 for a mesh that stays.
    order : str
        See `ORDERS`.
    threshold : float
        Cells are moved when the most of a rank over the mean of all is above it.
    exchange : str
        See `EXCHANGES`.
    most_cells : int or None
        Nothing divides if all ranks would come to have more cells than this.

    Attributes
    ----------
    epoch : int
        Raised by every `connect` to a changed mesh.

    Raises
    ------
    UsageError
        More ranks than base cells, sizes that overflow keys, an unknown order or exchange, or a
        threshold below 1.
    """

    def __init__(
        self,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        *,
        order: str = "curve",
        threshold: float = 1.02,
        exchange: str = "persistent",
        most_cells: int | None = None,
    ) -> None:
        self._prepare(communicator, base, levels, order, threshold, exchange, most_cells)
        self._take(base_part(self._tables, communicator.rank, communicator.size))
        self._link()
        self._renew()

    @classmethod
    def from_cells(
        cls,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        cells: Cells,
        state: State,
        *,
        order: str = "curve",
        threshold: float = 1.02,
        exchange: str = "persistent",
        most_cells: int | None = None,
    ) -> tuple[Mesh, State]:
        """Return a mesh of given cells, and the state with room for ghosts. Collective.

        Parameters
        ----------
        cells : Cells
            Those that this rank has read: any number, the ranks' one after the other in order.
        state : float64 array, shape (cell, column)

        Raises
        ------
        DataError
            The cells do not tile the domain in that order, or neighbours differ by two levels.
        """
        mesh = cls.__new__(cls)
        mesh._prepare(communicator, base, levels, order, threshold, exchange, most_cells)
        check_cells(communicator, cells, base, levels)
        mesh._take(cells)
        owned = mesh._owned
        present = mesh._store.cells
        check_order(communicator, present.key[:owned], present.level[:owned], levels, order)
        counts = mesh._counts()
        splits = gathered_splits(communicator, counts, mesh._begins())
        state, _ = mesh._move(np.ascontiguousarray(state, np.float64), counts, splits)
        mesh._link()
        mesh._renew()
        return mesh, mesh.connect(state)

    def _prepare(
        self,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        order: str,
        threshold: float,
        exchange: str,
        most_cells: int | None,
    ) -> None:
        if not threshold >= 1.0:
            raise UsageError(
                f"A balance threshold of {threshold}; it is the most cells of a rank over the "
                "mean of all: at least 1."
            )
        self._tables = tables_of(order, base, levels)
        check_ranks(communicator.size, base)
        self.communicator = communicator
        self.base = base
        self.levels = levels
        self.order = order
        self.threshold = threshold
        self.most_cells = most_cells
        self.epoch = -1
        self._way = EXCHANGES[exchange]
        self._target = np.empty((0, 1), np.int8)
        self._changed = False
        self._connection = Connection()

    @property
    def patch(self) -> Patch:
        """The rank's part, as of the last `connect`."""
        return self._connection.patch

    @property
    def exchange(self) -> Exchange:
        """What fills ghosts, as of the last `connect`."""
        return self._connection.exchange

    @property
    def owned(self) -> int:
        """Cells of this rank now, also before they are connected."""
        return self._owned

    def adapt(self, flags: NDArray[np.int8], state: State) -> tuple[State, Adapted]:
        """Divide and combine cells as flagged, as far as neighbours allow. Collective.

        Neighbours across a face differ by at most one level: cells are divided beyond the flags,
        and not combined, until they do. Four siblings combine if all are flagged. What results
        depends neither on the number of ranks nor on their order.

        Parameters
        ----------
        flags : int8 array, shape (owned,)
            -1: may combine, 0: stays, 1: divides.
        state : float64 array, shape (at least owned, column), densities

        Returns
        -------
        float64 array, shape (owned cell now, column)
        Adapted
        """
        owned = self._owned
        flags = np.ascontiguousarray(flags, np.int8)
        state = np.ascontiguousarray(state, np.float64)
        if flags.shape != (owned,) or state.ndim != 2 or state.shape[0] < owned:
            raise DataError(
                f"Flags of shape {flags.shape} and a state of shape {state.shape} for {owned} "
                "cells; flags are (owned,) and a state is (at least owned, columns)."
            )
        rows = self.patch.owned + self.patch.ghosts
        if self._target.shape[0] < rows:
            self._target = np.empty((roomy(rows), 1), np.int8)
        here, total, sweeps = self._settle(flags, most=1)
        grown = int(total[3] + 3 * total[1] - 3 * total[2])
        held = self.most_cells is not None and grown > self.most_cells and bool(total[1] > 0)
        if held:
            here, total, more = self._settle(flags, most=0)
            sweeps += more
        divided, combined = int(here[1]), int(here[2])
        if total[1] or total[2]:
            self._changed = True
        if divided or combined:
            state = self._rewrite(state, owned + 3 * divided - 3 * combined)
        adapted = Adapted(divided=divided, combined=combined, sweeps=sweeps, held=held)
        return state[: self._owned], adapted

    def _settle(
        self, flags: NDArray[np.int8], *, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Fill the target levels; return counts of this rank and of all, and the sweeps."""
        cells, patch = self._store.cells, self.patch
        target = self._target.reshape(-1)
        here, total = np.zeros(4, np.int64), np.zeros(4, np.int64)
        compiled(wish_loop)(self._owned, self.levels, most, flags, cells.level, cells.key, target)
        sweeps = 0
        while True:
            self._connection.exchange.fill(self._target)
            here[0] = 0
            compiled(settle_loop)(
                self._owned, self.levels, cells.level, cells.key,
                patch.x_faces.lower, patch.x_faces.upper, patch.y_faces.lower, patch.y_faces.upper,
                target, here,
            )  # fmt: skip
            self.communicator.Allreduce(here, total)
            sweeps += 1
            # What one rank raised is settled; what it raised may concern another.
            if total[0] == 0 or self.communicator.size == 1:
                return here, total, sweeps

    def _rewrite(self, state: State, owned: int) -> State:
        cells = self._store.cells
        new = self._store.next_cells(owned + self.patch.ghosts)
        written = self._store.next_state(state, owned)
        compiled(rewrite_loop)(
            self._owned, self.levels, self._target.reshape(-1),
            cells.i, cells.j, cells.level, cells.key, state,
            new.i, new.j, new.level, new.key, written,
        )  # fmt: skip
        self._store.turn()
        self._owned = owned
        return written

    def balance(self, state: State) -> tuple[State, Balanced]:
        """Move runs of cells if the ranks' numbers of cells differ too much. Collective.

        Parameters
        ----------
        state : float64 array, shape (at least owned, column)

        Returns
        -------
        float64 array, shape (owned cell now, column)
        Balanced
        """
        counts = self._counts()
        mean = counts.sum() / counts.size
        before = after = float(counts.max() / mean)
        moved = 0
        if before > self.threshold:
            splits = even_splits(self.communicator, counts, self._begins())
            wanted = np.diff(splits)
            if (wanted != counts).any():
                state = np.ascontiguousarray(state, np.float64)
                state, moved = self._move(state, counts, splits)
                self._link()
                after = float(wanted.max() / mean)
        balanced = Balanced(moved=moved, imbalance_before=before, imbalance_after=after)
        return state[: self._owned], balanced

    def connect(self, state: State) -> State:
        """Find ghosts, faces and walls if the mesh changed. Collective.

        Parameters
        ----------
        state : float64 array, shape (at least owned, column)

        Returns
        -------
        float64 array, shape (owned + ghosts, column)
            The ghosts are not filled yet.
        """
        if self._changed:
            self._renew()
        rows = self.patch.owned + self.patch.ghosts
        if state.shape[0] == rows and state.flags.c_contiguous:
            return state
        return self._store.widen_state(state, self._owned, rows)

    def cells(self) -> Cells:
        """Return the cells of this rank, in order."""
        cells, owned = self._store.cells, self._owned
        return Cells(i=cells.i[:owned], j=cells.j[:owned], level=cells.level[:owned])

    def edges(self, columns: int) -> Edges:
        """Return from whom how many bytes come in one exchange of so many numbers a cell."""
        source, many = self._connection.incoming()
        return Edges(
            source=source,
            target=np.full(source.size, self.communicator.rank, np.int32),
            bytes=8 * columns * many,
        )

    def blocks(self, side: int = 1) -> Blocks:
        """Return how many of this rank's cells are in each block of side x side base cells."""
        if side < 1:
            raise UsageError(f"Blocks of {side} base cells a side; at least 1.")
        cells = self._store.cells
        begin = self._begins()
        across = -(-self.base[0] // side)
        level = cells.level[begin]
        place = (cells.j[begin] >> level) // side * across + (cells.i[begin] >> level) // side
        block, part = np.unique(place.astype(np.int64), return_inverse=True)
        load = np.zeros(block.size, np.int64)
        np.add.at(load, part, np.diff(begin, append=self._owned))
        return Blocks(
            block=block, owner=np.full(block.size, self.communicator.rank, np.int32), load=load
        )

    def locate(self, i: int, j: int, level: int) -> int:
        """Return the owned row of the cell that covers a place, -1 if it is not here.

        Parameters
        ----------
        i, j, level : int
            A square of the domain, in cells of that level.
        """
        key = np.empty(1, np.int64)
        columns, rows = self._tables
        compiled(key_loop)(
            columns, rows, self.levels, 0, 1,
            np.array([i], np.int32), np.array([j], np.int32), np.array([level], np.int8), key,
        )  # fmt: skip
        cells = self._store.cells
        row = int(np.searchsorted(cells.key[: self._owned], key[0], side="right")) - 1
        if row < 0 or key[0] - cells.key[row] >= 1 << 2 * (self.levels - int(cells.level[row])):
            return -1
        return row

    def _take(self, cells: Cells) -> None:
        """Let given cells be those of this rank."""
        self._owned = cells.level.size
        self._store = Store(self._owned)
        own, (columns, rows) = self._store.cells, self._tables
        own.i[: self._owned] = cells.i
        own.j[: self._owned] = cells.j
        own.level[: self._owned] = cells.level
        compiled(key_loop)(
            columns, rows, self.levels, 0, self._owned, own.i, own.j, own.level, own.key
        )

    def _counts(self) -> NDArray[np.int64]:
        """Return the cells of every rank. Collective."""
        counts = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(np.array([self._owned], np.int64), counts)
        return counts

    def _begins(self) -> NDArray[np.int64]:
        """Return the rows at which base cells begin."""
        within = (1 << 2 * self.levels) - 1
        return np.flatnonzero((self._store.cells.key[: self._owned] & within) == 0)

    def _move(
        self, state: State, counts: NDArray[np.int64], splits: NDArray[np.int64]
    ) -> tuple[State, int]:
        state, moved = move_cells(
            self.communicator, self._store, self._tables, self.levels, state, counts, splits
        )
        self._owned = state.shape[0]
        self._changed = True
        return state, moved

    def _link(self) -> None:
        """Find the base cells of this rank and those next to them. Collective."""
        cells, begin = self._store.cells, self._begins()
        level = cells.level[begin]
        key = cells.key[begin] >> 2 * self.levels
        first_key = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(key[:1], first_key)
        self._roots = link_roots(
            self._tables, key, cells.i[begin] >> level, cells.j[begin] >> level, first_key
        )

    def _renew(self) -> None:
        """Connect the cells anew."""
        row = self._connection.renew(
            self.communicator, self._way, self._store, self._tables, self._roots, self.levels,
            self._owned,
        )  # fmt: skip
        if row >= 0:
            cells = self._store.cells
            raise DataError(
                f"The cell ({cells.i[row]}, {cells.j[row]}) of level {cells.level[row]} has a "
                "neighbour that is finer by two levels; one is allowed: take a mesh as written."
            )
        self._changed = False
        self.epoch += 1
