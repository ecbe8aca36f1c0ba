"""Division and combination of cells, within the limits set by neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.part import Columns, MeshPart
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.models.compiled import compiled


def wished(cells: Columns, levels: int, flags: NDArray[np.int8], most: int) -> NDArray[np.int8]:
    """Return the target levels by flags, int8, shape (owned,); four siblings combine together.

    Flags are limited to `most`, which is 0 if no cell may divide.
    """
    level = cells.level
    target = np.minimum(level + np.clip(flags, 0, most), levels).astype(np.int8)
    child = cells.key >> 2 * (levels - level.astype(np.int64)) & 3
    first = np.flatnonzero((level > 0) & (child == 0))
    four = first[first + 3 < level.size, None] + np.arange(4)
    alike = (level[four] == level[four[:, :1]]).all(axis=1)
    together = four[alike & (flags[four] < 0).all(axis=1)]
    target[together] = level[together] - 1
    return target


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


def rewritten(
    cells: Columns, levels: int, target: NDArray[np.int8], state: NDArray[np.float64]
) -> tuple[Columns, NDArray[np.float64]]:
    """Return the cells and their state: four for one that divides, one for four that combine.

    Children get their parent's state, a parent the mean of its children's. States are densities, so
    that sums are conserved; the order of summation is fixed, so that all ranks get the same result.
    """
    level = cells.level.astype(np.int64)
    divides, combines = target > level, target < level
    child = cells.key >> 2 * (levels - level) & 3
    count = np.where(divides, 4, np.where(combines & (child > 0), 0, 1))
    old = np.repeat(np.arange(level.size), count)
    born, merged = divides[old], combines[old]
    which = (np.arange(old.size) - np.repeat(np.cumsum(count) - count, count))[born]
    i, j, key = cells.i[old], cells.j[old], cells.key[old]
    i[born], j[born] = 2 * i[born] + (which & 1), 2 * j[born] + (which >> 1)
    i[merged] >>= 1
    j[merged] >>= 1
    key[born] += which << 2 * (levels - level[old[born]] - 1)
    written, first = state[old], old[merged]
    low, high = state[first] + state[first + 1], state[first + 2] + state[first + 3]
    written[merged] = 0.25 * (low + high)
    return Columns(i, j, target[old], key), written


RAISED, DIVIDED, COMBINED, OWNED = range(4)
"""Indices of the counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """The result of a call of `Mesh.adapt` on this rank.

    Attributes
    ----------
    divided : int
        Number of cells that were divided.
    combined : int
        Number of cells that result from combining four.
    held : bool
        Whether `most_cells` prevented division, on all ranks.
    """

    divided: int
    combined: int
    held: bool


def adapted(
    part: MeshPart,
    patch: Patch,
    exchange: Exchange,
    flags: NDArray[np.int8],
    state: NDArray[np.float64],
    most_cells: int | None,
) -> tuple[NDArray[np.float64], Adapted]:
    """Adapt the cells of a part, which is marked as changed if any rank's cells did. Collective."""
    target = np.empty((patch.owned + patch.ghosts, 1), np.int8)
    here, total = settled(part, patch, exchange, flags, target, most=1)
    grown = int(total[OWNED] + 3 * total[DIVIDED] - 3 * total[COMBINED])
    held = most_cells is not None and grown > most_cells and bool(total[DIVIDED] > 0)
    if held:
        here, total = settled(part, patch, exchange, flags, target, most=0)
    divided, combined = int(here[DIVIDED]), int(here[COMBINED])
    if total[DIVIDED] or total[COMBINED]:
        part.changed = True
    if divided or combined:
        levels = target[: part.owned, 0]
        part.columns, state = rewritten(part.columns, part.levels, levels, state)
        part.owned = state.shape[0]
    return state[: part.owned], Adapted(divided=divided, combined=combined, held=held)


def settled(
    part: MeshPart,
    patch: Patch,
    exchange: Exchange,
    flags: NDArray[np.int8],
    target: NDArray[np.int8],
    *,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fill target levels, shape (row, 1); return the counts of this rank and of all."""
    here, total = np.zeros(4, np.int64), np.zeros(4, np.int64)
    cells, levels = part.columns, target.reshape(-1)
    levels[: part.owned] = wished(cells, part.levels, flags, most)
    while True:
        exchange.fill(target)
        here[RAISED] = 0
        compiled(settle_loop)(
            part.owned, part.levels, cells.level, cells.key,
            patch.x_faces.lower, patch.x_faces.upper, patch.y_faces.lower, patch.y_faces.upper,
            levels, here,
        )  # fmt: skip
        part.communicator.Allreduce(here, total)
        # Levels raised on one rank may require changes on another.
        if total[RAISED] == 0 or part.communicator.size == 1:
            return here, total
