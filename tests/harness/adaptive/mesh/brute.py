"""Neighbours by looking at every pair, on a mesh that one process holds whole."""

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Patch

Square = tuple[int, int, int]
"""i, j, level."""


def squares(patch: Patch) -> list[Square]:
    """Return the cells, ghosts after owned ones."""
    columns = (patch.i.tolist(), patch.j.tolist(), patch.level.tolist())
    return list(zip(*columns, strict=True))


def faces_of_pairs(cells: list[Square], finest: int) -> dict[str, set[tuple[Square, Square, int]]]:
    """Return the faces across x and y of all pairs: lower, upper, level of the finer."""
    i, j, level = np.array(cells, np.int64).T
    size = 1 << (finest - level)
    x, y = i * size, j * size
    faces = {}
    for name, along, across in (("x", x, y), ("y", y, x)):
        touching = (along + size)[:, None] == along[None, :]
        overlap = np.minimum.outer(across + size, across + size)
        overlap = overlap - np.maximum.outer(across, across)
        pairs = np.argwhere(touching & (overlap > 0))
        faces[name] = {
            (cells[a], cells[b], int(max(level[a], level[b]))) for a, b in pairs.tolist()
        }
    return faces


def walls_of(cells: list[Square], base: tuple[int, int]) -> set[tuple[Square, int]]:
    """Return the walls: a cell and its side."""
    walls = set()
    for i, j, level in cells:
        last = ((base[0] << level) - 1, (base[1] << level) - 1)
        touches = (i == 0, i == last[0], j == 0, j == last[1])
        walls |= {((i, j, level), side) for side in range(4) if touches[side]}
    return walls


def flags_of_places(
    patch: Patch, base: tuple[int, int], cycle: int, seed: int = 0
) -> NDArray[np.int8]:
    """Return flags that follow from where a cell's centre is, and from nothing else."""
    level = patch.level[: patch.owned].astype(np.int64)
    x = (patch.i[: patch.owned] + 0.5) / (base[0] << level)
    y = (patch.j[: patch.owned] + 0.5) / (base[1] << level)
    radius = np.hypot(x - 0.4, y - 0.55) - 0.03 * (cycle % 12)
    flags = np.where(np.abs(radius) < 0.06, 1, np.where(np.abs(radius) > 0.1, -1, 0))
    # A few cells flagged at random places, so that neighbours must follow.
    chance = np.modf(np.sin(x * 127.1 + y * 311.7 + cycle + seed) * 43758.5453)[0]
    flags = np.where(chance > 0.97, 1, np.where(chance < -0.5, -1, flags))
    return flags.astype(np.int8)
