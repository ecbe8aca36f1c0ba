"""The order of the cells: keys along Morton's curve, and the cells that a mesh begins with.

The mesh is numbered along Morton's curve, and split into the parts of the ranks. A key is the place
of the lowest corner of a cell on the curve through the cells of the finest level; a cell of level l
covers 4^(levels - l) keys. Therefore the children of a cell are consecutive, and cells never need
sorting again. A key is the sum of a term of its column and one of its row: the order is two tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError

Tables = tuple[NDArray[np.int64], NDArray[np.int64]]
INDEX_BITS, KEY_BITS = 24, 62
"""Of the finest cells along a side, for which there are tables; of keys, which are int64."""


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

    def keys(self, tables: Tables, levels: int) -> NDArray[np.int64]:
        """Return the key of each cell."""
        finest = levels - self.level.astype(np.int64)
        return np.asarray(tables[0][self.i << finest] + tables[1][self.j << finest])

    def child(self) -> NDArray[np.int64]:
        """Return which of the four children of its parent each cell is, in the order of keys."""
        return (self.i & 1 | (self.j & 1) << 1).astype(np.int64)


def tables_of(base: tuple[int, int], levels: int) -> Tables:
    """Return the terms of columns and rows of the finest cells; a long mesh is adjacent squares.

    Parameters
    ----------
    base : (int, int)
        Columns and rows of the base mesh.
    levels : int
        Largest level of a cell.

    Raises
    ------
    UsageError
        No cells, or too many cells for tables or keys.
    """
    nx, ny = base
    if nx < 1 or ny < 1 or levels < 0:
        raise UsageError(
            f"A base mesh of {nx} x {ny} cells with {levels} levels; it needs at least 1 x 1 "
            "cells and 0 levels."
        )
    across, up = ((count - 1).bit_length() + levels for count in base)
    if max(across, up) > INDEX_BITS or across + up > KEY_BITS:
        raise UsageError(
            f"A base mesh of {nx} x {ny} cells and {levels} levels needs indices of "
            f"{max(across, up)} bits and keys of {across + up}; at most {INDEX_BITS} and "
            f"{KEY_BITS}: choose fewer cells or levels."
        )
    bits = min(across, up)

    def term(count: int) -> NDArray[np.int64]:
        index = np.arange(count << levels, dtype=np.int64)
        # Only the longer side has bits beyond the square: the number of the square.
        found = index >> bits << 2 * bits
        for bit in range(bits):
            found |= (index >> bit & 1) << 2 * bit
        return found

    columns, rows = term(nx), term(ny)
    within = (1 << 2 * bits) - 1
    return columns, (rows & within) << 1 | rows & ~within


def base_part(tables: Tables, levels: int, rank: int, ranks: int) -> Cells:
    """Return a rank's equal part of the base mesh."""
    columns, rows = (table[:: 1 << levels] for table in tables)
    placed = np.argsort((rows[:, None] + columns[None, :]).ravel())
    part = placed[rank * placed.size // ranks : (rank + 1) * placed.size // ranks]
    return Cells(
        i=(part % columns.size).astype(np.int32),
        j=(part // columns.size).astype(np.int32),
        level=np.zeros(part.size, np.int8),
    )


def check_tiling(communicator: Any, cells: Cells, tables: Tables, levels: int) -> None:
    """Raise a DataError unless the cells of all ranks tile the domain along the curve. Collective.

    They do if they lie in the domain, their areas add up to it, and their keys ascend.
    """
    level = np.clip(cells.level.astype(np.int64), 0, levels)
    outside = level != cells.level
    for index, table in zip((cells.i, cells.j), tables, strict=True):
        outside |= (index < 0) | (index >= table.size >> levels - level)
    if outside.any():
        ends = [-1, -1, 0]
    else:
        key, size = cells.keys(tables, levels), np.int64(1) << 2 * (levels - level)
        apart = bool((key[1:] < (key + size)[:-1]).any())
        ends = [int(key[0]), int(key[-1] + size[-1]), int(size.sum())] if key.size else [0, 0, 0]
        ends = [-1, -1, 0] if apart else ends
    parts = [each for each in communicator.allgather(ends) if each[1]]
    area = sum(part[2] for part in parts)
    ordered = all(before[1] <= after[0] for before, after in pairwise(parts))
    if not ordered or area != tables[0].size * tables[1].size:
        nx, ny = (table.size >> levels for table in tables)
        raise DataError(
            f"The cells do not tile a base mesh of {nx} x {ny} with {levels} levels along the "
            "curve; use the mesh from which they were written, and all of its cells in their order."
        )
