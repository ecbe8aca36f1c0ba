"""The solvers that can be recorded, by name, with the pattern that each leaves in a recording.

Any other type that PETSc has registered, one of a site or of a newer PETSc too, is *generic*: its
iterations last from one call of the monitors to the next.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from hindmost.errors import MissingError, UsageError
from hindmost.harness.recorder.pattern import MONITOR, Mark, MarkPattern
from hindmost.harness.recorder.petsc_library import libpetsc
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.registry import Registry
from hindmost.text import choose

MONITORED = MarkPattern(
    marks=(Mark(MONITOR, "monitor", ()),),
    grammar="II+",
    cycle=("^[I]",),
    bodies=(("I[I]", BodyKind.REGULAR),),
)
"""The pattern of solvers whose iterations last from one call of the monitor to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """A Krylov solver of PETSc and the pattern that it leaves in a recording.

    Attributes
    ----------
    name : str
        PETSc's name of the KSP.
    pattern : MarkPattern
    synchronisation : str
        ``blocking`` reductions, or ``pipelined`` ones.
    lag : int
        How many bodies a rank may begin before it needs the reduction that ended a body: 0 for
        blocking solvers.
    restart_option : str
        PETSc's option for the length of a restart cycle; empty for solvers that do not restart.
    restart_default : int
        PETSc's own default for it.
    records_per_body : int
        An upper bound, for the memory of a solve without a warm-up.
    options : mapping of str to str
        PETSc options that force a number of iterations, besides those that all solvers need.
    pipelined : tuple of str
        PETSc's names of the pipelined variants of this method, which ``--pair`` runs as well.
    known : bool
        Whether `pattern` is that of this solver. If not, iterations are *generic*.
    unusable : str
        Why ``hindmost run`` cannot run this type; empty if it can.
    """

    name: str
    pattern: MarkPattern = MONITORED
    synchronisation: Literal["blocking", "pipelined"] = "blocking"
    lag: int = 0
    restart_option: str = ""
    restart_default: int = 0
    records_per_body: int = 64
    options: Mapping[str, str] = field(default_factory=dict)
    pipelined: tuple[str, ...] = ()
    known: bool = True
    unusable: str = ""


GMRES_GOES_ON = {"ksp_gmres_breakdown_tolerance": "1e300", "ksp_gmres_haptol": "0"}
"""Without these a GMRES that has converged stops as if it had broken down."""
RESTARTED: dict[str, Any] = {
    "options": GMRES_GOES_ON,
    "restart_option": "ksp_gmres_restart",
    "restart_default": 30,
}
ORTHOGONALISED = Mark("O", "end", ("KSPGMRESOrthog", "KSPOrthogonalize"))
"""Before and since PETSc 3.23."""

GMRES_PATTERN = MarkPattern(
    marks=(ORTHOGONALISED, Mark("N", "end", ("VecNormalize",))),
    # A cycle begins when its first vector is normalised; each body orthogonalises and normalises
    # one more. A last cycle may find that the solve has converged already.
    grammar="(?>N(?>ON)+)+N?",
    cycle=("^[N]", "N[N]"),
    bodies=(("O[N]", BodyKind.REGULAR),),
)
PGMRES_PATTERN = MarkPattern(
    marks=(
        Mark("N", "end", ("VecNormalize",)),
        Mark("R", "end", ("VecReduceBegin",)),
        Mark("X", "begin", ("VecMAXPY",)),
    ),
    # The first body of a cycle only multiplies; every further one corrects one or two vectors
    # before it posts its reduction; the last only awaits one, before the solution is updated.
    grammar="(?>NR(?>XX?R)+X)+",
    cycle=("[N]",),
    bodies=(("[R]", BodyKind.REGULAR), ("[X]N", BodyKind.DRAIN), ("[X]$", BodyKind.DRAIN)),
    fill=2,
)
FGMRES_PATTERN = MarkPattern(
    marks=(ORTHOGONALISED, Mark("N", "end", ("VecNorm",)), Mark(MONITOR, "monitor", ())),
    # A cycle begins with the norm of its first vector; each body calls the monitor, orthogonalises
    # and takes one more norm. PETSc does not compute a norm again that it knows, so the first cycle
    # may begin with the monitor.
    grammar="N?(?>(?>ION)+N)*(?>ION)*I?",
    cycle=("^[N]", "^[I]", "N[N]"),
    bodies=(("O[N]", BodyKind.REGULAR),),
)
PIPECG_PATTERN = MarkPattern(
    marks=(Mark("R", "end", ("VecReduceBegin",)), Mark("I", "monitor", ())),
    # Before the first body the norm of the residual is found. The first body knows no new norm yet;
    # the last ends when it knows one, without updating anything.
    grammar="R?IR(?>RI)+",
    cycle=("I[R]R",),
    bodies=(("R[R]", BodyKind.REGULAR), ("I[R]I", BodyKind.REGULAR), ("[I]$", BodyKind.DRAIN)),
    fill=1,
)
PIPEBCGS_PATTERN = MarkPattern(
    marks=(
        Mark("A", "begin", ("MatMult",)),
        Mark("E", "end", ("VecReduceEnd",)),
        Mark("I", "monitor", ()),
    ),
    # After the first monitor two products and two reductions set the method up. Every 100th of the
    # first 1000 iterations replaces the residual, with six more products.
    grammar="IAEAE(?>AEAE(?>A{6})?I)+",
    cycle=("^IAEA[E]",),
    bodies=(("E[I]", BodyKind.REGULAR), ("AAAAAA[I]", BodyKind.REPLACEMENT)),
)
RICHARDSON_PATTERN = MarkPattern(
    marks=(
        Mark("R", "end", ("VecCopy",)),
        Mark("R", "end", ("VecAYPX",)),
        Mark("X", "end", ("VecAXPY",)),
    ),
    # A body applies the preconditioner, updates the solution (X) and finds the new residual (R);
    # the first residual is a copy of the right side. Without a norm the last body finds none. No
    # monitor is needed: some versions of PETSc call none without a norm.
    grammar="(?>RX)+R?",
    cycle=("^[R]",),
    bodies=(("X[R]", BodyKind.REGULAR), ("[X]$", BodyKind.REGULAR)),
)

SOLVERS: Registry[Solver] = Registry(
    "solver",
    (
        # two blocking reductions an iteration, the orthogonalisation and the norm
        Solver(name="gmres", pattern=GMRES_PATTERN, pipelined=("pgmres",), **RESTARTED),
        # one reduction an iteration, posted at its end and awaited in the next
        Solver(
            name="pgmres", pattern=PGMRES_PATTERN, synchronisation="pipelined", lag=1, **RESTARTED
        ),
        Solver(name="fgmres", pattern=FGMRES_PATTERN, pipelined=("pipefgmres",), **RESTARTED),
        Solver(name="cg", pipelined=("pipecg", "groppcg")),
        Solver(name="pipecg", pattern=PIPECG_PATTERN, synchronisation="pipelined", lag=1),
        # two reductions an iteration, each posted and awaited in it
        Solver(name="groppcg", synchronisation="pipelined"),
        Solver(name="cr", pipelined=("pipecr",)),
        Solver(name="pipecr", pattern=PIPECG_PATTERN, synchronisation="pipelined", lag=1),
        Solver(name="bcgs", pipelined=("pipebcgs",)),
        # two reductions an iteration, each posted and awaited in it
        Solver(name="pipebcgs", pattern=PIPEBCGS_PATTERN, synchronisation="pipelined"),
        # x + omega B (b - A x); with Jacobi's B it is Jacobi relaxation
        Solver(name="richardson", pattern=RICHARDSON_PATTERN),
    ),
    group="hindmost.solvers",
    kind=Solver,
)
"""Every solver whose pattern is known."""

ONE_STEP = "it applies the preconditioner once, so there are no iterations to record."
OTHERS = {
    solver.name: solver
    for solver in (
        Solver(name="fcg", known=False, pipelined=("pipefcg",)),
        Solver(
            name="gcr",
            known=False,
            pipelined=("pipegcr",),
            restart_option="ksp_gcr_restart",
            restart_default=30,
        ),
        Solver(name="lgmres", known=False, **RESTARTED),
        Solver(name="dgmres", known=False, **RESTARTED),
        Solver(name="pipefgmres", known=False, synchronisation="pipelined", **RESTARTED),
        *(
            Solver(name=name, known=False, synchronisation="pipelined")
            for name in ("pipefcg", "pipegcr", "pipecgrr", "pipecg2", "pipelcg", "pipeprcg")
        ),
        Solver(name="preonly", known=False, unusable=ONE_STEP),
        Solver(name="none", known=False, unusable=ONE_STEP),
        Solver(
            name="fetidp",
            known=False,
            unusable="it needs a matrix of subdomains (MATIS), which no workload assembles.",
        ),
    )
}
"""Generic solvers of which something is declared, by name."""


def solver_named(name: str) -> Solver:
    """Return the declaration of a solver; one whose pattern is not known is generic."""
    if name in SOLVERS:
        return SOLVERS[name]
    return OTHERS.get(name) or Solver(name=name, known=False)


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


@cache
def registered_types() -> tuple[str, ...]:
    """Return PETSc's names of all its solvers, sorted; PETSc must have started.

    Those of libraries that PETSc has loaded with ``-dll_append`` are among them.
    """
    petsc = libpetsc()
    names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_int(0)
    failed = petsc.KSPInitializePackage() or petsc.PetscFunctionListGet(
        ctypes.c_void_p.in_dll(petsc, "KSPList"), ctypes.byref(names), ctypes.byref(count)
    )
    if failed:
        raise MissingError(f"PETSc does not list its solvers (PETSc error {failed}).")
    # PETSc wants the list of pointers back; once a process it may keep it.
    found = (names[each] for each in range(count.value))
    return tuple(sorted(name.decode() for name in found if name))  # its end is in the list, too


def check_types(names: Iterable[str]) -> None:
    """Raise a UsageError for a solver that this PETSc does not have, or that cannot be run."""
    types = registered_types()
    for name in names:
        if name not in types:
            known = name in SOLVERS or name in OTHERS
            what = "This PETSc does not have the" if known else "Unknown"
            raise UsageError(f"{what} solver '{name}'; {choose(types, name)}.")
        why = solver_named(name).unusable
        if why:
            raise UsageError(f"--solver {name}: {why}")
