"""Keys of cells: their positions in the order.

A key refers to the finest level: the base cell's key in the high bits, and Morton's index within it
in the low bits, x in even and y in odd ones. A cell of level l covers 4^(levels - l) keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def key_loop(
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    levels: int,
    first: int,
    last: int,
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
) -> None:
    """Fill the keys of cells first to last; `columns` and `rows` are the tables of the order."""
    for c in range(first, last):
        depth = np.int64(level[c])
        x, y = np.int64(i[c]), np.int64(j[c])
        within = np.int64(0)
        for bit in range(depth):
            within |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1)
        base = columns[x >> depth] + rows[y >> depth]
        key[c] = (base << 2 * levels) | (within << 2 * (levels - depth))


def masks(levels: int) -> tuple[int, int]:
    """Return the bits of x and of y in a key within its base cell."""
    x = sum(1 << 2 * level for level in range(levels))
    return x, x << 1
