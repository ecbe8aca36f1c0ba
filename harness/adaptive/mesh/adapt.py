"""Division and combination of cells, within the limits set by neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.order import Cells
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.models.compiled import compiled

RAISED, DIVIDED, COMBINED, OWNED = range(4)
"""Indices of the counts."""


def wished(cells: Cells, levels: int, flags: NDArray[np.int8], most: int) -> NDArray[np.int8]:
    """Return the target levels by flags, int8, shape (owned,); four siblings combine together.

    Flags are limited to `most`, which is 0 if no cell may divide.
    """
    level = cells.level
    target = np.minimum(level + np.clip(flags, 0, most), levels).astype(np.int8)
    first = np.flatnonzero((level > 0) & (flags < 0) & (cells.child() == 0))
    four = first[first + 3 < level.size, None] + np.arange(4)
    alike = (level[four] == level[four[:, :1]]).all(axis=1)
    together = four[alike & (flags[four] < 0).all(axis=1)]
    target[together] = level[together] - 1
    return target


def settle_loop(
    owned: int,
    level: NDArray[np.int8],
    child: NDArray[np.int64],
    lower: NDArray[np.int32],
    upper: NDArray[np.int32],
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
        for face in range(len(lower)):
            a, b = lower[face], upper[face]
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
                    first = c - child[c]
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


def rewritten(
    cells: Cells, target: NDArray[np.int8], state: NDArray[np.float64]
) -> tuple[Cells, NDArray[np.float64]]:
    """Return the cells and their state: four for one that divides, one for four that combine.

    Children get their parent's state, a parent the mean of its children's. States are densities, so
    that sums are conserved; the order of summation is fixed, so that all ranks get the same result.
    """
    level = cells.level
    divides, combines = target > level, target < level
    count = np.where(divides, 4, np.where(combines & (cells.child() > 0), 0, 1))
    old = np.repeat(np.arange(level.size), count)
    begin = np.cumsum(count) - count
    born = (begin[divides][:, None] + np.arange(4)).ravel()
    merged = begin[combines & (count == 1)]
    i, j, written = cells.i[old], cells.j[old], state[old]
    which = np.tile(np.arange(4, dtype=np.int32), born.size // 4)
    i[born], j[born] = 2 * i[born] + (which & 1), 2 * j[born] + (which >> 1)
    i[merged] >>= 1
    j[merged] >>= 1
    first = old[merged]
    low, high = state[first] + state[first + 1], state[first + 2] + state[first + 3]
    written[merged] = 0.25 * (low + high)
    return Cells(i=i, j=j, level=target[old]), written


def settled(
    cells: Cells,
    levels: int,
    patch: Patch,
    exchange: Exchange,
    flags: NDArray[np.int8],
    most_cells: int | None,
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]:
    """Return the levels that owned cells will have, and the counts of this rank and of all.

    If all ranks together would exceed `most_cells`, no cell divides. Collective.
    """
    target = np.empty((patch.owned + patch.ghosts, 1), np.int8)
    own, child = target.reshape(-1), cells.child()
    here, total = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for most in (1, 0):
        own[: patch.owned] = wished(cells, levels, flags, most)
        total[RAISED] = 1
        while total[RAISED]:
            exchange.fill(target)
            here[RAISED] = 0
            compiled(settle_loop)(
                patch.owned, cells.level, child, patch.faces.lower, patch.faces.upper, own, here
            )
            exchange.communicator.Allreduce(here, total)
            # Levels raised on one rank may require changes on another.
            if exchange.communicator.size == 1:
                break
        grown = int(total[OWNED] + 3 * total[DIVIDED] - 3 * total[COMBINED])
        if most_cells is None or grown <= most_cells or not total[DIVIDED]:
            break
    return own[: patch.owned], here, total
