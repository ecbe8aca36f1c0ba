"""Flexible GMRES: the pattern of GMRES, but that it takes norms without normalising."""

from dataclasses import replace

from hindmost.harness.krylov.solvers.gmres import GMRES
from hindmost.harness.recorder.pattern import Mark

FGMRES = replace(
    GMRES,
    name="fgmres",
    pattern=replace(GMRES.pattern, marks=(GMRES.pattern.marks[0], Mark("N", "end", ("VecNorm",)))),
)
