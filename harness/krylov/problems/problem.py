"""What a linear system is to the harness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Compressed rows: row starts, global columns, values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A linear system A x = b with b = A times ones.

    Attributes
    ----------
    name, summary : str
    preconditioner : str
        PETSc's name of the preconditioner that is used unless an option says otherwise.
    rows : callable
        ``rows(first, last, unknowns)`` returns the matrix rows first..last-1 in compressed form.
    """

    name: str
    summary: str
    preconditioner: str
    rows: Callable[[int, int, int], Rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSystem:
    """A problem of a given size, distributed over the ranks, in PETSc's objects."""

    matrix: Any
    right_side: Any
    solution: Any


def assemble(problem: Problem, unknowns: int, PETSc: Any, communicator: Any) -> LinearSystem:
    """Assemble a problem, its rows split evenly over the ranks as PETSc splits them."""
    layout = PETSc.Vec().createMPI(unknowns, comm=communicator)
    first, last = layout.getOwnershipRange()
    layout.destroy()
    size = ((last - first, unknowns), (last - first, unknowns))
    index = PETSc.IntType
    starts, columns, values = problem.rows(first, last, unknowns)
    matrix = PETSc.Mat().createAIJ(
        size, csr=(starts.astype(index), columns.astype(index), values), comm=communicator
    )
    ones, right_side = matrix.createVecs()
    ones.set(1.0)
    matrix.mult(ones, right_side)
    return LinearSystem(matrix=matrix, right_side=right_side, solution=ones)
