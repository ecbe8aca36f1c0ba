"""The order of the base mesh, keys of cells, and the cells that a mesh begins with.

The base mesh is numbered along Morton's curve, and split into the parts of the ranks. A key refers
to the finest level: the base cell's key in the high bits, and Morton's index within it in the low
bits, x in even and y in odd ones. A cell of level l covers 4^(levels - l) keys. Therefore the
children of a cell are consecutive, and cells never need sorting again. A base cell's key is the sum
of a term of its column and one of its row: the order is two tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError

Tables = tuple[NDArray[np.int64], NDArray[np.int64]]
INDEX_BITS = 31
"""Indices of cells are int32."""
KEY_BITS = 62
"""Keys are int64, including one beyond the last."""


def along_curve(nx: int, ny: int) -> Tables:
    """Return the tables of Morton's curve; a long mesh consists of adjacent squares."""
    bits = min((nx - 1).bit_length(), (ny - 1).bit_length())
    columns, rows = np.arange(nx, dtype=np.int64), np.arange(ny, dtype=np.int64)
    within = (1 << bits) - 1
    # Only the longer side has bits beyond the square: the number of the square.
    return (
        spread(columns & within, bits) + (columns >> bits << 2 * bits),
        (spread(rows & within, bits) << 1) + (rows >> bits << 2 * bits),
    )


def spread(number: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return numbers with a zero before each of their lowest bits."""
    apart = np.zeros_like(number)
    for bit in range(bits):
        apart |= (number >> bit & 1) << 2 * bit
    return apart


def tables_of(base: tuple[int, int], levels: int) -> Tables:
    """Return the tables of the order of a base mesh.

    Parameters
    ----------
    base : (int, int)
        Columns and rows of the base mesh.
    levels : int
        Largest level of a cell.

    Raises
    ------
    UsageError
        No cells, or too many cells for indices or keys.
    """
    nx, ny = base
    if nx < 1 or ny < 1 or levels < 0:
        raise UsageError(
            f"A base mesh of {nx} x {ny} cells with {levels} levels; it needs at least 1 x 1 "
            "cells and 0 levels."
        )
    longest = (max(nx, ny) - 1).bit_length() + levels
    bits = 2 * levels + (nx - 1).bit_length() + (ny - 1).bit_length()
    if longest > INDEX_BITS or bits > KEY_BITS:
        raise UsageError(
            f"A base mesh of {nx} x {ny} cells and {levels} levels needs indices of {longest} "
            f"bits and keys of {bits}; at most {INDEX_BITS} and {KEY_BITS}: choose fewer cells or "
            "levels."
        )
    return along_curve(nx, ny)


def keys_at(
    tables: Tables, levels: int, x: NDArray[np.int64], y: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the keys of places, given by their indices at the finest level."""
    columns, rows = tables
    within = (1 << levels) - 1
    base = columns[x >> levels] + rows[y >> levels]
    low = spread(x & within, levels) | spread(y & within, levels) << 1
    return np.asarray(base << 2 * levels | low)


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


def base_part(tables: Tables, rank: int, ranks: int) -> Cells:
    """Return a rank's equal part of the base mesh."""
    columns, rows = tables
    placed = np.argsort((rows[:, None] + columns[None, :]).ravel())
    part = placed[rank * placed.size // ranks : (rank + 1) * placed.size // ranks]
    return Cells(
        i=(part % columns.size).astype(np.int32),
        j=(part // columns.size).astype(np.int32),
        level=np.zeros(part.size, np.int8),
    )


def check_cells(communicator: Any, cells: Cells, base: tuple[int, int], levels: int) -> None:
    """Raise a DataError unless the cells lie in the domain and have its area. Collective."""
    level = cells.level.astype(np.int64)
    outside = (level < 0) | (level > levels)
    level = np.clip(level, 0, levels)
    for index, size in zip((cells.i, cells.j), base, strict=True):
        outside |= (index < 0) | (index >= size << level)
    found = np.array([outside.sum(), (np.int64(1) << 2 * (levels - level)).sum()], np.int64)
    total = np.empty_like(found)
    communicator.Allreduce(found, total)
    if total[0]:
        raise DataError(
            f"{total[0]} cells outside a base mesh of {base[0]} x {base[1]} with {levels} levels; "
            "use the mesh from which the cells were written."
        )
    if total[1] != base[0] * base[1] << 2 * levels:
        raise DataError(
            f"The cells cover {total[1] / (1 << 2 * levels)} base cells and the domain has "
            f"{base[0] * base[1]}; every place needs exactly one cell: read all cells, once."
        )


def check_order(
    communicator: Any, key: NDArray[np.int64], level: NDArray[np.int8], levels: int
) -> None:
    """Raise a DataError unless the keys of cells ascend over all ranks. Collective.

    Together with `check_cells` this means that the cells tile the domain.
    """
    after = key + (np.int64(1) << 2 * (levels - level.astype(np.int64)))
    ends = np.full(3, -1, np.int64)
    if key.size:
        ends[:] = key[0], after[-1], (key[1:] < after[:-1]).sum()
    all_ends = np.empty((communicator.size, 3), np.int64)
    communicator.Allgather(ends, all_ends)
    all_ends = all_ends[all_ends[:, 0] >= 0]
    if all_ends[:, 2].any() or (all_ends[1:, 0] < all_ends[:-1, 1]).any():
        raise DataError(
            "The cells do not follow each other along the curve; use the order in which they were "
            "written, and give the ranks consecutive pieces."
        )
