"""Division and combination of cells, within the limits set by neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.part import Columns, MeshPart
from hindmost.harness.adaptive.mesh.patch import Exchange, Patch
from hindmost.models.compiled import compiled


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


def rewrite_loop(
    owned: int,
    levels: int,
    target: NDArray[np.int8],
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    state: NDArray[np.float64],
    new_i: NDArray[np.int32],
    new_j: NDArray[np.int32],
    new_level: NDArray[np.int8],
    new_key: NDArray[np.int64],
    new_state: NDArray[np.float64],
) -> None:
    """Rewrite the cells: four for one that divides, one for four that combine.

    Children get their parent's state, a parent the mean of its children's. States are densities, so
    that sums are conserved; the order of summation is fixed, so that all ranks get the same result.
    """
    columns = state.shape[1]
    n = 0
    c = 0
    while c < owned:
        depth = level[c]
        if target[c] > depth:
            size = 1 << 2 * (levels - depth - 1)
            for child in range(4):
                new_i[n] = 2 * i[c] + (child & 1)
                new_j[n] = 2 * j[c] + (child >> 1)
                new_level[n] = depth + 1
                new_key[n] = key[c] + child * size
                for column in range(columns):
                    new_state[n, column] = state[c, column]
                n += 1
            c += 1
        elif target[c] < depth:
            new_i[n] = i[c] >> 1
            new_j[n] = j[c] >> 1
            new_level[n] = depth - 1
            new_key[n] = key[c]
            for column in range(columns):
                low = state[c, column] + state[c + 1, column]
                high = state[c + 2, column] + state[c + 3, column]
                new_state[n, column] = 0.25 * (low + high)
            n += 1
            c += 4
        else:
            new_i[n] = i[c]
            new_j[n] = j[c]
            new_level[n] = depth
            new_key[n] = key[c]
            for column in range(columns):
                new_state[n, column] = state[c, column]
            n += 1
            c += 1


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
        owned = part.owned + 3 * divided - 3 * combined
        old, new = part.columns, Columns.empty(owned)
        written = np.empty((owned, state.shape[1]))
        compiled(rewrite_loop)(
            part.owned, part.levels, target.reshape(-1),
            old.i, old.j, old.level, old.key, state,
            new.i, new.j, new.level, new.key, written,
        )  # fmt: skip
        part.columns, part.owned, state = new, owned, written
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
    compiled(wish_loop)(part.owned, part.levels, most, flags, cells.level, cells.key, levels)
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
