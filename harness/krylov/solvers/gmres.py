"""GMRES: two blocking reductions a body, the orthogonalisation and the norm."""

from hindmost.harness.krylov.solvers.solver import GMRES_GOES_ON, Solver
from hindmost.harness.recorder.pattern import Mark, Pattern
from hindmost.harness.runfile.bodies import BodyKind

GMRES = Solver(
    name="gmres",
    synchronisation="blocking",
    lag=0,
    options=GMRES_GOES_ON,
    restart_option="ksp_gmres_restart",
    restart_default=30,
    pattern=Pattern(
        marks=(
            Mark("O", "end", ("KSPGMRESOrthog", "KSPOrthogonalize")),  # before and since PETSc 3.23
            Mark("N", "end", ("VecNormalize",)),
        ),
        # A cycle begins when its first vector is normalised; each body orthogonalises and
        # normalises one more.
        grammar="(?>N(?>ON)+)+",
        cycle=("^[N]", "N[N]"),
        bodies=(("O[N]", BodyKind.REGULAR),),
    ),
)
