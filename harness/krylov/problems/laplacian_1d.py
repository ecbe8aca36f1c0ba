"""The one-dimensional Laplacian: PETSc's tutorial ex23, a tridiagonal matrix."""

from __future__ import annotations

import numpy as np

from hindmost.harness.krylov.problems.problem import Problem, Rows


def rows(first: int, last: int, unknowns: int) -> Rows:
    """Return rows of the matrix with 2 on the diagonal and -1 beside it."""
    row = np.repeat(np.arange(first, last), 3)
    column = row + np.tile([-1, 0, 1], last - first)
    value = np.tile([-1.0, 2.0, -1.0], last - first)
    inside = (column >= 0) & (column < unknowns)
    count = inside.reshape(-1, 3).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(count)])
    return starts.astype(np.int32), column[inside].astype(np.int32), value[inside]


LAPLACIAN_1D = Problem.of_rows(
    name="laplacian-1d",
    summary="tridiagonal -1 2 -1, each rank exchanges one value with its neighbours",
    preconditioner="jacobi",
    rows=rows,
)
