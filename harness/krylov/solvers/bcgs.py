"""Stabilised biconjugate gradients: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import PRODUCTS_AND_MONITOR, Solver
from hindmost.harness.recorder.pattern import Pattern
from hindmost.harness.runfile.bodies import BodyKind

BCGS = Solver(
    name="bcgs",
    synchronisation="blocking",
    lag=0,
    pattern=Pattern(
        marks=PRODUCTS_AND_MONITOR,
        grammar="I(?>AAI)+",
        cycle=("^[I]",),
        bodies=(("AA[I]", BodyKind.REGULAR),),
    ),
)
