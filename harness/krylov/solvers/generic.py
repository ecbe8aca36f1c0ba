"""PETSc's other solvers: their iterations are generic, each from one call of the monitors on.

Only what is not so by default is declared here. Any other type that PETSc has registered, one of a
site or of a newer PETSc too, is run as `generic` returns it.
"""

from __future__ import annotations

from typing import Any

from hindmost.harness.krylov.solvers.solver import GMRES_GOES_ON, MONITORED, Solver


def generic(name: str, **declared: Any) -> Solver:
    """Return a solver whose own pattern is not known."""
    facts = {"synchronisation": "blocking", "lag": 0, "pattern": MONITORED, **declared}
    return Solver(name=name, known=False, **facts)


RESTARTED = {
    "options": GMRES_GOES_ON,
    "restart_option": "ksp_gmres_restart",
    "restart_default": 30,
}

ONE_STEP = "it applies the preconditioner once, so there are no iterations to record."

OTHERS = {
    solver.name: solver
    for solver in (
        generic("fcg", pipelined=("pipefcg",)),
        generic(
            "gcr", pipelined=("pipegcr",), restart_option="ksp_gcr_restart", restart_default=30
        ),
        generic("lgmres", **RESTARTED),
        generic("dgmres", **RESTARTED),
        generic("pipefgmres", synchronisation="pipelined", **RESTARTED),
        generic("pipefcg", synchronisation="pipelined"),
        generic("pipegcr", synchronisation="pipelined"),
        generic("pipecgrr", synchronisation="pipelined"),
        generic("pipecg2", synchronisation="pipelined"),
        generic("pipelcg", synchronisation="pipelined"),
        generic("pipeprcg", synchronisation="pipelined"),
        generic("preonly", unusable=ONE_STEP),
        generic("none", unusable=ONE_STEP),
        generic(
            "fetidp",
            unusable="it needs a matrix of subdomains (MATIS), which no workload assembles.",
        ),
    )
}
"""By name, those of which something is declared."""
