"""A rank's part of the mesh between two adaptions, on which physics computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

    @property
    def messages(self) -> int:
        """Number of messages that this rank sends in one exchange."""

    def bytes_sent(self, columns: int) -> int:
        """Return the bytes that this rank sends in one exchange of `columns` numbers per cell."""

    def fill(self, field: NDArray[np.float64]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""
