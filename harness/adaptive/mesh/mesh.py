"""The adaptive mesh of a rank: adapt, balance, connect.

All cells within a base cell are on one rank: therefore siblings are on one rank at all levels, and
combining does not depend on the ranks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.mesh.adapt import COMBINED, DIVIDED, rewritten, settled
from hindmost.harness.adaptive.mesh.connection import connected
from hindmost.harness.adaptive.mesh.order import Cells, base_part, check_tiling, tables_of
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.harness.runfile.cycles import BlockEdges, Blocks

State = NDArray[np.float64]
THRESHOLD = 1.02
"""Load imbalance, maximum over mean of cells, above which cells are moved."""


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
    cells : Cells, optional
        Cells that this rank has read; see `from_cells`.

    Attributes
    ----------
    cells : Cells
        The current ones, also before they are connected.
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
        threshold: float = THRESHOLD,
        most_cells: int | None = None,
        cells: Cells | None = None,
    ) -> None:
        self._tables, ranks = tables_of(base, levels), communicator.size
        if ranks > base[0] * base[1]:
            raise UsageError(
                f"{ranks} ranks for a base mesh of {base[0]} x {base[1]} cells; a rank needs at "
                f"least one base cell: start at most {base[0] * base[1]}, or choose a larger mesh."
            )
        self.communicator, self.base, self.levels = communicator, base, levels
        self.threshold, self.most_cells = threshold, most_cells
        self._changed, self.epoch = True, -1
        if cells is None:
            self._take(base_part(self._tables, levels, communicator.rank, ranks))
            self.connect(np.empty((self.owned, 1)))
        else:
            check_tiling(communicator, cells, self._tables, levels)
            self._take(cells)

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
        mesh = cls(communicator, base, levels, cells=cells, **options)
        if not keep:
            state, _ = mesh._move(np.ascontiguousarray(state), mesh._counts(), mesh._split())
        return mesh, mesh.connect(state)

    @property
    def owned(self) -> int:
        """The current number of cells of this rank."""
        return self.cells.level.size

    def _take(self, cells: Cells) -> None:
        """Have these cells, which are not connected yet."""
        self.cells, self._key = cells, cells.keys(self._tables, self.levels)

    def adapt(self, flags: NDArray[np.int8], state: State) -> tuple[State, int, int]:
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
        int, int
            Cells of this rank that were divided, and that result from combining four.
        """
        level, here, total = settled(
            self.cells, self.levels, self.patch, self.exchange, flags, self.most_cells
        )
        if total[DIVIDED] or total[COMBINED]:
            self._changed = True
        if here[DIVIDED] or here[COMBINED]:
            cells, state = rewritten(self.cells, level, state)
            self._take(cells)
        return state[: self.owned], int(here[DIVIDED]), int(here[COMBINED])

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
        counts, moved = self._counts(), 0
        if counts.max() > self.threshold * counts.mean():
            splits = self._split()
            if (np.diff(splits) != counts).any():
                state, moved = self._move(np.ascontiguousarray(state), counts, splits)
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
        if self._changed:
            self.patch, self.exchange = connected(
                self.communicator, self._tables, self.levels, self.cells, self._key
            )
            self._changed = False
            self.epoch += 1
        rows = self.patch.owned + self.patch.ghosts
        if state.shape[0] == rows and state.flags.c_contiguous:
            return state
        wider = np.empty((rows, state.shape[1]))
        wider[: self.owned] = state[: self.owned]
        return wider

    def _counts(self) -> NDArray[np.int64]:
        """Return the cells of every rank. Collective."""
        counts = np.empty(self.communicator.size, np.int64)
        self.communicator.Allgather(np.array([self.owned], np.int64), counts)
        return counts

    def _begins(self) -> NDArray[np.int64]:
        """Return the rows at which base cells begin."""
        within = (1 << 2 * self.levels) - 1
        return np.flatnonzero((self._key & within) == 0)

    def _split(self) -> NDArray[np.int64]:
        """Return the first cell of each rank's part, for parts of nearly equal size. Collective.

        Parts begin with base cells: an even split is moved to the nearest begin of one.

        Returns
        -------
        int64 array, shape (rank + 1,)
            From 0 to the number of all cells, strictly ascending.
        """
        communicator, counts = self.communicator, self._counts()
        ranks, total = counts.size, int(counts.sum())
        begins = self._begins() + counts[: communicator.rank].sum()
        edges = np.append(np.concatenate(communicator.allgather(begins)), total)
        splits = np.zeros(ranks + 1, np.int64)
        at = 0
        for rank in range(1, ranks):
            close = nearest(edges, total * rank // ranks)
            at = min(max(close, at + 1), edges.size - 1 - (ranks - rank))
            splits[rank] = edges[at]
        splits[-1] = total
        return splits

    def _move(
        self, state: State, counts: NDArray[np.int64], splits: NDArray[np.int64]
    ) -> tuple[State, int]:
        """Send and receive the cells between old and new splits. Collective.

        Parameters
        ----------
        counts : int64 array, shape (rank,)
            Previous number of cells of all ranks.
        splits : int64 array, shape (rank + 1,)
            First cell of each rank's new part, and the number of all cells.

        Returns
        -------
        float64 array, shape (owned cell now, column)
        int
            Number of cells that this rank sent away.
        """
        rank, old = self.communicator.rank, np.concatenate([[0], np.cumsum(counts)])
        sent = overlaps(old[rank : rank + 2], splits)
        received = overlaps(splits[rank : rank + 2], old)

        def moved(before: NDArray[Any]) -> NDArray[Any]:
            wide = int(np.prod(before.shape[1:]))
            after = np.empty((int(received.sum()), *before.shape[1:]), before.dtype)
            self.communicator.Alltoallv([before, wide * sent], [after, wide * received])
            return after

        own = self.cells
        self._take(Cells(i=moved(own.i), j=moved(own.j), level=moved(own.level)))
        self._changed = True
        return moved(state[: sent.sum()]), int(sent.sum() - sent[rank])

    def senders(self, columns: int) -> list[tuple[int, int]]:
        """Return who sends to this rank in one exchange of `columns` numbers per cell: bytes."""
        sizes = 8 * columns * np.diff(self.exchange.received)
        return list(zip(self.exchange.peers.tolist(), sizes.tolist(), strict=True))

    def blocks(self, columns: int, epoch: int) -> Blocks:
        """Return this rank's base cells with their cells, and which others need how much of them.

        A cell that two base cells need counts for both, also where one rank has both.
        """
        patch, own, begin = self.patch, self.cells, self._begins()
        level = own.level[begin]
        of_begin = (own.j[begin] >> level).astype(np.int64) * self.base[0] + (own.i[begin] >> level)
        load = np.diff(begin, append=self.owned).astype(np.float64)

        total = self.base[0] * self.base[1]
        i, j = patch.i >> patch.level, patch.j >> patch.level
        place = j.astype(np.int64) * self.base[0] + i
        cell, needs, faces = [], [], patch.faces
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


def overlaps(part: NDArray[np.int64], splits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of a range of cells every part has.

    Parameters
    ----------
    part : int64 array, shape (2,)
    splits : int64 array, shape (rank + 1,)
    """
    low, high = np.maximum(part[0], splits[:-1]), np.minimum(part[1], splits[1:])
    return np.asarray(np.maximum(high - low, 0))


def nearest(edges: NDArray[np.int64], wanted: int) -> int:
    """Return the index of the nearest edge of a place, the lower of two equally near ones."""
    above = min(max(int(np.searchsorted(edges, wanted)), 1), edges.size - 1)
    return above - 1 if wanted - edges[above - 1] <= edges[above] - wanted else above
