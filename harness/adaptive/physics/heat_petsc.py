"""Heat by PETSc: the matrix assembled from the face lists, solved by a KSP."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.patch import HaloExchange, Patch
from hindmost.harness.adaptive.physics.conduction import Conduction
from hindmost.harness.adaptive.physics.hydro import State

MOST_ITERATIONS = 10_000


class PetscHeat:
    """Solves with the KSP of PETSc's options; by default conjugate gradients with Jacobi.

    It starts from the old temperatures, and uses the natural norm, as `heat.FaceHeat` does. The
    sparsity pattern is computed once per mesh, the values once per step.

    Parameters
    ----------
    conduction : Conduction
    PETSc : module
        ``petsc4py.PETSc``, initialised.
    communicator : MPI communicator
        The ranks of the mesh, in their order.
    tolerance : float
    """

    def __init__(
        self,
        conduction: Conduction,
        *,
        PETSc: Any,
        communicator: Any,
        tolerance: float = 1e-8,
    ) -> None:
        patch = conduction.patch
        self.conduction = conduction
        self._converged = PETSc.KSP.ConvergedReason
        layout = PETSc.Vec().createMPI((patch.owned, None), comm=communicator)
        first, _ = layout.getOwnershipRange()
        rows = global_rows(patch, first, conduction.exchange)
        starts, columns, self._source = pattern(patch, rows)
        index = PETSc.IntType
        self._starts, self._columns = starts.astype(index), columns.astype(index)
        size = layout.getSizes()
        self._matrix = PETSc.Mat().createAIJ(
            (size, size), csr=(self._starts, self._columns, np.zeros(columns.size)),
            comm=communicator,
        )  # fmt: skip
        self._solution, self._right_side = layout, layout.duplicate()
        self._solver = PETSc.KSP().create(comm=communicator)
        self._solver.setType(PETSc.KSP.Type.CG)
        self._solver.getPC().setType(PETSc.PC.Type.JACOBI)
        self._solver.setNormType(PETSc.KSP.NormType.NATURAL)
        self._solver.setTolerances(rtol=tolerance, atol=0.0, max_it=MOST_ITERATIONS)
        self._solver.setInitialGuessNonzero(True)
        self._solver.setFromOptions()

    def step(self, state: State, dt: float) -> int:
        """Advance heat by one time step; see `heat.FaceHeat.step`."""
        system = self.conduction
        owned = system.patch.owned
        system.freeze(state, dt)
        values = np.concatenate(
            [1.0 / system.inverse[:owned, 0], -system.faces[2], -system.faces[5]]
        )
        self._matrix.setValuesCSR(self._starts, self._columns, values[self._source])
        self._matrix.assemble()
        self._solver.setOperators(self._matrix)
        temperature = system.temperature[:owned, 0]
        self._solution.getArray()[:] = temperature
        self._right_side.getArray()[:] = system.capacity[:owned, 0] * temperature
        self._solver.solve(self._right_side, self._solution)
        reason = self._solver.getConvergedReason()
        if reason < 0:
            raise DataError(
                f"PETSc's KSP does not solve the heat equations ({self.reason_name(reason)} after "
                f"{self._solver.getIterationNumber()} iterations). Loosen its tolerance, name "
                "another -ksp_type or -pc_type, or shorten the time step; a NaN or infinity "
                "points to an invalid state."
            )
        temperature[:] = self._solution.getArray()
        system.deposit(state)
        return int(self._solver.getIterationNumber())

    def reason_name(self, reason: int) -> str:
        """Return PETSc's name of a reason to stop."""
        names = {value: name for name, value in vars(self._converged).items() if value is not None}
        return str(names.get(reason, reason))

    def destroy(self) -> None:
        """Destroy PETSc's objects before the next mesh; collective."""
        for thing in (self._solver, self._matrix, self._solution, self._right_side):
            thing.destroy()


def global_rows(patch: Patch, first: int, exchange: HaloExchange) -> NDArray[np.int64]:
    """Return the numbers of a patch's rows over all ranks, shape (owned + ghosts,).

    Numbers are exchanged as a field of doubles, which are exact up to 2**53.
    """
    field = np.zeros((patch.owned + patch.ghosts, 1))
    field[: patch.owned, 0] = np.arange(first, first + patch.owned)
    exchange.fill(field)
    return field[:, 0].astype(np.int64)


def pattern(
    patch: Patch, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the compressed sparse rows of the owned cells, and the source of each value.

    Parameters
    ----------
    patch : Patch
    rows : int64 array, shape (owned + ghosts,)
        Global numbers.

    Returns
    -------
    starts : int64 array, shape (owned + 1,)
    columns : int64 array, shape (entry,)
        Global, ascending in a row.
    source : int64 array, shape (entry,)
        Index into the diagonal of the owned cells, then the x faces, then the y faces.
    """
    lower = np.concatenate([patch.x_faces.lower, patch.y_faces.lower])
    upper = np.concatenate([patch.x_faces.upper, patch.y_faces.upper])
    own = np.arange(patch.owned)
    face = patch.owned + np.arange(lower.size)
    row = np.concatenate([own, lower, upper])
    column = rows[np.concatenate([own, upper, lower])]
    source = np.concatenate([own, face, face])
    mine = row < patch.owned
    row, column, source = row[mine], column[mine], source[mine]
    order = np.lexsort((column, row))
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=patch.owned))])
    return starts.astype(np.int64), column[order], source[order]
