"""What the JSON of a raw file says: of the program, of its sections, and of its end.

Keys that are not known are passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

ADDRESS = re.compile(r"_*\d{6,}")
"""Part of an options prefix: the address of an object, which differs between ranks and runs.

DOLFINx names its solvers so: ``dolfinx_solve_140230483910``.
"""


LOOP = "loop"
"""What a section is that is no solve."""
NO_TIME = -(1 << 62)
"""Stands for a time that is not known."""
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Unsure = Annotated[int, Meta(ge=-1, le=1 << 53)]
"""A count that is -1 where it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a rank says of its program.

    Attributes
    ----------
    program : tuple of str
        The command line.
    call_names, call_classes : tuple of str
        Name and class of each MPI call, by its number in the records.
    mark_call : str
        The MPI call at which iterations end (``--iterate-at``); empty for marks of the program.
    mark_nth : int
        An iteration ends at every such call, or at each second one, and so on.
    only : str
        The options prefix of the solves to record (``--only``); empty for all.
    chooses_solves : bool
        Whether options choose solves (``--only``, ``--every``, ``--most``).
    injected : str
        Law of the noise that was injected; empty if there was none.
    injection_seed : int
    keep : float
        Share of the ranks whose full records the run file keeps.
    origins : mapping
        Machine, scheduler and repository, as rank 0 found them; may be empty.
    recording : mapping
        Of ``hindmost.record``, what it says of its loop; empty for another program.
    """

    version: Annotated[int, Meta(ge=1)] = 1
    rank: Count = 0
    size: Annotated[int, Meta(ge=1, le=1 << 31)] = 1
    program: Annotated[
        tuple[str, ...], Meta(min_length=1, description="a list of at least one word")
    ]
    call_names: tuple[str, ...]
    call_classes: tuple[str, ...]
    pid: Count = 0
    host: str = ""
    mpi_library: str = ""
    petsc_version: str = ""
    scalar: str = ""
    utc_ns: Annotated[int, Meta(ge=0)] = 0
    cpu: Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)] = -1
    cpuset: str = ""
    mark_call: str = ""
    mark_nth: Annotated[int, Meta(ge=1, le=1 << 53)] = 1
    only: str = ""
    chooses_solves: bool = False
    injected: str = ""
    injection_seed: Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)] = 0
    keep: Annotated[float, Meta(gt=0, le=1)] = 1.0
    origins: Mapping[str, Any] = field(default_factory=dict)
    recording: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Solves inside of a solve, such as those of a preconditioner, by prefix and type."""

    type: str
    prefix: str = ""
    count: Count = 0
    ns: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSite:
    """MPI calls of one kind by a thread from one context of its rank."""

    context: Count = 0
    call: Count = 0
    count: Count = 0
    ns: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCalls:
    """The MPI calls of a thread other than the recorded one, as far as they have returned."""

    thread: Count = 0
    calls: Count = 0
    phase_ns: tuple[Count, ...] = ()
    sites: tuple[ThreadSite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A solve, or the iterations of a loop, on one rank.

    Attributes
    ----------
    what : str
        ``solve`` or ``loop``.
    begin_ns, end_ns : int
        On the rank's own clock; `NO_TIME`: not known.
    seen, kept : int
        Records that were asked for, and those for which there was room.
    type, prefix : str
        PETSc's name of the solver, and the prefix of its options.
    solve : int
        Number of the solve, or of the loop, in the program, from 0.
    comm_size, comm_rank, comm_leader : int
        Ranks that take part, this rank's place among them, and the rank in the program of the first
        of them; -1: all ranks of the program take part, in their order.
    nonzeros : float
        Of this rank's rows.
    norm_type : int
        PETSc's number of the norm that the convergence test sees.
    snes_step, time_step : int
        Newton and time step; -1 outside of one.
    reason : str
        PETSc's name of why the solve ended; empty if it did not.
    complete : bool
        False if the program ended before the section did.
    phases : tuple of str
        Names of the phases that the program marks, by number.
    errors : tuple of str
        Names of the errors that ended iterations, by number.
    unit : int
        Passes of a loop that have sums together; 0 if all calls were kept.
    inner : tuple of Inner
    threads : tuple of ThreadCalls
    """

    what: Literal["solve", "loop"]
    begin_ns: int = NO_TIME
    end_ns: int = NO_TIME
    seen: Count = 0
    kept: Count = 0
    type: str = ""
    prefix: str = ""
    solve: Annotated[int, Meta(ge=0, le=(1 << 32) - 1)] = 0
    snes_step: Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)] = -1
    time_step: Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)] = -1
    comm_size: Unsure = -1
    comm_rank: Unsure = -1
    comm_leader: int = -1
    rows: Unsure = -1
    nonzeros: float = -1
    mat_type: str = ""
    pc_type: str = ""
    restart: Count = 0
    rtol: float | None = None
    atol: float | None = None
    most: Unsure = -1
    norm_type: Annotated[int, Meta(ge=-1000, le=1000)] = -1
    reason: str = ""
    iterations: Unsure = -1
    begin_utc_ns: Annotated[int, Meta(ge=0)] = 0
    switches: Count = 0
    core_wait_ns: Unsure = -1
    thread_count: Unsure = -1
    others_cpu_ns: Unsure = -1
    foreign_calls: Count = 0
    foreign_threads: Count = 0
    threads: tuple[ThreadCalls, ...] = ()
    other_ns: Mapping[str, Count] = field(default_factory=dict)
    polls: Count = 0
    between_polls_ns: Count = 0
    load_before: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    load_after: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    complete: bool = True
    phases: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    unit: Count = 0
    inner: tuple[Inner, ...] = ()

    @property
    def core_wait_s(self) -> float:
        """How long its thread was ready to run and had no core; NaN where that is not known."""
        return self.core_wait_ns * 1e-9 if self.core_wait_ns >= 0 else math.nan

    @property
    def others_cpu_s(self) -> float:
        """Processor time of the other threads; NaN where that is not known."""
        return self.others_cpu_ns * 1e-9 if self.others_cpu_ns >= 0 else math.nan

    @property
    def lost(self) -> int:
        """Records for which there was no room."""
        return max(self.seen - self.kept, 0)

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.begin_ns) * 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What a rank wrote when MPI ended.

    Attributes
    ----------
    mpi_calls : int or None
        MPI calls that the recorder saw.
    solves_seen, solves_of_other_prefixes : int
        Outermost solves of the program, and those of prefixes that were not to be recorded.
    solves_not_recorded_led : int
        Solves that were not to be recorded of which this is the first rank: one of several ranks
        counts once.
    own_recordings : int
        What the program recorded of itself.
    marks_in_solves : int
        Marks of iterations that were not kept: inside a recorded solve, or where options choose
        solves.
    calls, calls_of_some : mapping
        MPI calls of the program by name. If iterations end at a call: how many of these were not on
        all ranks.
    aborted : int or None
        The code of an MPI_Abort.
    in_call, last_call : str
        The MPI call that the rank was in, empty if it was in none, and the one before.
    partner : int
        The rank with which it exchanged a message in that call; -1: none, or not known.
    since_ns : int
        When that call began, or the last one ended, on the rank's own clock.
    clock_ns : int
        When this was written, on that clock.
    signal : int or None
        The signal that ended it; 0: none; None in files of earlier versions.
    other_thread : bool
        Whether that signal came in another thread than the recorded one.
    exit_status : int
        What the program gave to ``exit``; -1: it did not call it.
    failure : int
        The number of the system's error for which what came before could not be written; 0: none.
    last_context : int
        Of the last recorded call, or of that one.
    """

    finalized: bool = False
    mpi_calls: Count | None = None
    solves_seen: Count = 0
    solves_of_other_prefixes: Count = 0
    solves_not_recorded_led: Count = 0
    own_recordings: Count = 0
    marks_in_solves: Count = 0
    calls: Mapping[str, Count] = field(default_factory=dict)
    calls_of_some: Mapping[str, Count] = field(default_factory=dict)
    aborted: int | None = None
    in_call: str = ""
    last_call: str = ""
    partner: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)] = -1
    signal: Annotated[int, Meta(ge=0, le=1 << 16)] | None = None
    other_thread: bool = False
    exit_status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)] = -1
    failure: Annotated[int, Meta(ge=0, le=1 << 16)] = 0
    since_ns: int = 0
    clock_ns: int = 0
    last_context: Annotated[int, Meta(ge=0, le=(1 << 32) - 1)] = 0
