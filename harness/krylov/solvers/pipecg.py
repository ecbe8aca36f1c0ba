"""Pipelined conjugate gradients: one reduction a body, posted at its end, awaited in the next."""

from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.harness.recorder.pattern import Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

PIPECG = Solver(
    name="pipecg",
    synchronisation="pipelined",
    lag=1,
    pattern=MarkPattern(
        marks=(
            Mark("R", "end", ("VecReduceBegin",)),
            Mark("I", "monitor", ()),
        ),
        # Before the first body the norm of the residual is found. The first body knows no new norm
        # yet; the last ends when it knows one, without updating anything.
        grammar="R?IR(?>RI)+",
        cycle=("I[R]R",),
        bodies=(
            ("R[R]", BodyKind.REGULAR),
            ("I[R]I", BodyKind.REGULAR),
            ("[I]$", BodyKind.DRAIN),
        ),
        fill=1,
    ),
)
