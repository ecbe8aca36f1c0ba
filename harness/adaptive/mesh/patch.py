"""A rank's part of the mesh between two adaptions, and the exchange of its ghosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SIDES = ("x low", "x high", "y low", "y high")
"""Sides of the domain, in the order of `Walls.side`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faces:
    """Faces between two cells across one axis, each once.

    The faces of a cell have the same order on any number of ranks, so that sums over them are
    bitwise identical.

    Attributes
    ----------
    lower, upper : int32 array, shape (face,)
        Rows of the cells on the lower and the upper side; at least one is owned.
    level : int8 array, shape (face,)
        Level of the finer cell; the length of the face is ``spacing / 2**level``.
    """

    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    level: NDArray[np.int8]


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
    x_faces, y_faces : Faces
    walls : Walls
    """

    owned: int
    ghosts: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    level: NDArray[np.int8]
    x_faces: Faces
    y_faces: Faces
    walls: Walls


class HaloExchange(Protocol):
    """Fills ghosts from their owners; collective over neighbours."""

    def fill(self, field: NDArray[np.float64]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""


EXCHANGE_TAG = 71


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrors:
    """The rows that each peer needs.

    Attributes
    ----------
    peers : int32 array, shape (peer,)
        Ranks; numbers of rows sent and received may differ.
    row : int32 array, shape (mirror,)
        Owned rows that peers need, peer by peer.
    sent, received : int64 arrays, shape (peer + 1,)
        Begin of each peer's mirrors in `row`, and of its ghosts after the owned rows.
    owned : int
    """

    peers: NDArray[np.int32]
    row: NDArray[np.int32]
    sent: NDArray[np.int64]
    received: NDArray[np.int64]
    owned: int


class Exchange:
    """Rows that peers need are packed and sent; ghosts arrive where they belong."""

    def __init__(self, communicator: Any, mirrors: Mirrors) -> None:
        self.communicator, self.mirrors = communicator, mirrors

    @property
    def messages(self) -> int:
        """Number of messages that this rank sends in one exchange."""
        return int(self.mirrors.peers.size)

    def bytes_sent(self, columns: int) -> int:
        """Return the bytes that this rank sends in one exchange of `columns` numbers per cell."""
        return 8 * columns * int(self.mirrors.row.size)

    def fill(self, field: NDArray[Any]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""
        mirrors = self.mirrors
        if mirrors.peers.size == 0:
            return
        from mpi4py import MPI

        packed, ghosts = field[mirrors.row], field[mirrors.owned :]
        requests = []
        for at, peer in enumerate(mirrors.peers.tolist()):
            theirs = ghosts[mirrors.received[at] : mirrors.received[at + 1]]
            mine = packed[mirrors.sent[at] : mirrors.sent[at + 1]]
            requests.append(self.communicator.Irecv(theirs, source=peer, tag=EXCHANGE_TAG))
            requests.append(self.communicator.Isend(mine, dest=peer, tag=EXCHANGE_TAG))
        MPI.Request.Waitall(requests)
