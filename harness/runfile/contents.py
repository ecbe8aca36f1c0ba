"""Data that ranks and run files exchange."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.attributes import (
    OBJECTS,
    Count,
    Json,
    Name,
    Ranks,
    read_object,
)  # fmt: skip
from hindmost.harness.runfile.bodies import RankBodies
from hindmost.harness.runfile.contexts import CallContexts
from hindmost.harness.runfile.cycles import RankCycles, arrays_of
from hindmost.harness.runfile.samples import RankSamples
from hindmost.records import RecordError, from_document
from hindmost.text import counted, percent, seconds

ROLES = {
    "measured": "measured here",
    "around": "around it",
    "inside": "inside it",
    "phase": "another phase",
}
"""What loops of a program are to the one that is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Metadata of a run; the attributes of its file.

    Attributes
    ----------
    workload, solver : str
    ranks : int
    iterations : int
        Iterations that the solver did.
    restart : int
        Length of a restart cycle; 0 for solvers without restarts.
    synchronisation : str
        ``blocking`` or ``pipelined``.
    lag : int
        Number of bodies that a rank may start before it needs the reduction that ended a body.
    complete : bool
        False if records were lost: then the file contains the bodies before the first loss.
    records_lost : int
        Number of records of all ranks that did not fit in memory.
    origin : str
        ``measured``, ``simulated`` or ``synthetic``.
    t0_utc : str
        Time when the barrier before the solve was left, ISO 8601.
    mpi_library : str
    spec : dict
        The configuration: unknowns, repeat, seed and so on.
    environment : dict
        Machine and software.
    petsc_options, scheduler, git : dict
    """

    workload: Name
    solver: Name
    ranks: Ranks
    iterations: Count
    restart: Count
    synchronisation: Literal["blocking", "pipelined"]
    lag: Count
    complete: bool
    records_lost: Count
    origin: Literal["measured", "simulated", "synthetic"]
    t0_utc: str
    mpi_library: str
    spec: Json
    environment: Json
    petsc_options: Json
    scheduler: Json
    git: Json

    @property
    def iteration_is(self) -> str:
        """What an iteration of an attached loop is: a loop of the program, or calls of MPI.

        Empty if the program marks its iterations, and for other runs.
        """
        said = self.spec.get("attached") or {}
        loop = said.get("loop")
        if said.get("no_loop"):
            return "the whole program"
        if not loop:
            return self.calls_of_iteration
        doubt = "" if loop["by_code"] else ", by the order of calls"
        few = ", few iterations" if loop["few"] else ""
        passes = f", {self.passes}" if self.passes else ""
        return f"loop {loop['name']}{few}{passes}{doubt}"

    @property
    def passes(self) -> str:
        """That an iteration may be several passes of its loop; empty if calls separate them all."""
        loops = ((self.spec.get("attached") or {}).get("loop") or {}).get("loops", ())
        several = any(loop["role"] == "measured" and loop.get("at_least") for loop in loops)
        return "each of one or more passes" if several else ""

    def loops(self, *, every: bool = False) -> list[str]:
        """Return the loops of an attached program in words, those with most of the time first.

        Parameters
        ----------
        every : bool
            Also that whose iterations these are, and those that are in another phase of the
            program; each before those in it, indented by their nest.
        """
        seen = (self.spec.get("attached") or {}).get("loop", {}).get("loops", [])
        if not every:
            seen = sorted(seen, key=lambda loop: -loop["share"])
        words = []
        for loop in seen:
            role = ROLES.get(loop["role"], "")
            if every or (role and loop["role"] != "measured"):
                times = f"{loop['iterations']:,} x {seconds(loop['seconds'])}"
                if loop.get("at_least"):
                    times = f"at least {loop['iterations']:,} x"
                said = every and loop["role"] != "measured"  # of which the run says more
                share = f"{percent(loop['share'], 0)} of the time" if said else ""
                about = ", ".join(filter(None, (share, role)))
                name = f"{'  ' * loop['depth'] if every else ''}{loop['name']}"
                name += f" from {loop['caller']}" if "caller" in loop else ""
                words.append(f"{name} {times}, {about}" if about else f"{name} {times}")
        return words

    @property
    def calls_of_iteration(self) -> str:
        """The calls or marks that end an iteration: ``each 3 calls of MPI_Allreduce``."""
        said = self.spec.get("attached") or self.spec
        at, unit = said.get("iterate_at"), said.get("summed", {}).get("unit", 1)
        if at:
            return f"each {counted(at['calls'] * unit, 'call')} of {at['call']}"
        return f"each {unit:,} marked iterations" if unit > 1 else ""

    def to_attributes(self) -> dict[str, str | int]:
        """Return the attributes of the file: text and numbers, and JSON for mappings."""
        attributes: dict[str, str | int] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, dict):
                value = json.dumps(value, sort_keys=True)
            attributes[field.name] = int(value) if isinstance(value, bool) else value
        return attributes

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any]) -> Header:
        """Return the header from attributes; raises a ValueError if they are invalid.

        Parameters
        ----------
        attributes : mapping of str to str, int or float
            As in the file.
        """
        values = {
            field.name: attributes[field.name] for field in fields(cls) if field.name in attributes
        }
        for name, form in OBJECTS.items():
            if name in values:
                values[name] = read_object(name, values[name], form)
        if values.get("complete") in (0, 1):  # attributes have no truth values
            values["complete"] = bool(values["complete"])
        header = from_document(cls, values)
        try:
            datetime.fromisoformat(header.t0_utc)
        except ValueError:
            why = "allowed: a time as 2026-01-02T03:04:05+00:00"
            raise RecordError(why, "t0_utc", found=header.t0_utc) from None
        return header


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Who sends halos to whom.

    Attributes
    ----------
    source, target : int32 array, shape (edge,)
    bytes : int64 array, shape (edge,)
        Size of one exchange.
    messages, epoch : int32 array, shape (edge,), or None
        Messages of one exchange, and the mesh that the edge belongs to; None where it never
        changes.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    bytes: NDArray[np.int64]
    messages: NDArray[np.int32] | None = None
    epoch: NDArray[np.int32] | None = None

    @classmethod
    def none(cls) -> Edges:
        """Return an empty list of edges."""
        ranks = np.empty(0, np.int32)
        return cls(source=ranks, target=ranks, bytes=np.empty(0, np.int64), messages=ranks)

    @classmethod
    def sent(
        cls,
        rank: int,
        to: NDArray[np.integer[Any]],
        messages: NDArray[np.integer[Any]],
        sizes: NDArray[np.integer[Any]],
        bodies: float,
    ) -> Edges:
        """Return to whom a rank sent, with the mean messages and bytes of a body.

        Parameters
        ----------
        bodies : float
            In which these were sent.
        to, messages, sizes : int array, shape (target,)
            Ranks, of which some may come again, messages in all bodies, and their bytes.
        """
        targets, which = np.unique(to, return_inverse=True)
        total = np.bincount(which, messages, targets.size) / bodies
        size = np.bincount(which, sizes, targets.size) / bodies
        return cls(
            source=np.full(targets.size, rank, np.int32),
            target=targets.astype(np.int32),
            bytes=np.clip(np.rint(size), 0, 1 << 52).astype(np.int64),
            messages=np.clip(np.rint(total), 1, (1 << 31) - 1).astype(np.int32),
        )

    def variables(self) -> dict[str, NDArray[Any]]:
        """Return those that are known, by the names that they have in the file."""
        return arrays_of(self, "edge_")

    @classmethod
    def together(cls, parts: list[Edges]) -> Edges:
        """Return the edges of all ranks as one list."""
        known = [field.name for field in fields(cls) if getattr(parts[0], field.name) is not None]
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOfBody:
    """Which solve of a program each body is of, where a run may have several.

    Attributes
    ----------
    solve : uint32 array, shape (body,)
        Number of the solve in the program, from 0.
    snes_step, time_step : int32 array, shape (body,), or None
        Newton step and time step that the solve is part of, -1 outside of any; None if all are.
    """

    solve: NDArray[np.uint32]
    snes_step: NDArray[np.int32] | None = None
    time_step: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedStretches:
    """Where the time of a rank, or of all, went: from calls of one context to those of another.

    Attributes
    ----------
    rank : int32 array, shape (stretch,)
    after, before : uint32 array, shape (stretch,)
        Contexts of the calls at both ends; ``after`` is 0 at the begin of the program.
    calls : int64 array, shape (stretch,)
    work_s, mpi_s : float64 array, shape (stretch,), seconds
        Until the calls at its end, and in these.
    """

    rank: NDArray[np.int32]
    after: NDArray[np.uint32]
    before: NDArray[np.uint32]
    calls: NDArray[np.int64]
    work_s: NDArray[np.float64]
    mpi_s: NDArray[np.float64]

    @classmethod
    def together(cls, ranks: Sequence[SummedStretches]) -> SummedStretches:
        """Return those of several ranks."""
        names = [field.name for field in fields(cls)]
        return cls(
            **{name: np.concatenate([getattr(each, name) for each in ranks]) for name in names}
        )

    def variables(self) -> dict[str, NDArray[Any]]:
        """Return the variables of a run file."""
        return {
            "stretch_rank": self.rank,
            "stretch_after": self.after,
            "stretch_before": self.before,
            "stretch_calls": self.calls,
            "stretch_work": self.work_s,
            "stretch_mpi": self.mpi_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRun:
    """What one rank contributes to the run file.

    Attributes
    ----------
    bodies : RankBodies
    residual_norm : float64 array, shape (body,)
        NaN where the solver knows none; that of rank 0 is written.
    incoming : Edges
        The messages that this rank sends or receives.
    mpi_other_s : float
        Seconds in MPI calls of no known kind, in the whole solve.
    context_switches : int
    core_wait_s : float
        How long the thread that calls MPI was ready to run during the solve and had no core; NaN
        where the kernel does not tell.
    threads : int
        Of the process when the solve ended, those of MPI too; 0 if unknown.
    others_cpu_s : float
        Processor time in the solve of all threads but the one that calls MPI; NaN if unknown.
    cpu : int
    cpuset : str
        The cores that the rank may use, as in ``0-3,8``.
    host : str
    load_before, load_after : float
        Load of the rank's host (mean number of running tasks in the last minute).
    clock_offset_s, clock_uncertainty_s : float
        What was added to the rank's clock to read rank 0's, and how sure that is.
    foreign_calls : int
        MPI calls of other threads than the recorded one; nothing else is known of them.
    foreign_threads : int
        How many such threads made some.
    polls : int
        Calls of a loop of the user's own that ask whether a message or request is there, without
        waiting for it.
    between_polls_s : float
        Time from such calls that found nothing to the next one, without other calls between.
    cycles : RankCycles or None
        Counts and predictions of an adaptive run.
    solves : SolveOfBody or None
        Of an attached program; that of rank 0 is written.
    contexts : CallContexts or None
        Of all ranks of an attached program; that of rank 0 is written.
    polls_by_context : int64 array, shape (context,), or None
        Where there are contexts, `polls` by them.
    samples : RankSamples or None
        Where they were asked for.
    thread_calls_by_context : int64 array, shape (context,), or None
        Where there are contexts, the MPI calls of other threads than the recorded one.
    thread_s_by_context : float64 array, shape (context,), seconds, or None
        How long these took.
    stretches : SummedStretches or None
        Where the whole program is one iteration, and its calls are known by sums only.
    """

    bodies: RankBodies
    residual_norm: NDArray[np.float64]
    incoming: Edges
    mpi_other_s: float
    context_switches: int
    core_wait_s: float
    cpu: int
    cpuset: str
    host: str
    load_before: float
    load_after: float
    clock_offset_s: float
    clock_uncertainty_s: float
    threads: int = 0
    others_cpu_s: float = math.nan
    foreign_calls: int = 0
    foreign_threads: int = 0
    polls: int = 0
    between_polls_s: float = 0.0
    cycles: RankCycles | None = None
    solves: SolveOfBody | None = None
    contexts: CallContexts | None = None
    polls_by_context: NDArray[np.int64] | None = None
    samples: RankSamples | None = None
    thread_calls_by_context: NDArray[np.int64] | None = None
    thread_s_by_context: NDArray[np.float64] | None = None
    stretches: SummedStretches | None = None
