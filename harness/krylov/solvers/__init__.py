"""The solvers that can be recorded, by name; each with a pattern of its own has its own file."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.errors import UsageError
from hindmost.harness.krylov.solvers.bcgs import BCGS
from hindmost.harness.krylov.solvers.cg import CG
from hindmost.harness.krylov.solvers.cr import CR
from hindmost.harness.krylov.solvers.fgmres import FGMRES
from hindmost.harness.krylov.solvers.generic import OTHERS, generic
from hindmost.harness.krylov.solvers.gmres import GMRES
from hindmost.harness.krylov.solvers.groppcg import GROPPCG
from hindmost.harness.krylov.solvers.pgmres import PGMRES
from hindmost.harness.krylov.solvers.pipebcgs import PIPEBCGS
from hindmost.harness.krylov.solvers.pipecg import PIPECG
from hindmost.harness.krylov.solvers.pipecr import PIPECR
from hindmost.harness.krylov.solvers.richardson import RICHARDSON
from hindmost.harness.krylov.solvers.solver import Solver
from hindmost.registry import Registry
from hindmost.text import choose

SOLVERS: Registry[Solver] = Registry(
    "solver",
    (GMRES, PGMRES, FGMRES, CG, PIPECG, GROPPCG, CR, PIPECR, BCGS, PIPEBCGS, RICHARDSON),
    group="hindmost.solvers",
    kind=Solver,
)
"""Every solver whose pattern is known."""


def solver_named(name: str) -> Solver:
    """Return the declaration of a solver; one whose pattern is not known is generic."""
    if name in SOLVERS:
        return SOLVERS[name]
    return OTHERS.get(name) or generic(name)


def paired(names: Iterable[str]) -> tuple[str, ...]:
    """Return solvers, each followed by its pipelined variants; each once.

    A variant may be among the names if the solver that it belongs to is.

    Raises
    ------
    UsageError
        A solver has no pipelined variant; the message lists those that have.
    """
    variants = {name: solver_named(name).pipelined for name in names}
    added = {variant for several in variants.values() for variant in several}
    for name, several in variants.items():
        if not several and name not in added:
            own = (*SOLVERS.built_in, *OTHERS.values())
            having = sorted(each.name for each in own if each.pipelined)
            raise UsageError(f"--pair: '{name}' has no pipelined variant; {choose(having, name)}.")
    both = (each for name, several in variants.items() for each in (name, *several))
    return tuple(dict.fromkeys(both))
