"""Target levels of cells: by flags, then limited by neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def wish_loop(
    owned: int,
    levels: int,
    most: int,
    flags: NDArray[np.int8],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    target: NDArray[np.int8],
) -> None:
    """Fill the target levels by flags; siblings combine only if all four do.

    Flags are limited to `most`, which is 0 if no cell may divide.
    """
    c = 0
    while c < owned:
        depth = level[c]
        siblings = depth > 0 and c + 3 < owned and (key[c] >> 2 * (levels - depth)) & 3 == 0
        if siblings and level[c + 1] == level[c + 2] == level[c + 3] == depth:
            together = flags[c] < 0 and flags[c + 1] < 0
            together = together and flags[c + 2] < 0 and flags[c + 3] < 0
            for sibling in range(c, c + 4):
                step = min(most, max(0, flags[sibling]))
                target[sibling] = depth - 1 if together else min(levels, depth + step)
            c += 4
            continue
        target[c] = min(levels, depth + min(most, max(0, flags[c])))
        c += 1


def settle_loop(
    owned: int,
    levels: int,
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
    other_lower: NDArray[np.int32],
    other_upper: NDArray[np.int32],
    target: NDArray[np.int8],
    counts: NDArray[np.int64],
) -> None:
    """Raise the levels of owned cells until neighbours differ by at most one.

    The result is minimal, so it does not depend on the order of faces or ranks. Adds to `counts`
    the cells raised, and sets the cells that divide, result from combining, and are owned.
    """
    raising = True
    while raising:
        raising = False
        apart = False
        for axis in range(2):
            low = lower if axis == 0 else other_lower
            high = upper if axis == 0 else other_upper
            for face in range(len(low)):
                a, b = low[face], high[face]
                if target[a] > target[b] + 1:
                    if b < owned:
                        apart = apart or target[b] < level[b]
                        target[b] = target[a] - 1
                        counts[0] += 1
                        raising = True
                elif target[b] > target[a] + 1 and a < owned:
                    apart = apart or target[a] < level[a]
                    target[a] = target[b] - 1
                    counts[0] += 1
                    raising = True
        if apart:  # siblings of a cell that cannot combine cannot either
            for c in range(owned):
                if target[c] < level[c]:
                    shift = 2 * (levels - level[c])
                    first = c - ((key[c] >> shift) & 3)
                    for sibling in range(first, first + 4):
                        if target[sibling] >= level[sibling]:
                            target[c] = level[c]
                            counts[0] += 1
                            break
    divided = 0
    combined = 0
    for c in range(owned):
        divided += target[c] > level[c]
        combined += target[c] < level[c]
    counts[1] = divided
    counts[2] = combined // 4
    counts[3] = owned
