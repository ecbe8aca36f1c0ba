"""Flexible GMRES: the pattern of GMRES, but that it takes norms without normalising."""

from dataclasses import replace

from hindmost.harness.krylov.solvers.gmres import GMRES, ORTHOGONALISED
from hindmost.harness.recorder.pattern import MONITOR, Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

FGMRES = replace(
    GMRES,
    name="fgmres",
    pipelined=("pipefgmres",),
    pattern=MarkPattern(
        marks=(ORTHOGONALISED, Mark("N", "end", ("VecNorm",)), Mark(MONITOR, "monitor", ())),
        # A cycle begins with the norm of its first vector; each body calls the monitor,
        # orthogonalises and takes one more norm. PETSc does not compute a norm again that it knows,
        # so the first cycle may begin with the monitor.
        grammar="N?(?>(?>ION)+N)*(?>ION)*I?",
        cycle=("^[N]", "^[I]", "N[N]"),
        bodies=(("O[N]", BodyKind.REGULAR),),
    ),
)
