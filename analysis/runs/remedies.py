"""What can be done about a run, by how it was recorded: which options and calls its kind has."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from hindmost.analysis.runs.configuration import COLLECTIVES, is_attached, is_loop, is_own_loop
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run


class Kind(Enum):
    """How a run was recorded; the value is the command or function."""

    SOLVER = "hindmost run"
    ADAPTIVE = "hindmost run adaptive"
    ATTACHED_SOLVES = "hindmost attach: the solves of a PETSc program"
    ATTACHED_LOOP = "hindmost attach: a loop of a program"
    OWN_SOLVE = "hindmost.record_ksp"
    OWN_LOOP = "hindmost.record"
    SIMULATED = "simulated"


class Need(Enum):
    """What is to be done; the value says it in general."""

    MORE_ITERATIONS = "enough iterations"
    MORE_TO_CONVERGE = "iterations up to the tolerance"
    FEWER_ITERATIONS = "no more iterations than the solver can do"
    ROOM = "room for all records"
    TOLERANCE = "a tolerance"
    ACTIVITIES = "local work by activity"
    PIPELINED = "a measurement of the pipelined solver"
    REPLAY = "a second run of the same cycles"
    NAMED_CALLS = "a phase for calls of unknown kind"
    NAMED_POLLING = "a phase for calls that ask"
    TOLD_APART = "what distinguishes runs"


REMEDIES: Mapping[Need, Mapping[Kind, str]] = {
    Need.MORE_ITERATIONS: {
        Kind.SOLVER: "record more iterations (--iterations), or several solves (--repeats)",
        Kind.ADAPTIVE: "record more cycles (--cycles)",
        Kind.ATTACHED_SOLVES: "let the program iterate longer, or solve more often",
        Kind.ATTACHED_LOOP: "let the program iterate longer",
        Kind.OWN_SOLVE: "record a longer solve",
        Kind.OWN_LOOP: "record more iterations",
    },
    Need.MORE_TO_CONVERGE: {
        Kind.SOLVER: "ask for more iterations (--iterations) or another preconditioner",
        Kind.ATTACHED_SOLVES: "ask for more iterations (-ksp_max_it) or another preconditioner",
        Kind.OWN_SOLVE: "ask for more iterations (max_it of the KSP) or another preconditioner",
    },
    Need.FEWER_ITERATIONS: {
        Kind.SOLVER: "ask for fewer iterations (--iterations)",
        Kind.ATTACHED_SOLVES: "ask for fewer iterations (-ksp_max_it)",
        Kind.OWN_SOLVE: "ask for fewer iterations (max_it of the KSP)",
    },
    Need.ROOM: {
        Kind.SOLVER: "record again with --warmup 1, which counts the records",
        Kind.ADAPTIVE: "record fewer cycles (--cycles)",
        Kind.ATTACHED_SOLVES: "give more memory (--memory)",
        Kind.ATTACHED_LOOP: "give more memory (--memory)",
        Kind.OWN_SOLVE: "record a shorter solve",
        Kind.OWN_LOOP: "record fewer iterations",
    },
    Need.TOLERANCE: {
        Kind.SOLVER: "record with --rtol",
        Kind.ATTACHED_SOLVES: "give the program a tolerance that it reaches (-ksp_rtol)",
        Kind.OWN_SOLVE: "give the KSP a tolerance that it reaches",
    },
    Need.ACTIVITIES: {
        Kind.SOLVER: "record it with 'hindmost run --activities'",
        Kind.OWN_SOLVE: "record it with record_ksp(..., activities=True)",
    },
    Need.PIPELINED: {
        Kind.SOLVER: "record both solvers with 'hindmost run --pair'",
        Kind.ATTACHED_SOLVES: "attach once more, with the pipelined solver (-ksp_type)",
        Kind.OWN_SOLVE: "record a solve of the pipelined type, too",
    },
    Need.REPLAY: {Kind.ADAPTIVE: "replay (--repeats) and compare with the floor"},
    Need.NAMED_CALLS: {
        Kind.OWN_LOOP: "put them inside recorder.phase('halo') or recorder.phase('wait')"
    },
    Need.NAMED_POLLING: {Kind.OWN_LOOP: "put the polling into recorder.phase('wait')"},
    Need.TOLD_APART: {
        Kind.OWN_SOLVE: "name what differs: record_ksp(..., parameters={...})",
        Kind.OWN_LOOP: "name what differs: record(..., parameters={...})",
    },
}
"""What to do for each need, by kind; where a kind is missing, it has nothing for that."""


def kind_of(run: Run) -> Kind:
    """Return how a run was recorded."""
    header = run.header
    if header.origin == "simulated":
        return Kind.SIMULATED
    if header.workload == ADAPTIVE:
        return Kind.ADAPTIVE
    if is_attached(run):
        return Kind.ATTACHED_LOOP if is_loop(run) else Kind.ATTACHED_SOLVES
    if header.workload == COLLECTIVES or (is_own_loop(run) and is_loop(run)):
        return Kind.OWN_LOOP
    if is_own_loop(run):
        return Kind.OWN_SOLVE
    return Kind.SOLVER


def remedy(need: Need, run: Run, *, before: str = "", otherwise: str = "") -> str:
    """Return what to do about a run, after some words; other words where its kind has nothing."""
    words = REMEDIES[need].get(kind_of(run), "")
    return before + words if words else otherwise
