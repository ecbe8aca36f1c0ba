"""Connect the recorder to the libpetsc of this process, and record one solve."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hindmost.errors import MissingError
from hindmost.harness.recorder.clock import ClockReading, CommonClock, read_clock
from hindmost.harness.recorder.injection import RankInjection, inject_nothing
from hindmost.harness.recorder.library import (
    RECORD,
    State,
    loaded,
    refuse_second_recording,
)
from hindmost.harness.recorder.pattern import MONITOR, MarkPattern
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.bodies import OTHER_WORK
from hindmost.harness.runfile.provenance import load_of_host

if TYPE_CHECKING:
    from mpi4py import MPI

HALO_EVENTS = (
    "VecScatterBegin",
    "VecScatterEnd",
    "VecScatterEnd  ",  # so it is called up to PETSc 3.18
    "SFBcastBegin",
    "SFBcastEnd",
    "SFReduceBegin",
    "SFReduceEnd",
)
"""The PETSc events that enclose the exchange of halos."""

SOLVE_EVENT = "KSPSolve"

INNER_EVENTS = (
    "MatMult",
    "MatMultAdd",
    "MatMultTranspose",
    "MatMultTrAdd",
    "PCApply",
    "PCApplyOnBlocks",
    "PCApplyCoarse",
    "PCApplySymmLeft",
    "PCApplySymmRight",
    "PCMatApply",
    "PCSetUp",
    "PCSetUpOnBlocks",
    "PCModifySubMatri",
    "KSPSetUp",
)
"""The PETSc events inside which the work is not the method's own, whatever is logged there."""

ACTIVITIES = {
    "MatMult": ("MatMult", "MatMultAdd", "MatMultTranspose", "MatMultTrAdd"),
    "PCApply": ("PCApply", "PCApplySymmLeft", "PCApplySymmRight"),
    "VecMAXPY": ("VecMAXPY",),
    "orthogonalisation": ("KSPGMRESOrthog", "KSPOrthogonalize"),
}
"""Into what local work divides on request, each with its PETSc events."""


class Recorder:
    """Records solves of one solver on this rank.

    Parameters
    ----------
    ksp : petsc4py.PETSc.KSP
        The solver; its monitor is added by `add_monitor`. Solvers inside it, as those of a
        preconditioner, leave no marks.
    pattern : MarkPattern or None
        Decides which PETSc events are kept. The classes of PETSc that log them must have been used.
        Without one only the calls of the monitor are kept.
    capacity : int
        Records for which memory is held.
    counting : bool
        Whether the counters that were opened are read at every mark.
    activities : bool
        Whether local work is divided into `ACTIVITIES`.
    injection : RankInjection or None
        Noise to inject while `record` records; None if no rank gets any.
    """

    def __init__(
        self,
        ksp: Any,
        pattern: MarkPattern | None,
        capacity: int,
        *,
        counting: bool = False,
        activities: bool = False,
        injection: RankInjection | None = None,
    ) -> None:
        self._library = loaded()
        self._injection = injection
        self._state = State(self._library)
        self._ksp = ksp
        self._memory = np.zeros(capacity, RECORD)
        self._counts = np.empty((capacity if counting else 0, 2), np.int64)
        self._activity_names = (OTHER_WORK, *ACTIVITIES) if activities else ()
        self._activity_ns = np.zeros(
            (capacity if activities else 0, len(self._activity_names)), np.int64
        )
        self._activity_ns[:] = 0  # so that its pages are there
        self._before: ClockReading | None = None
        connect_callbacks()
        self._library.hindmost_forget_events()
        self._library.hindmost_watch_monitor(ord(MONITOR))
        for mark in () if pattern is None else pattern.marks:
            letter = ord(mark.letter)
            for event in mark.events:
                self._watch(event, **{f"{mark.side}_mark": letter})
        for event in HALO_EVENTS:
            self._watch(event, is_halo=1)
        for event in INNER_EVENTS:
            self._watch(event, is_inner=1)
        for number, name in enumerate(self._activity_names):
            for event in ACTIVITIES.get(name, ()):
                self._watch(event, activity=number)
        self._watch(SOLVE_EVENT, is_solve=1)

    def _watch(
        self,
        event: str,
        *,
        begin_mark: int = 0,
        end_mark: int = 0,
        is_halo: int = 0,
        is_solve: int = 0,
        is_inner: int = 0,
        activity: int = 0,
    ) -> None:
        number = event_id(event)
        what = (begin_mark, end_mark, is_halo, is_solve, is_inner, activity)
        if number is not None and self._library.hindmost_watch(number, *what) != 0:
            raise MissingError(
                f"PETSc's event {event} has number {number}, which the recorder cannot store."
            )

    def record(self, solve: Callable[[], None], communicator: MPI.Intracomm) -> Recording:
        """Run a solve on all ranks of a communicator and return what was recorded of it.

        Parameters
        ----------
        communicator : MPI.Intracomm
            Hindmost's own; the ranks meet on it before the solve.
        """
        refuse_second_recording()
        self._prepare(communicator)
        if self._injection is not None:
            self._injection.begin(self._library)
        self._library.hindmost_arm(communicator.py2f())
        try:
            solve()
        except BaseException:
            self._library.hindmost_live_abandon()
            raise
        finally:
            self._library.hindmost_disarm()
            inject_nothing(self._library)
        self._library.hindmost_live_finish(0)
        return self._recording(communicator)

    def _prepare(self, communicator: MPI.Intracomm) -> None:
        """Give the recorder its memory and its solver, and read the clock; collective."""
        self._load_before, self._before = load_of_host(), read_clock(communicator)
        library = self._library
        library.hindmost_watch_solver(self._ksp.handle)
        library.hindmost_memory_for(self._memory.ctypes.data, self._memory.size, self._memory.size)
        library.hindmost_count_memory(self._counts.ctypes.data, len(self._counts))
        library.hindmost_activity_memory(
            self._activity_ns.ctypes.data, len(self._activity_ns), len(self._activity_names)
        )

    def _recording(self, communicator: MPI.Intracomm) -> Recording:
        """Return what was recorded; collective."""
        state, after = self._state, read_clock(communicator)
        begin_ns = int(state["begin_ns"])
        clock = CommonClock(
            before=self._before or after,
            after=after,
            zero_ns=communicator.bcast(begin_ns),
        )
        seen = int(state["seen"])
        kept = min(seen, self._memory.size)
        records = self._memory[:kept].copy()
        marks = np.count_nonzero(records["what"] > 0)
        spent, waited_ns = state["other_ns"], int(state["core_wait_ns"])
        others_ns = int(state["others_cpu_ns"])
        return Recording(
            records=records,
            call_classes=state.call_classes,
            counts=self._counts[:marks].copy(),
            begin_ns=begin_ns,
            begin_utc_ns=int(state["begin_utc_ns"]),
            switches=int(state["switches"]),
            core_wait_s=waited_ns * 1e-9 if waited_ns >= 0 else math.nan,
            threads=max(int(state["threads"]), 0),
            others_cpu_s=others_ns * 1e-9 if others_ns >= 0 else math.nan,
            foreign_calls=int(state["foreign_calls"]),
            foreign_threads=int(state["foreign_threads"]),
            end_ns=int(state["end_ns"]),
            lost=seen - kept,
            iterations=int(state["iteration"]),
            other_s={
                name: float(ns) * 1e-9
                for name, ns in zip(state.call_names, spent, strict=True)
                if ns
            },
            clock=clock,
            load_before=self._load_before,
            injecting=self._injection is not None,
            # the rest comes last in files and tables
            activity_names=self._activity_names[1:] + self._activity_names[:1],
            activity_ns=np.roll(self._activity_ns[:marks], -1, axis=1),
        )


def libpetsc_path() -> Path:
    """Return the libpetsc that is mapped into this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = Path(line.split()[-1])
        if path.name.startswith("libpetsc") and ".so" in path.name:
            return path
    raise MissingError("No libpetsc in this process: import petsc4py.PETSc before recording.")


@cache
def libpetsc() -> ctypes.CDLL:
    """Return the libpetsc of this process; a second copy is never loaded."""
    return ctypes.CDLL(str(libpetsc_path()))


@cache
def connect_callbacks() -> None:
    """Let PETSc call the recorder at every event, once a process."""
    if not loaded().hindmost_connect_petsc():
        raise MissingError("PETSc refuses the recorder's callbacks.")


def add_monitor(ksp: Any, real_bytes: int, *, first: bool = False) -> None:
    """Let a KSP call the recorder's monitor, in C, after those that it has.

    Parameters
    ----------
    real_bytes : int
        Size of PETSc's real numbers.
    first : bool
        Add, before there is any other, the monitor that says that monitors are about to be called.
    """
    petsc, recorder = libpetsc(), loaded()
    petsc.KSPMonitorSet.argtypes = [ctypes.c_void_p] * 4
    name = "hindmost_first_monitor" if first else "hindmost_monitor"
    function = getattr(recorder, name + ("_single" if real_bytes == 4 else ""))
    monitor = ctypes.cast(function, ctypes.c_void_p)
    error = petsc.KSPMonitorSet(ksp.handle, monitor, None, None)
    if error:
        raise MissingError(
            f"PETSc refuses the recorder's monitor (PETSc error {error}); a KSP can have five "
            "monitors: remove one of them."
        )


def event_id(name: str) -> int | None:
    """Return the number of a PETSc event, None if this PETSc has registered none of that name."""
    number = ctypes.c_int(-1)
    error = libpetsc().PetscLogEventGetId(name.encode(), ctypes.byref(number))
    return number.value if error == 0 and number.value >= 0 else None


def option_used(name: str) -> bool:
    """Tell whether any part of PETSc has asked for an option, given with its dash."""
    used = ctypes.c_int(0)
    error = libpetsc().PetscOptionsUsed(None, name[1:].encode(), ctypes.byref(used))
    return error != 0 or bool(used.value)
