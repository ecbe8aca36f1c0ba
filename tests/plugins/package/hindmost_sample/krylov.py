"""A linear system, and one of PETSc's solvers that hindmost does not declare itself."""

from __future__ import annotations

from hindmost.harness.krylov.problems import by_rows
from hindmost.harness.krylov.problems.problem import Problem, Rows
from hindmost.harness.krylov.solvers import MONITORED, Solver


def rows(first: int, last: int, unknowns: int) -> Rows:
    """Return rows of the matrix with 3 on the diagonal and -1 beside it."""
    starts, columns, values = by_rows.laplacian(first, last, unknowns)
    return starts, columns, values + (values > 0.0)


SHIFTED_1D = Problem.of_rows(
    name="shifted-1d", summary="tridiagonal -1 3 -1", preconditioner="jacobi", rows=rows
)
MINRES = Solver(name="minres", synchronisation="blocking", lag=0, pattern=MONITORED)
