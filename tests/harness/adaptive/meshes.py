"""Meshes of one rank."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tests.alone import ALONE

from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.mesh.patch import Patch


def no_ghosts(field: NDArray[np.float64]) -> None:
    """Fill the ghosts of one rank, which has none."""
    assert field.flags.c_contiguous


def uniform(nx: int, ny: int) -> Patch:
    return Mesh(ALONE, (nx, ny), 0).patch


def two_levels(nx: int, ny: int, divided: Callable[[int, int], bool]) -> Patch:
    """Divide some cells of a base mesh into four."""
    mesh = Mesh(ALONE, (nx, ny), 1)
    places = zip(mesh.patch.i.tolist(), mesh.patch.j.tolist(), strict=True)
    flags = np.array([divided(*place) for place in places], np.int8)
    mesh.connect(mesh.adapt(flags, np.zeros((nx * ny, 1)))[0])
    return mesh.patch


def across(patch: Patch) -> tuple[slice, slice]:
    """Return where the faces across x and those across y are."""
    return slice(patch.faces.across_x), slice(patch.faces.across_x, None)


def centres(mesh: Patch, spacing: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the x and y of the cells' centres."""
    width = spacing / 2.0**mesh.level
    return (mesh.i + 0.5) * width, (mesh.j + 0.5) * width


def areas(mesh: Patch, spacing: float) -> NDArray[np.float64]:
    return (spacing / 2.0**mesh.level) ** 2
