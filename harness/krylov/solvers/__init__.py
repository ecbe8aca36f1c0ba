"""The solvers that can be recorded, by name; each has its own file."""

from __future__ import annotations

from hindmost.harness.krylov.solvers.bcgs import BCGS
from hindmost.harness.krylov.solvers.cg import CG
from hindmost.harness.krylov.solvers.cr import CR
from hindmost.harness.krylov.solvers.fgmres import FGMRES
from hindmost.harness.krylov.solvers.gmres import GMRES
from hindmost.harness.krylov.solvers.groppcg import GROPPCG
from hindmost.harness.krylov.solvers.pgmres import PGMRES
from hindmost.harness.krylov.solvers.pipebcgs import PIPEBCGS
from hindmost.harness.krylov.solvers.pipecg import PIPECG
from hindmost.harness.krylov.solvers.pipecr import PIPECR
from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.registry import Registry

SOLVERS: Registry[Solver] = Registry(
    "solver",
    (GMRES, PGMRES, FGMRES, CG, PIPECG, GROPPCG, CR, PIPECR, BCGS, PIPEBCGS),
    group="hindmost.solvers",
    kind=Solver,
)
"""Every solver that ``hindmost run`` knows."""
