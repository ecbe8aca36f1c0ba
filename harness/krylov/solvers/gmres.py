"""GMRES: two blocking reductions a body, the orthogonalisation and the norm."""

from hindmost.harness.krylov.solvers.solver import GMRES_GOES_ON, Solver
from hindmost.harness.recorder.pattern import Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind

ORTHOGONALISED = Mark("O", "end", ("KSPGMRESOrthog", "KSPOrthogonalize"))
"""Before and since PETSc 3.23."""

GMRES = Solver(
    name="gmres",
    synchronisation="blocking",
    lag=0,
    options=GMRES_GOES_ON,
    restart_option="ksp_gmres_restart",
    restart_default=30,
    pipelined=("pgmres",),
    pattern=MarkPattern(
        marks=(
            ORTHOGONALISED,
            Mark("N", "end", ("VecNormalize",)),
        ),
        # A cycle begins when its first vector is normalised; each body orthogonalises and
        # normalises one more. A last cycle may find that the solve has converged already.
        grammar="(?>N(?>ON)+)+N?",
        cycle=("^[N]", "N[N]"),
        bodies=(("O[N]", BodyKind.REGULAR),),
    ),
)
