"""Faces and walls of a rank's cells, found from their keys.

The position of a cell's upper neighbour follows from the cell's key: add one in the bits of the
axis. If they overflow, the neighbour is in the base cell ahead, else in the same one. There a
binary search over a few cells finds the last one that does not begin later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def face_loop(
    axis: int,
    levels: int,
    along: int,
    across: int,
    first_root: int,
    last_root: int,
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    ahead: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    finer: NDArray[np.int8],
) -> int:
    """Fill the faces across an axis, by the keys of their lower, then of their upper cells.

    Base cells ("roots") are in the order of the whole mesh, including ghosts, so that the faces of
    a cell have the same order on any number of ranks. At least one cell of a face is owned: its
    root is in `first_root` to `last_root` - 1.

    Parameters
    ----------
    axis : int
        0 for x, 1 for y.
    along, across : int
        The bits of the axis, and of the other one, in a key within its root.
    begin, end : int32 arrays, shape (root,)
        Rows of the cells of a root.
    ahead : int32 array, shape (root,)
        The root ahead along the axis; -1 if there is none, or both are ghosts.
    lower, upper, finer
        Output; see `Faces`.

    Returns
    -------
    int
        Number of faces; if a neighbour of row r is finer by two levels or more, -1 - r.
    """
    inside = along | across
    second = np.int64(2 >> axis)
    one = np.int64(1)
    n = 0
    for root in range(len(begin)):
        owned = first_root <= root < last_root
        towards = ahead[root]
        for c in range(begin[root], end[root]):
            depth = level[c]
            shift = 2 * (levels - depth)
            here = key[c] & inside
            there = (((here | across) + (one << (shift + axis))) & along) | (here & across)
            if there & along != 0:
                if not owned:
                    continue
                row, stop = np.int64(c + 1), np.int64(end[root])
            else:
                if towards < 0:
                    continue
                row, stop = np.int64(begin[towards]), np.int64(end[towards])
            after = stop
            while after - row > 1:
                middle = (row + after) >> 1
                if key[middle] & inside <= there:
                    row = middle
                else:
                    after = middle
            lower[n] = c
            upper[n] = row
            if level[row] <= depth:
                if level[row] < depth - 1:
                    return int(-1 - row)
                finer[n] = depth
                n += 1
                continue
            if level[row] > depth + 1:
                return -1 - c
            finer[n] = depth + 1
            n += 1
            there += second << (shift - 2)
            after = stop
            while after - row > 1:
                middle = (row + after) >> 1
                if key[middle] & inside <= there:
                    row = middle
                else:
                    after = middle
            if level[row] != depth + 1:
                return -1 - c
            lower[n] = c
            upper[n] = row
            finer[n] = depth + 1
            n += 1
    return n


def wall_loop(
    levels: int,
    x_bits: int,
    y_bits: int,
    roots: NDArray[np.int32],
    sides: NDArray[np.int8],
    begin: NDArray[np.int32],
    end: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    cell: NDArray[np.int32],
    side: NDArray[np.int8],
) -> int:
    """Fill the walls, by the keys of their cells; return their number.

    Parameters
    ----------
    roots, sides : arrays, shape (root on the border,)
        Base cells, and a bit for each of their `SIDES` that is a wall.
    """
    n = 0
    for at in range(len(roots)):
        root = roots[at]
        for c in range(begin[root], end[root]):
            fine = (np.int64(1) << 2 * (levels - level[c])) - 1
            here = key[c]
            if sides[at] & 1 and here & x_bits == 0:
                cell[n], side[n] = c, 0
                n += 1
            if sides[at] & 2 and (here | fine) & x_bits == x_bits:
                cell[n], side[n] = c, 1
                n += 1
            if sides[at] & 4 and here & y_bits == 0:
                cell[n], side[n] = c, 2
                n += 1
            if sides[at] & 8 and (here | fine) & y_bits == y_bits:
                cell[n], side[n] = c, 3
                n += 1
    return n
