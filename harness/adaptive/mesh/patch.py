"""A rank's part of the mesh between two adaptions, and the exchange of its ghosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDES = ("x low", "x high", "y low", "y high")
"""Sides of the domain, in the order of `Walls.side`."""
Fill = Callable[[NDArray[Any]], None]
"""Fills the ghost rows of a field, shape (at least owned + ghosts, column), contiguous; collective
over neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faces:
    """Faces between two cells, each once: first those across x, then those across y.

    The faces of a cell have the same order on any number of ranks, so that sums over them are
    bitwise identical.

    Attributes
    ----------
    lower, upper : int32 array, shape (face,)
        Rows of the cells on the lower and the upper side; at least one is owned.
    level : int8 array, shape (face,)
        Level of the finer cell; the length of the face is ``spacing / 2**level``.
    across_x : int
        Number of faces across x.
    """

    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    level: NDArray[np.int8]
    across_x: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """Sides of owned cells on the border of the domain, in the order of the cells.

    Attributes
    ----------
    cell : int32 array, shape (wall,)
    side : int8 array, shape (wall,)
        See `SIDES`.
    """

    cell: NDArray[np.int32]
    side: NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Owned cells in the order of the curve, then ghosts; faces and walls.

    A cell of level l at (i, j) is the square at ``(i, j) * spacing / 2**l`` of width
    ``spacing / 2**l``.

    Attributes
    ----------
    owned, ghosts : int
    i, j : int32 array, shape (owned + ghosts,)
    level : int8 array, shape (owned + ghosts,)
        0 for cells of the base mesh.
    faces : Faces
    walls : Walls
    """

    owned: int
    ghosts: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    level: NDArray[np.int8]
    faces: Faces
    walls: Walls


EXCHANGE_TAG = 71


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Rows that peers need are packed and sent; ghosts arrive where they belong.

    Attributes
    ----------
    communicator : MPI communicator
    peers : int32 array, shape (peer,)
        Ranks; numbers of rows sent and received may differ.
    row : int32 array, shape (mirror,)
        Owned rows that peers need, peer by peer.
    sent, received : int64 arrays, shape (peer + 1,)
        Begin of each peer's rows in `row`, and of its ghosts after the owned rows.
    owned : int
    """

    communicator: Any
    peers: NDArray[np.int32]
    row: NDArray[np.int32]
    sent: NDArray[np.int64]
    received: NDArray[np.int64]
    owned: int

    @property
    def messages(self) -> int:
        """Number of messages that this rank sends in one exchange."""
        return int(self.peers.size)

    def bytes_sent(self, columns: int) -> int:
        """Return the bytes that this rank sends in one exchange of `columns` numbers per cell."""
        return 8 * columns * int(self.row.size)

    def fill(self, field: NDArray[Any]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""
        if self.peers.size == 0:
            return
        from mpi4py import MPI

        packed, ghosts = field[self.row], field[self.owned :]
        requests = []
        for at, peer in enumerate(self.peers.tolist()):
            theirs = ghosts[self.received[at] : self.received[at + 1]]
            mine = packed[self.sent[at] : self.sent[at + 1]]
            requests.append(self.communicator.Irecv(theirs, source=peer, tag=EXCHANGE_TAG))
            requests.append(self.communicator.Isend(mine, dest=peer, tag=EXCHANGE_TAG))
        MPI.Request.Waitall(requests)
