"""Cells in checkpoints, and their number in blocks of the domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells in the order of a mesh.

    Attributes
    ----------
    i, j : int32 arrays, shape (cell,)
        Indices at the level of each cell.
    level : int8 array, shape (cell,)
        0 for cells of the base mesh.
    """

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    level: NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLoads:
    """The number of cells of a rank in each block of the domain.

    A block that two ranks share appears on both.

    Attributes
    ----------
    block : int64 array, shape (block of this rank,)
        Block number, row by row over the domain.
    owner : int32 array, shape (block of this rank,)
        This rank.
    load : int64 array, shape (block of this rank,)
        Number of cells.
    """

    block: NDArray[np.int64]
    owner: NDArray[np.int32]
    load: NDArray[np.int64]
