"""Meshes of one rank, made plainly: the physics is tested without the mesh's own room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Faces, Patch, Walls

Cell = tuple[int, int, int]
"""Level, i, j."""


class NoExchange:
    """One rank has no ghosts."""

    def fill(self, field: NDArray[np.float64]) -> None:
        assert field.flags.c_contiguous


def uniform(nx: int, ny: int) -> Patch:
    return patch([(0, i, j) for j in range(ny) for i in range(nx)], nx, ny)


def two_levels(nx: int, ny: int, divided: Callable[[int, int], bool]) -> Patch:
    """Divide some cells of a base mesh into four."""
    cells: list[Cell] = []
    for j in range(ny):
        for i in range(nx):
            if divided(i, j):
                cells += [(1, 2 * i + a, 2 * j + b) for b in (0, 1) for a in (0, 1)]
            else:
                cells.append((0, i, j))
    return patch(cells, nx, ny)


def patch(cells: list[Cell], nx: int, ny: int) -> Patch:
    """Make the patch of all cells; neighbours differ by at most one level."""
    row = {cell: number for number, cell in enumerate(cells)}
    walls: list[tuple[int, int]] = []
    faces: list[list[tuple[int, int, int]]] = [[], []]
    for number, (level, i, j) in enumerate(cells):
        for axis, (count, at) in enumerate(((nx, i), (ny, j))):
            if at == 0:
                walls.append((number, 2 * axis))
            if at == (count << level) - 1:
                walls.append((number, 2 * axis + 1))
                continue
            for other in above(row, level, i, j, axis):
                finer = max(level, cells[other][0])
                faces[axis].append((number, other, finer))
    level, i, j = np.array(cells).T
    x_faces, y_faces = (
        Faces(
            lower=np.array([low for low, _, _ in some], np.int32),
            upper=np.array([high for _, high, _ in some], np.int32),
            level=np.array([finer for _, _, finer in some], np.int8),
        )
        for some in faces
    )
    return Patch(
        owned=len(cells),
        ghosts=0,
        i=i.astype(np.int32),
        j=j.astype(np.int32),
        level=level.astype(np.int8),
        x_faces=x_faces,
        y_faces=y_faces,
        walls=Walls(
            cell=np.array([cell for cell, _ in walls], np.int32),
            side=np.array([side for _, side in walls], np.int8),
        ),
    )


def above(row: dict[Cell, int], level: int, i: int, j: int, axis: int) -> list[int]:
    """Return the rows of the neighbours above across an axis."""
    a, b = (i + 1, j) if axis == 0 else (i, j + 1)
    if (level, a, b) in row:
        return [row[level, a, b]]
    if (level - 1, a // 2, b // 2) in row:
        return [row[level - 1, a // 2, b // 2]]
    if axis == 0:
        return [row[level + 1, 2 * a, 2 * b], row[level + 1, 2 * a, 2 * b + 1]]
    return [row[level + 1, 2 * a, 2 * b], row[level + 1, 2 * a + 1, 2 * b]]


def centres(mesh: Patch, spacing: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the x and y of the cells' centres."""
    width = spacing / 2.0**mesh.level
    return (mesh.i + 0.5) * width, (mesh.j + 0.5) * width


def areas(mesh: Patch, spacing: float) -> NDArray[np.float64]:
    return (spacing / 2.0**mesh.level) ** 2
