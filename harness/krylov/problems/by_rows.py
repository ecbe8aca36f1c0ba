"""Matrices whose rows are known by their numbers: the one-dimensional Laplacian, and a diagonal."""

from __future__ import annotations

import numpy as np

from hindmost.harness.krylov.problems.problem import Problem, Rows


def laplacian(first: int, last: int, unknowns: int) -> Rows:
    """Return rows of the matrix with 2 on the diagonal and -1 beside it: PETSc's tutorial ex23."""
    row = np.repeat(np.arange(first, last), 3)
    column = row + np.tile([-1, 0, 1], last - first)
    value = np.tile([-1.0, 2.0, -1.0], last - first)
    inside = (column >= 0) & (column < unknowns)
    count = inside.reshape(-1, 3).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(count)])
    return starts.astype(np.int32), column[inside].astype(np.int32), value[inside]


def diagonal(first: int, last: int, unknowns: int) -> Rows:
    """Return rows of the matrix with eigenvalues spread evenly in log from 1e-6 to 1.

    So wide a spectrum keeps restarted methods at work for thousands of iterations. There is no
    halo, so that only reductions tie the ranks together.
    """
    row = np.arange(first, last)
    value = 1e-6 ** (1.0 - row / max(unknowns - 1, 1))
    return np.arange(last - first + 1, dtype=np.int32), row.astype(np.int32), value


LAPLACIAN_1D = Problem.of_rows(
    name="laplacian-1d",
    summary="tridiagonal -1 2 -1, each rank exchanges one value with its neighbours",
    preconditioner="jacobi",
    rows=laplacian,
)
DIAGONAL = Problem.of_rows(
    name="diagonal",
    summary="eigenvalues from 1e-6 to 1, no exchange between neighbours",
    preconditioner="none",  # Jacobi would solve it at once
    rows=diagonal,
)
