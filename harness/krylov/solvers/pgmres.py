"""Pipelined GMRES: one reduction a body, posted at its end and awaited in the next."""

from hindmost.harness.krylov.solvers.solver import GMRES_GOES_ON, Solver
from hindmost.harness.recorder.pattern import Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

PGMRES = Solver(
    name="pgmres",
    synchronisation="pipelined",
    lag=1,
    options=GMRES_GOES_ON,
    restart_option="ksp_gmres_restart",
    restart_default=30,
    pattern=MarkPattern(
        marks=(
            Mark("N", "end", ("VecNormalize",)),
            Mark("R", "end", ("VecReduceBegin",)),
            Mark("X", "begin", ("VecMAXPY",)),
        ),
        # The first body of a cycle only multiplies; every further one corrects one or two vectors
        # before it posts its reduction; the last only awaits one, before the solution is updated.
        grammar="(?>NR(?>XX?R)+X)+",
        cycle=("[N]",),
        bodies=(
            ("[R]", BodyKind.REGULAR),
            ("[X]N", BodyKind.DRAIN),
            ("[X]$", BodyKind.DRAIN),
        ),
        fill=2,
    ),
)
