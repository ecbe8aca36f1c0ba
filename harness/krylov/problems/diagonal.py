"""A diagonal matrix: no halo, so that only reductions tie the ranks together."""

from __future__ import annotations

import numpy as np

from hindmost.harness.krylov.problems.problem import Problem, Rows

SMALLEST_EIGENVALUE = 1e-6


def rows(first: int, last: int, unknowns: int) -> Rows:
    """Return rows of the matrix with eigenvalues spread evenly in log from 1e-6 to 1.

    So wide a spectrum keeps restarted methods at work for thousands of iterations.
    """
    row = np.arange(first, last)
    value = SMALLEST_EIGENVALUE ** (1.0 - row / max(unknowns - 1, 1))
    return np.arange(last - first + 1, dtype=np.int32), row.astype(np.int32), value


DIAGONAL = Problem.of_rows(
    name="diagonal",
    summary="eigenvalues from 1e-6 to 1, no exchange between neighbours",
    preconditioner="none",  # Jacobi would solve it at once
    rows=rows,
)
