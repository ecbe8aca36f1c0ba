"""What a solver is to the harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hindmost.harness.recorder.pattern import MONITOR, Mark, MarkPattern
from hindmost.harness.runfile.bodies import BodyKind


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
        Whether `pattern` is that of this solver. If not, iterations are *generic*: each lasts from
        one call of the monitors to the next.
    unusable : str
        Why ``hindmost run`` cannot run this type; empty if it can.
    """

    name: str
    pattern: MarkPattern
    synchronisation: Literal["blocking", "pipelined"]
    lag: int
    restart_option: str = ""
    restart_default: int = 0
    records_per_body: int = 64
    options: Mapping[str, str] = field(default_factory=dict)
    pipelined: tuple[str, ...] = ()
    known: bool = True
    unusable: str = ""


MONITORED = MarkPattern(
    marks=(Mark(MONITOR, "monitor", ()),),
    grammar="II+",
    cycle=("^[I]",),
    bodies=(("I[I]", BodyKind.REGULAR),),
)
"""The pattern of solvers whose iterations last from one call of the monitor to the next."""

GMRES_GOES_ON = {"ksp_gmres_breakdown_tolerance": "1e300", "ksp_gmres_haptol": "0"}
"""Without these a GMRES that has converged stops as if it had broken down."""
