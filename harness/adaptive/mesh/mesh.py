"""The adaptive mesh of a rank: adapt, balance, connect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.mesh.adapt import Adapted, Adaption
from hindmost.harness.adaptive.mesh.connection import Connection
from hindmost.harness.adaptive.mesh.load_balance import (
    Balanced,
    balance,
    check_ranks,
    gathered_splits,
)
from hindmost.harness.adaptive.mesh.order import (
    BlockLoads,
    Cells,
    base_part,
    check_cells,
    check_order,
    tables_of,
)
from hindmost.harness.adaptive.mesh.part import BlockNeeds, MeshPart, block_needs
from hindmost.harness.adaptive.mesh.patch import HaloExchange, Patch
from hindmost.harness.runfile.contents import Edges

State = NDArray[np.float64]


class Mesh:
    """A mesh of square cells; each rank owns consecutive cells along a curve.

    A cycle calls `adapt`, `balance` and `connect`, in this order; until `connect`, `patch` and
    `exchange` are the old ones. Do not use a state after passing it in: the returned one may share
    its memory.

    Parameters
    ----------
    communicator : MPI communicator
    base : (int, int)
        Columns and rows of the base mesh.
    levels : int
        Largest level of a cell; 0 for a fixed mesh.
    threshold : float
        Cells move if the load imbalance, maximum over mean of cells, exceeds it.
    most_cells : int or None
        No cell divides if all ranks together would exceed this number.

    Attributes
    ----------
    epoch : int
        Number of the mesh; every `connect` to a changed mesh increases it.

    Raises
    ------
    UsageError
        More ranks than base cells, sizes that overflow keys, or a threshold below 1.
    """

    def __init__(
        self,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        *,
        threshold: float = 1.02,
        most_cells: int | None = None,
    ) -> None:
        self._prepare(communicator, base, levels, threshold, most_cells)
        cells = base_part(self._tables, communicator.rank, communicator.size)
        self._part = MeshPart(communicator, self._tables, levels, cells)
        self._part.link()
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
        threshold: float = 1.02,
        most_cells: int | None = None,
        keep: bool = False,
    ) -> tuple[Mesh, State]:
        """Return a mesh of given cells, and the state with space for ghosts. Collective.

        Parameters
        ----------
        cells : Cells
            Cells that this rank has read: any number, in order over the ranks.
        state : float64 array, shape (cell, column)
        keep : bool
            Whether ranks keep the cells they read; these must begin with a base cell.

        Raises
        ------
        DataError
            The cells do not tile the domain along the curve, or neighbours differ by two levels.
        """
        mesh = cls.__new__(cls)
        mesh._prepare(communicator, base, levels, threshold, most_cells)
        check_cells(communicator, cells, base, levels)
        part = mesh._part = MeshPart(communicator, mesh._tables, levels, cells)
        read, key = part.cells(), part.columns.key
        check_order(communicator, key, read.level, levels)
        counts = part.counts()
        if keep:
            splits = np.concatenate([[0], np.cumsum(counts)])
        else:
            splits = gathered_splits(communicator, counts, part.begins())
        state, _ = part.move(np.ascontiguousarray(state, np.float64), counts, splits)
        mesh._renew()
        return mesh, mesh.connect(state)

    def _prepare(
        self,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        threshold: float,
        most_cells: int | None,
    ) -> None:
        if not threshold >= 1.0:
            raise UsageError(
                f"Balance threshold {threshold}: a load imbalance (maximum over mean of cells) is "
                "at least 1."
            )
        self._tables = tables_of(base, levels)
        check_ranks(communicator.size, base)
        self.communicator = communicator
        self.base = base
        self.levels = levels
        self.threshold = threshold
        self.most_cells = most_cells
        self.epoch = -1
        self._connection = Connection()
        self._adaption = Adaption()

    @property
    def patch(self) -> Patch:
        """The rank's part, as of the last `connect`."""
        return self._connection.patch

    @property
    def exchange(self) -> HaloExchange:
        """The exchange of ghosts, as of the last `connect`."""
        return self._connection.exchange

    @property
    def owned(self) -> int:
        """Current number of cells of this rank, also before they are connected."""
        return self._part.owned

    def adapt(self, flags: NDArray[np.int8], state: State) -> tuple[State, Adapted]:
        """Divide and combine cells as flagged, within the limits set by neighbours. Collective.

        Neighbours across a face may differ by at most one level. More cells are divided, and fewer
        combined, until that holds. Four siblings combine if all are flagged. The result depends
        neither on the number of ranks nor on the order.

        Parameters
        ----------
        flags : int8 array, shape (owned,)
            -1: may combine, 0: unchanged, 1: divides.
        state : float64 array, shape (at least owned, column), densities

        Returns
        -------
        float64 array, shape (owned cell now, column)
        Adapted

        Raises
        ------
        DataError
            Flags or state of another mesh, or the mesh was adapted but not connected.
        """
        owned = self._part.owned
        flags = np.ascontiguousarray(flags, np.int8)
        state = np.ascontiguousarray(state, np.float64)
        if flags.shape != (owned,) or state.ndim != 2 or state.shape[0] < owned:
            raise DataError(
                f"Flags of shape {flags.shape} and a state of shape {state.shape} for {owned} "
                "cells; flags are (owned,) and a state is (at least owned, columns)."
            )
        if self._part.changed:
            raise DataError("The mesh has changed and its faces are unknown; call connect first.")
        return self._adaption.run(self._part, self._connection, flags, state, self.most_cells)

    def balance(self, state: State) -> tuple[State, Balanced]:
        """Move cells between ranks if their numbers of cells differ too much. Collective.

        Parameters
        ----------
        state : float64 array, shape (at least owned, column)

        Returns
        -------
        float64 array, shape (owned cell now, column)
        Balanced
        """
        return balance(self._part, np.ascontiguousarray(state, np.float64), self.threshold)

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
        if self._part.changed:
            self._renew()
        rows = self.patch.owned + self.patch.ghosts
        if state.shape[0] == rows and state.flags.c_contiguous:
            return state
        wider = np.empty((rows, state.shape[1]))
        wider[: self._part.owned] = state[: self._part.owned]
        return wider

    def cells(self) -> Cells:
        """Return the cells of this rank, in order."""
        return self._part.cells()

    def edges(self, columns: int) -> Edges:
        """Return the sources and bytes of one exchange of `columns` numbers per cell."""
        source, many = self._connection.incoming()
        target = np.full(source.size, self.communicator.rank, np.int32)
        return Edges(source=source, target=target, bytes=8 * columns * many)

    def blocks(self, side: int = 1) -> BlockLoads:
        """Return the number of this rank's cells in each block of side x side base cells.

        Raises
        ------
        UsageError
            A side below 1.
        """
        if side < 1:
            raise UsageError(f"Blocks have at least 1 base cell per side, not {side}.")
        return self._part.blocks(side)

    def block_needs(self) -> BlockNeeds:
        """Return what other base cells need of this rank's, as of the last `connect`."""
        return block_needs(self.patch, self.base)

    def locate(self, i: int, j: int, level: int) -> int:
        """Return the owned row of the cell that covers a square, -1 if another rank owns it.

        Parameters
        ----------
        i, j, level : int
            A square of the domain, in cells of that level.
        """
        return self._part.locate(i, j, level)

    def _renew(self) -> None:
        """Connect the cells."""
        self._connection.renew(self._part)
        self._part.changed = False
        self.epoch += 1
