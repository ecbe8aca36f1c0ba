"""Richardson's iteration, x + omega B (b - A x); with Jacobi's B it is Jacobi relaxation."""

from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.harness.recorder.pattern import Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

RICHARDSON = Solver(
    name="richardson",
    synchronisation="blocking",
    lag=0,
    pattern=MarkPattern(
        marks=(
            Mark("R", "end", ("VecCopy",)),
            Mark("R", "end", ("VecAYPX",)),
            Mark("X", "end", ("VecAXPY",)),
        ),
        # A body applies the preconditioner, updates the solution (X) and finds the new residual
        # (R); the first residual is a copy of the right side. Without a norm the last body finds
        # none. No monitor is needed: some versions of PETSc call none without a norm.
        grammar="(?>RX)+R?",
        cycle=("^[R]",),
        bodies=(("X[R]", BodyKind.REGULAR), ("[X]$", BodyKind.REGULAR)),
    ),
)
