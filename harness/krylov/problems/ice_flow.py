"""Ice flow by the Blatter-Pattyn equations: the linear systems of PETSc's tutorial ex48.

The horizontal velocity (u, v) of ice on a slope, periodic in x and y, solves with Glen's law

    -[eta (4 u_x + 2 v_y)]_x - [eta (u_y + v_x)]_y - [eta u_z]_z + rho g s_x = 0

and the same with x, y and u, v exchanged, where eta = B/2 (eps + gamma)^((p - 2)/2), p = 4/3, and

    gamma = u_x^2 + v_y^2 + u_x v_y + (u_y + v_x)^2 / 4 + u_z^2 / 4 + v_z^2 / 4.

Trilinear elements with 2 x 2 x 2 Gauss points; the cases A and C are those of F. Pattyn et al.,
"Benchmark experiments for higher-order and full-Stokes ice sheet models (ISMIP-HOM)", 2008. X, Y
and Z slip on a bed with bumps. This is the second workload of H. Morgan et al. on noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from hindmost.errors import UsageError
from hindmost.harness.krylov.problems.ice_elements import (
    CASES,
    LENGTH,
    NODES,
    Field,
    Ground,
    element_terms,
)
from hindmost.harness.krylov.problems.problem import (
    UNKNOWNS,
    LinearSystem,
    Problem,
    SystemRequest,
)
from hindmost.text import choose

AT_ONCE = 1 << 14
"""Elements that are computed at once: some 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IceFlow:
    """A grid of ice: columns in x and y, nodes in z, and a test case.

    Attributes
    ----------
    shape : tuple of int
        Columns in x and in y, nodes of a column.
    case : str
        A, C, X, Y or Z.
    """

    shape: tuple[int, int, int]
    case: str = "A"

    def mesh(self, PETSc: Any, communicator: Any) -> Any:
        """Return the distributed grid as a DMDA: z first, which is never split."""
        in_x, in_y, in_z = self.shape
        return PETSc.DMDA().create(
            dim=3,
            dof=2,
            sizes=(in_z, in_y, in_x),
            proc_sizes=(1, PETSc.DECIDE, PETSc.DECIDE),
            boundary_type=("none", "periodic", "periodic"),
            stencil_type="box",
            stencil_width=1,
            comm=communicator,
        )

    def assemble(self, mesh: Any, PETSc: Any, state: Any = None) -> tuple[Any, Any]:
        """Assemble the matrix and the residual at a state; collective.

        Parameters
        ----------
        mesh : petsc4py.PETSc.DMDA
            Of `mesh`.
        state : petsc4py.PETSc.Vec, optional
            Velocities; zero by default.

        Returns
        -------
        matrix : petsc4py.PETSc.Mat
        residual : petsc4py.PETSc.Vec
        """
        (_, first_y, first_x), (nodes, own_y, own_x) = mesh.getCorners()
        around = (nodes, own_y + 2, own_x + 2, 2)
        spacing = (LENGTH / self.shape[0], LENGTH / self.shape[1])
        velocity = np.zeros(around)
        if state is not None:
            local = mesh.createLocalVec()
            mesh.globalToLocal(state, local)
            ghosted = local.getArray().real.reshape(ghost_shape(mesh), order="F")
            velocity[...] = np.moveaxis(ghosted, 0, -1)
            local.destroy()
        # Elements that touch an own node, by their lower corners. The surface falls throughout and
        # is not periodic: the last element in x ends at LENGTH, not at 0.
        in_x = np.arange(first_x - 1, first_x + own_x) % self.shape[0]
        in_y = np.arange(first_y - 1, first_y + own_y) % self.shape[1]
        corners = [
            CASES[self.case].columns(*np.meshgrid((in_x + a) * spacing[0], (in_y + b) * spacing[1]))
            for a, b, _ in NODES[:4]
        ]
        bed, thickness, friction = (np.stack(each, axis=-1) for each in zip(*corners, strict=True))
        ground = Ground(bed=bed, layer=thickness / (nodes - 1), friction=friction)

        entries = np.zeros((nodes, own_y, own_x, 2, 3, 3, 3, 2))
        residual = np.zeros((nodes, own_y, own_x, 2))
        slab = max(AT_ONCE // ((nodes - 1) * (own_y + 1)), 1)
        for begin in range(0, own_x + 1, slab):
            part = slice(begin, min(begin + slab, own_x + 1))
            self._add(part, ground, velocity, entries, residual)
        return self._matrix(mesh, PETSc, entries), self._vector(mesh, residual)

    def _add(
        self, part: slice, ground: Ground, velocity: Field, entries: Field, residual: Field
    ) -> None:
        """Add some elements, those whose lower corners have these places in x."""
        nodes, own_y, own_x = entries.shape[:3]
        shape = (nodes - 1, own_y + 1, part.stop - part.start)
        moved = [
            velocity[c : c + shape[0], b : b + shape[1], part.start + a : part.stop + a]
            for a, b, c in NODES
        ]
        terms = element_terms(
            CASES[self.case],
            (LENGTH / self.shape[0], LENGTH / self.shape[1]),
            ground.part(part),
            np.stack(moved, axis=3),
        )
        matrix = terms.matrix.reshape(*shape, 8, 2, 8, 2)
        force = terms.residual.reshape(*shape, 8, 2)
        for n, (a, b, c) in enumerate(NODES):
            # The row of corner n belongs to this rank if the corner is one of its nodes.
            low = max(1 - a - part.start, 0)
            high = min(own_x + 1 - a - part.start, shape[2])
            ys = slice(1 - b, own_y + 1 - b)
            if low >= high:
                continue
            xs = slice(low, high)
            rows = (
                slice(c, c + shape[0]),
                slice(None),
                slice(part.start + low + a - 1, part.start + high + a - 1),
            )
            residual[rows] += force[:, ys, xs, n]
            for m, (a_m, b_m, c_m) in enumerate(NODES):
                offset = (c_m - c + 1, b_m - b + 1, a_m - a + 1)
                entries[(*rows, slice(None), *offset)] += matrix[:, ys, xs, n, :, m]

    def _matrix(self, mesh: Any, PETSc: Any, entries: Field) -> Any:
        """Return the distributed matrix of entries by row and neighbour."""
        nodes, own_y, own_x = entries.shape[:3]
        numbers = mesh.getLGMap().getIndices().reshape(ghost_shape(mesh), order="F")
        numbers = np.moveaxis(numbers, 0, -1)
        columns = np.zeros(entries.shape, PETSc.IntType)
        inside = np.zeros(entries.shape, np.bool_)
        for c, b, a in product(range(3), repeat=3):
            low, high = max(1 - c, 0), min(nodes, nodes + 1 - c)
            rows = (slice(low, high), slice(None), slice(None), slice(None), c, b, a)
            there = numbers[low + c - 1 : high + c - 1, b : b + own_y, a : a + own_x]
            columns[rows] = there[:, :, :, None, :]
            inside[rows] = True
        # Rows in PETSc's order, along z first; the columns of a row in increasing order.
        values, column, kept = (
            each.transpose(2, 1, 0, 3, 4, 5, 6, 7).reshape(-1, 54)
            for each in (entries, columns, inside)
        )
        column = np.where(kept, column, np.iinfo(column.dtype).max)
        sort = np.argsort(column, axis=1, kind="stable")
        values, column, kept = (
            np.take_along_axis(each, sort, axis=1) for each in (values, column, kept)
        )
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(PETSc.IntType)
        local, whole = len(values), 2 * int(np.prod(self.shape))
        return PETSc.Mat().createAIJ(
            ((local, whole), (local, whole)),
            bsize=2,
            csr=(starts, column[kept], values[kept]),
            comm=mesh.getComm(),
        )

    def _vector(self, mesh: Any, residual: Field) -> Any:
        """Return the distributed vector of values at the nodes."""
        vector = mesh.createGlobalVec()
        vector.setArray(np.transpose(residual, (2, 1, 0, 3)).reshape(-1))
        return vector


def ghost_shape(mesh: Any) -> tuple[int, int, int, int]:
    """Return components, then nodes in z, y and x, of a rank with the nodes around it."""
    _, (in_z, in_y, in_x) = mesh.getGhostCorners()
    return 2, in_z, in_y, in_x


STEPS_MOST = 100
LAYERS = 10
"""Nodes of a column where only the number of unknowns is asked for."""


def ice_of(request: SystemRequest) -> IceFlow:
    """Return the grid and the case that are asked for."""
    columns = max(round(((request.unknowns or UNKNOWNS) / (2 * LAYERS)) ** 0.5), 1)
    shape = request.grid or (columns, columns, LAYERS)
    return IceFlow(
        shape=(shape[0], shape[1], shape[2]),
        case=request.case or "A",
    )


def check_request(request: SystemRequest) -> None:
    """Raise a UsageError if ice cannot flow as is asked."""
    if request.case and request.case not in CASES:
        raise UsageError(f"--case {request.case}: {choose(CASES, request.case)}.")
    if request.grid and (len(request.grid) != 3 or min(request.grid) < 3):
        raise UsageError(
            f"--grid {'x'.join(map(str, request.grid))}: 'ice-flow' needs columns in x and y and "
            "nodes in z, at least 3 each, such as 224x224x10."
        )
    if request.grid and request.unknowns:
        raise UsageError("--grid and --unknowns both give the size; leave one out.")
    if not 0 <= (request.step or 0) <= STEPS_MOST:
        raise UsageError(f"--step {request.step}: it must be at least 0, at most {STEPS_MOST}.")


def build(request: SystemRequest, PETSc: Any, communicator: Any) -> LinearSystem:
    """Assemble the linear system of a Newton step, J dx = F(x), the first one from x = 0.

    The steps before it are solved by GMRES with PETSc's default preconditioner; their options have
    the prefix ``newton_``.
    """
    ice = ice_of(request)
    mesh = ice.mesh(PETSc, communicator)
    state = mesh.createGlobalVec()
    state.set(0.0)
    step = request.step or 0
    for _ in range(step):
        matrix, residual = ice.assemble(mesh, PETSc, state)
        solver = PETSc.KSP().create(comm=mesh.getComm())
        solver.setOptionsPrefix("newton_")
        solver.setOperators(matrix)
        solver.setFromOptions()
        change = residual.duplicate()
        solver.solve(residual, change)
        state.axpy(-1.0, change)
        for each in (solver, matrix, residual, change):
            each.destroy()
    matrix, residual = ice.assemble(mesh, PETSc, state if step else None)
    state.destroy()
    mesh.destroy()
    return LinearSystem(
        matrix=matrix,
        right_side=residual,
        solution=residual.duplicate(),
        spec={
            "unknowns": int(matrix.getSize()[0]),
            "grid": list(ice.shape),
            "case": ice.case,
            "step": step,
        },
    )


ICE_FLOW = Problem(
    name="ice-flow",
    summary="Blatter-Pattyn ice flow as in PETSc's ex48, 2 unknowns a node, --case A, C, X, Y or Z",
    preconditioner="jacobi",
    build=build,
    settings=("--unknowns", "--grid", "--case", "--step"),
    check=check_request,
)
