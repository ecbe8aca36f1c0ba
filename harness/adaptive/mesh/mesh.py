"""The adaptive mesh of a rank: adapt, balance, connect."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.mesh.adapt import Adapted, adapted
from hindmost.harness.adaptive.mesh.connection import connected
from hindmost.harness.adaptive.mesh.order import (
    Cells,
    base_part,
    check_cells,
    check_order,
    tables_of,
)
from hindmost.harness.adaptive.mesh.part import MeshPart
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.cycles import BlockEdges, Blocks

State = NDArray[np.float64]


class Mesh(MeshPart):
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
    cells : Cells, optional
        Cells that this rank has read; see `from_cells`.

    Attributes
    ----------
    patch, exchange : Patch, Exchange
        The rank's part and the exchange of ghosts, as of the last `connect`.
    epoch : int
        Number of the mesh; every `connect` to a changed mesh increases it.

    Raises
    ------
    UsageError
        More ranks than base cells, or sizes that overflow keys.
    """

    patch: Patch
    exchange: Exchange

    def __init__(
        self,
        communicator: Any,
        base: tuple[int, int],
        levels: int,
        *,
        threshold: float = 1.02,
        most_cells: int | None = None,
        cells: Cells | None = None,
    ) -> None:
        tables, ranks = tables_of(base, levels), communicator.size
        if ranks > base[0] * base[1]:
            raise UsageError(
                f"{ranks} ranks for a base mesh of {base[0]} x {base[1]} cells; a rank needs at "
                f"least one base cell: start at most {base[0] * base[1]}, or choose a larger mesh."
            )
        own = base_part(tables, communicator.rank, ranks) if cells is None else cells
        super().__init__(communicator, tables, levels, own)
        self.base, self.threshold, self.most_cells = base, threshold, most_cells
        self.epoch = -1
        if cells is None:
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
        keep: bool = False,
        **options: Any,
    ) -> tuple[Mesh, State]:
        """Return a mesh of given cells, and the state with space for ghosts. Collective.

        Parameters
        ----------
        cells : Cells
            Cells that this rank has read: any number, in order over the ranks.
        state : float64 array, shape (cell, column)
        keep : bool
            Whether ranks keep the cells they read; these must begin with a base cell.
        **options
            ``threshold`` and ``most_cells``.

        Raises
        ------
        DataError
            The cells do not tile the domain along the curve, or neighbours differ by two levels.
        """
        check_cells(communicator, cells, base, levels)
        mesh = cls(communicator, base, levels, cells=cells, **options)
        check_order(communicator, mesh.columns.key, mesh.columns.level, levels)
        counts = mesh.counts()
        splits = np.concatenate([[0], np.cumsum(counts)]) if keep else mesh.split()
        state, _ = mesh.move(np.ascontiguousarray(state, np.float64), counts, splits)
        return mesh, mesh.connect(state)

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
        owned = self.owned
        flags = np.ascontiguousarray(flags, np.int8)
        state = np.ascontiguousarray(state, np.float64)
        if flags.shape != (owned,) or state.ndim != 2 or state.shape[0] < owned:
            raise DataError(
                f"Flags of shape {flags.shape} and a state of shape {state.shape} for {owned} "
                "cells; flags are (owned,) and a state is (at least owned, columns)."
            )
        if self.changed:
            raise DataError("The mesh has changed and its faces are unknown; call connect first.")
        return adapted(self, self.patch, self.exchange, flags, state, self.most_cells)

    def balance(self, state: State) -> tuple[State, int]:
        """Split the order again if the load imbalance exceeds the threshold. Collective.

        Parameters
        ----------
        state : float64 array, shape (at least owned, column)

        Returns
        -------
        float64 array, shape (owned cell now, column)
        int
            Number of cells that this rank sent away.
        """
        state = np.ascontiguousarray(state, np.float64)
        counts, moved = self.counts(), 0
        if counts.max() > self.threshold * counts.mean():
            splits = self.split()
            if (np.diff(splits) != counts).any():
                state, moved = self.move(state, counts, splits)
        return state[: self.owned], moved

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
        if self.changed:
            self._renew()
        rows = self.patch.owned + self.patch.ghosts
        if state.shape[0] == rows and state.flags.c_contiguous:
            return state
        wider = np.empty((rows, state.shape[1]))
        wider[: self.owned] = state[: self.owned]
        return wider

    def _renew(self) -> None:
        """Connect the cells."""
        self.patch, self.exchange = connected(self)
        self.changed = False
        self.epoch += 1

    def cells(self) -> Cells:
        """Return the cells of this rank, in order."""
        own = self.columns
        return Cells(i=own.i, j=own.j, level=own.level)

    def edges(self, columns: int, epoch: int) -> Edges:
        """Return who sends to this rank in one exchange of `columns` numbers per cell."""
        mirrors = self.exchange.mirrors
        peers = mirrors.peers.size
        return Edges(
            source=mirrors.peers,
            target=np.full(peers, self.communicator.rank, np.int32),
            bytes=8 * columns * np.diff(mirrors.received),
            messages=np.ones(peers, np.int32),
            epoch=np.full(peers, epoch, np.int32),
        )

    def blocks(self, columns: int, epoch: int) -> Blocks:
        """Return this rank's base cells with their cells, and which others need how much of them.

        A cell that two base cells need counts for both, also where one rank has both.
        """
        patch, own, begin = self.patch, self.columns, self.begins()
        level = own.level[begin]
        of_begin = (own.j[begin] >> level).astype(np.int64) * self.base[0] + (own.i[begin] >> level)
        load = np.diff(begin, append=self.owned).astype(np.float64)

        total = self.base[0] * self.base[1]
        i, j = patch.i >> patch.level, patch.j >> patch.level
        place = j.astype(np.int64) * self.base[0] + i
        cell, needs = [], []
        for faces in (patch.x_faces, patch.y_faces):
            for here, there in ((faces.lower, faces.upper), (faces.upper, faces.lower)):
                across = (place[here] != place[there]) & (here < patch.owned)
                cell.append(here[across].astype(np.int64))
                needs.append(place[there[across]])
        # A cell goes once to each block that needs it, over however many faces.
        once = np.unique(np.concatenate(cell) * total + np.concatenate(needs))
        row, target = np.divmod(once, total)
        pair, count = np.unique(place[row] * total + target, return_counts=True)
        source, target = np.divmod(pair, total)
        order = np.argsort(of_begin)
        return Blocks(
            place=of_begin[order],
            owner=np.full(begin.size, self.communicator.rank, np.int32),
            load=load[order],
            epoch=np.full(begin.size, epoch, np.int32),
            edges=BlockEdges(
                source=source,
                target=target,
                bytes=8 * columns * count.astype(np.int64),
                epoch=np.full(pair.size, epoch, np.int32),
            ),
        )
