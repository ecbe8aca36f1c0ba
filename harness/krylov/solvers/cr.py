"""Conjugate residuals: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import PRODUCTS_AND_MONITOR, Solver
from hindmost.harness.recorder.pattern import Pattern
from hindmost.harness.runfile.bodies import BodyKind

CR = Solver(
    name="cr",
    synchronisation="blocking",
    lag=0,
    pattern=Pattern(
        marks=PRODUCTS_AND_MONITOR,
        # One product sets the method up before the first monitor.
        grammar="AI(?>AI)+",
        cycle=("^A[I]",),
        bodies=(("IA[I]", BodyKind.REGULAR),),
    ),
)
