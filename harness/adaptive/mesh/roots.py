"""Base cells of a rank and their neighbours, which change only if cells are moved.

All cells within a base cell are on one rank. Therefore the neighbours of base cells, and their
owners, do not change when cells divide and combine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.order import Tables
from hindmost.models.compiled import compiled

STEP = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Offsets to the neighbour on each of the `SIDES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """A rank's base cells and the ghosts among them, in the order of the whole mesh.

    Attributes
    ----------
    first, last : int
        Range of the owned ones, without last.
    key : int64 array, shape (root,)
    ahead : int32 array, shape (2, root)
        The root ahead along x and y; -1 if there is none, or both are ghosts.
    walls, wall_sides : int32 and int8 arrays, shape (root on the border of the domain,)
        Owned ones, and a bit for each of their `SIDES` that is a wall.
    border : int32 array, shape (root on the border of the rank,)
        Owned ones with neighbours on other ranks.
    border_peer : int32 array, shape (root on the border of the rank, side)
        Index of the neighbour's owner in `peers`; -1 if it is this rank, or no neighbour.
    peers : int32 array, shape (peer,)
        Ranks with which ghosts are exchanged, ascending.
    """

    first: int
    last: int
    key: NDArray[np.int64]
    ahead: NDArray[np.int32]
    walls: NDArray[np.int32]
    wall_sides: NDArray[np.int8]
    border: NDArray[np.int32]
    border_peer: NDArray[np.int32]
    peers: NDArray[np.int32]


def link_roots(
    tables: Tables,
    key: NDArray[np.int64],
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    first_key: NDArray[np.int64],
) -> Roots:
    """Find the neighbours of a rank's base cells.

    Parameters
    ----------
    tables : (int64 array, shape (nx,), int64 array, shape (ny,))
        Tables of the order.
    key, i, j : arrays, shape (owned root,)
    first_key : int64 array, shape (rank,)
        Key of every rank's first base cell.
    """
    columns, rows = tables
    beside = np.empty((4, key.size), np.int32)
    bits = max(4, (2 * key.size).bit_length())
    compiled(link_loop)(
        columns, rows, key, i, j, np.empty(1 << bits, np.int64), np.empty(1 << bits, np.int32),
        bits, beside,
    )  # fmt: skip
    sides = np.zeros(key.size, np.int8)
    far_root, far_side, far_key = [], [], []
    for side, (dx, dy) in enumerate(STEP):
        missing = np.flatnonzero(beside[side] < 0)
        x, y = i[missing] + dx, j[missing] + dy
        inside = (x >= 0) & (x < columns.size) & (y >= 0) & (y < rows.size)
        sides[missing[~inside]] |= 1 << side
        far_root.append(missing[inside])
        far_side.append(np.full(int(inside.sum()), side))
        far_key.append(columns[x[inside]] + rows[y[inside]])
    root, side_of = np.concatenate(far_root), np.concatenate(far_side)
    of = np.concatenate(far_key)
    ghost_key, ghost = np.unique(of, return_inverse=True)
    owner = np.asarray(np.searchsorted(first_key, ghost_key, side="right")) - 1
    peers = np.unique(owner).astype(np.int32)

    first = int(np.searchsorted(ghost_key, key[0]))
    last = first + key.size
    place = np.arange(ghost_key.size)
    place[first:] += key.size
    ahead = np.full((2, key.size + ghost_key.size), -1, np.int32)
    for axis in range(2):
        here = beside[2 * axis + 1]
        ahead[axis, first:last] = np.where(here < 0, -1, here + first)
        upper, lower = side_of == 2 * axis + 1, side_of == 2 * axis
        ahead[axis, root[upper] + first] = place[ghost[upper]]
        ahead[axis, place[ghost[lower]]] = root[lower] + first
    border, row = np.unique(root, return_inverse=True)
    border_peer = np.full((border.size, 4), -1, np.int32)
    border_peer[row, side_of] = np.searchsorted(peers, owner[ghost])
    walls = np.flatnonzero(sides)
    return Roots(
        first=first,
        last=last,
        key=np.concatenate([ghost_key[:first], key, ghost_key[first:]]),
        ahead=ahead,
        walls=(walls + first).astype(np.int32),
        wall_sides=sides[walls],
        border=(border + first).astype(np.int32),
        border_peer=border_peer,
        peers=peers,
    )


def link_loop(
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    key: NDArray[np.int64],
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    slot_key: NDArray[np.int64],
    slot_root: NDArray[np.int32],
    bits: int,
    beside: NDArray[np.int32],
) -> None:
    """Fill the neighbours of a rank's base cells on each of the `SIDES`; -1 if on another rank.

    Uses an open-addressing hash table of 2^bits slots; Fibonacci hashing spreads adjacent keys.
    """
    odd = np.int64(-7046029254386353131)
    within = (1 << bits) - 1
    slot_root[:] = -1
    beside[:] = -1
    for root in range(len(key)):
        slot = (key[root] * odd >> (64 - bits)) & within
        while slot_root[slot] >= 0:
            slot = (slot + 1) & within
        slot_key[slot] = key[root]
        slot_root[slot] = root
    for root in range(len(key)):
        for axis in range(2):
            x, y = i[root] + (1 - axis), j[root] + axis
            if x >= len(columns) or y >= len(rows):
                continue
            wanted = columns[x] + rows[y]
            slot = (wanted * odd >> (64 - bits)) & within
            while slot_root[slot] >= 0 and slot_key[slot] != wanted:
                slot = (slot + 1) & within
            other = slot_root[slot]
            if other >= 0:
                beside[2 * axis + 1, root] = other
                beside[2 * axis, other] = root


def run_loop(
    levels: int,
    first: int,
    last: int,
    first_root: int,
    key: NDArray[np.int64],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
) -> int:
    """Fill the begin and end of the cells of base cells, from the first root on; return the end.

    Rows first to last - 1 contain the cells, root by root.
    """
    root = first_root - 1
    base = np.int64(-1)
    for c in range(first, last):
        if key[c] >> 2 * levels != base:
            base = key[c] >> 2 * levels
            root += 1
            begin[root] = c
        end[root] = c + 1
    return root + 1
