"""Pipelined BiCGStab: two reductions a body, each posted and awaited in it.

Every 100th of the first 1000 iterations replaces the residual, with six more products.
"""

from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.harness.recorder.pattern import Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

PIPEBCGS = Solver(
    name="pipebcgs",
    synchronisation="pipelined",
    lag=0,
    pattern=MarkPattern(
        marks=(
            Mark("A", "begin", ("MatMult",)),
            Mark("E", "end", ("VecReduceEnd",)),
            Mark("I", "monitor", ()),
        ),
        # After the first monitor two products and two reductions set the method up.
        grammar="IAEAE(?>AEAE(?>A{6})?I)+",
        cycle=("^IAEA[E]",),
        bodies=(("E[I]", BodyKind.REGULAR), ("AAAAAA[I]", BodyKind.REPLACEMENT)),
    ),
)
