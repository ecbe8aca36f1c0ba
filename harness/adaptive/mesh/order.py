"""Orders of the base mesh: cells are numbered along them, and split into the parts of the ranks.

The key of a cell consists of the key of its base cell and Morton's index within it, at the finest
level. Therefore the children of a cell are consecutive in every order, and cells never need sorting
again. A base cell's key is the sum of a term of its column and one of its row: an order is two
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.registry import Registry

Tables = tuple[NDArray[np.int64], NDArray[np.int64]]
INDEX_BITS = 31
"""Indices of cells are int32."""
KEY_BITS = 62
"""Keys are int64, including one beyond the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOrder:
    """An order of the base cells.

    Attributes
    ----------
    name : str
    tables : function
        From the numbers of columns and rows; returns the terms of each column, shape (nx,), and
        each row, shape (ny,), in the key of a base cell.
    """

    name: str
    tables: Callable[[int, int], Tables]


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


def along_rows(nx: int, ny: int) -> Tables:
    """Return the tables of SAGE's order: row by row, so that a part is a slab."""
    return np.arange(nx, dtype=np.int64), np.arange(ny, dtype=np.int64) * nx


def spread(number: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return numbers with a zero before each of their lowest bits."""
    apart = np.zeros_like(number)
    for bit in range(bits):
        apart |= (number >> bit & 1) << 2 * bit
    return apart


ORDERS: Registry[CellOrder] = Registry(
    "order",
    (CellOrder(name="curve", tables=along_curve), CellOrder(name="slab", tables=along_rows)),
)
"""The orders of ``--order``."""


def tables_of(name: str, base: tuple[int, int], levels: int) -> Tables:
    """Return the tables of an order for a base mesh.

    Parameters
    ----------
    name : str
        See `ORDERS`.
    base : (int, int)
        Columns and rows of the base mesh.
    levels : int
        Largest level of a cell.

    Raises
    ------
    UsageError
        An unknown order, no cells, or too many cells for indices or keys.
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
    return ORDERS[name].tables(nx, ny)
