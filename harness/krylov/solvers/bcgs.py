"""Stabilised biconjugate gradients: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.harness.recorder.pattern import Mark, Pattern
from hindmost.harness.runfile.bodies import BodyKind

BCGS = Solver(
    name="bcgs",
    synchronisation="blocking",
    lag=0,
    pattern=Pattern(
        marks=(
            Mark("A", "begin", ("MatMult",)),
            Mark("I", "monitor", ()),
        ),
        grammar="I(?>AAI)+",
        cycle=("^[I]",),
        bodies=(("AA[I]", BodyKind.REGULAR),),
    ),
)
