"""Stencils on regular grids, split into boxes as PETSc's DMDA splits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.krylov.problems.problem import (
    UNKNOWNS,
    LinearSystem,
    Problem,
    SystemRequest,
    matrix_of_csr,
)
from hindmost.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Stencil:
    """A discretised operator on the inner points of the unit square or cube.

    Attributes
    ----------
    offsets : tuple of tuple of int
        Neighbours of a point, one number per direction, at most 1 away; the first is the point
        itself.
    values : callable
        ``values(points, spacing)`` returns the matrix entries, float64, shape (offset, point), for
        points of float64, shape (direction, point), and the spacing, shape (direction,).
    """

    offsets: tuple[tuple[int, ...], ...]
    values: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def grid_shape(unknowns: int, directions: int) -> tuple[int, ...]:
    """Return the square or cube whose number of points is closest to a number of unknowns."""
    side = max(round(unknowns ** (1.0 / directions)), 1)
    return (side,) * directions


def grid_matrix(stencil: Stencil, shape: Sequence[int], PETSc: Any, communicator: Any) -> Any:
    """Assemble the matrix of a stencil; collective. Values outside the grid are zero.

    Each rank owns a box of points, and its rows are numbered along the first direction first.

    Parameters
    ----------
    shape : sequence of int
        Points in each direction.

    Returns
    -------
    petsc4py.PETSc.Mat
    """
    directions = len(shape)
    try:
        mesh = PETSc.DMDA().create(
            dim=directions, dof=1, sizes=tuple(shape), stencil_width=1, comm=communicator
        )
    except PETSc.Error as error:
        raise UsageError(
            f"PETSc cannot split a grid of {' x '.join(map(str, shape))} points into boxes for "
            f"{counted(communicator.size, 'rank')}; use other numbers of ranks or points."
        ) from error
    begin, count = mesh.getCorners()
    ghost_begin, ghost_count = mesh.getGhostCorners()
    # PETSc's number of each point of the own box and of the points around it, by its position.
    numbers = mesh.getLGMap().getIndices().reshape(ghost_count, order="F")
    own = np.indices(count).reshape(directions, -1, order="F")
    points = own + np.array(begin)[:, None]
    spacing = 1.0 / (np.array(shape, np.float64) + 1.0)
    values = stencil.values((points + 1.0) * spacing[:, None], spacing)
    within = np.array(begin) - np.array(ghost_begin)

    columns = np.zeros(values.shape, np.int64)
    inside = np.zeros(values.shape, np.bool_)
    for at, offset in enumerate(stencil.offsets):
        moved = points + np.array(offset)[:, None]
        inside[at] = np.all((moved >= 0) & (moved < np.array(shape)[:, None]), axis=0)
        place = own[:, inside[at]] + (within + offset)[:, None]
        columns[at, inside[at]] = numbers[tuple(place)]
    rows = np.broadcast_to(np.arange(own.shape[1]), values.shape)[inside]
    order = np.lexsort((columns[inside], rows))
    starts = np.concatenate([[0], np.cumsum(inside.sum(axis=0))])
    mesh.destroy()
    csr = (starts, columns[inside][order], values[inside][order])
    return matrix_of_csr(csr, int(np.prod(shape)), PETSc, communicator)


def star(directions: int) -> tuple[tuple[int, ...], ...]:
    """Return the offsets of a point and its two neighbours in each direction."""
    unit = np.eye(directions, dtype=np.int64)
    around = [tuple(int(each) for each in sign * one) for one in unit for sign in (-1, 1)]
    return ((0,) * directions, *around)


def laplacian(points: NDArray[np.float64], spacing: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entries of the negative Laplacian by central differences, scaled by h^d-2.

    On a grid of equal spacing this is the stencil of 2 d and -1.
    """
    weights = np.repeat(spacing.prod() / spacing**2, 2) / spacing[0] ** (spacing.size - 2)
    entries = np.concatenate([[weights.sum()], -weights])
    return np.repeat(entries[:, None], points.shape[1], axis=1)


CONVECTION = 200.0
"""Largest speed of the flow; the diffusion is 1, the side of the square is 1."""


def convection_diffusion(
    points: NDArray[np.float64], spacing: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the entries of -div grad u + w . grad u, times h^2.

    The flow w = CONVECTION (2 y (1 - x^2), -2 x (1 - y^2)) on [-1, 1]^2 turns around the centre
    (the double-glazing problem of H. Elman, D. Silvester and A. Wathen, "Finite Elements and Fast
    Iterative Solvers", 2014, example 6.1.4). Upwind differences keep the matrix an M-matrix.
    """
    x, y = 2.0 * points - 1.0
    flow = CONVECTION * np.array([2.0 * y * (1.0 - x**2), -2.0 * x * (1.0 - y**2)])
    size = spacing.prod()
    entries = np.zeros((5, points.shape[1]))
    for direction in range(2):
        diffusion = size / spacing[direction] ** 2
        along = size / spacing[direction] * flow[direction]
        from_below, from_above = np.maximum(along, 0.0), np.maximum(-along, 0.0)
        entries[1 + 2 * direction] = -diffusion - from_below
        entries[2 + 2 * direction] = -diffusion - from_above
    entries[0] = -entries[1:].sum(axis=0)
    return entries


LAPLACE_2D = Stencil(offsets=star(2), values=laplacian)
LAPLACE_3D = Stencil(offsets=star(3), values=laplacian)
CONVECT_2D = Stencil(offsets=star(2), values=convection_diffusion)


def on_grid(
    name: str,
    summary: str,
    stencil: Stencil,
    *,
    solver: str = "",
    options: Mapping[str, str] | None = None,
) -> Problem:
    """Return the problem of a stencil, on a grid or of about so many unknowns; see `Problem`."""
    directions = len(stencil.offsets[0])

    def shape_of(request: SystemRequest) -> tuple[int, ...]:
        return request.grid or grid_shape(request.unknowns or UNKNOWNS, directions)

    def check(request: SystemRequest) -> None:
        if request.grid and (len(request.grid) != directions or min(request.grid) < 1):
            example = "x".join(["100"] * directions)
            raise UsageError(
                f"--grid {'x'.join(map(str, request.grid))}: '{name}' needs {directions} numbers "
                f"of at least 1, such as {example}."
            )
        if request.grid and request.unknowns:
            raise UsageError("--grid and --unknowns both give the size; leave one out.")

    def build(request: SystemRequest, PETSc: Any, communicator: Any) -> LinearSystem:
        shape = shape_of(request)
        matrix = grid_matrix(stencil, shape, PETSc, communicator)
        return LinearSystem.of_ones(matrix, {"grid": list(shape)})

    return Problem(
        name=name,
        summary=summary,
        preconditioner="jacobi",
        build=build,
        settings=("--unknowns", "--grid"),
        check=check,
        solver=solver,
        options=options or {},
    )


LAPLACIAN_2D = on_grid("laplacian-2d", "5-point Laplacian on a square", LAPLACE_2D)
LAPLACIAN_3D = on_grid("laplacian-3d", "7-point Laplacian on a cube", LAPLACE_3D)
CONVECTION_DIFFUSION_2D = on_grid(
    "convection-diffusion-2d", "upwind 5-point stencil, nonsymmetric, rotating flow", CONVECT_2D
)
JACOBI_3D = on_grid(
    "jacobi-3d",
    "7-point Jacobi relaxation on a cube, by default with 'richardson' and without reductions",
    LAPLACE_3D,
    solver="richardson",
    options={"ksp_norm_type": "none"},
)
"""The stencil computation of C. W. Lee, "Techniques in Scalable and Effective Performance
Analysis", 2009, whose Jacobi 3d has 256 x 256 x 192 points on 48 ranks.

Its iterations exchange the faces of the boxes with the neighbours and replace each value by the
Jacobi update, x + D^-1 (b - A x), with no reduction over all ranks. That is PETSc's Richardson with
Jacobi's preconditioner and no norm.
"""
