"""Connect the recorder to the libpetsc of this process, and record one solve."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hindmost.errors import MissingError
from hindmost.harness.recorder.bodies import Recording
from hindmost.harness.recorder.clock import CommonClock, read_clock
from hindmost.harness.recorder.library import RECORD, load
from hindmost.harness.recorder.pattern import Pattern
from hindmost.harness.recorder.state import State

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


class Recorder:
    """Records solves of one pattern on this rank.

    Parameters
    ----------
    pattern : Pattern
        Decides which PETSc events are kept. The classes of PETSc that log them must have been used.
    capacity : int
        Records for which memory is held.
    counting : bool
        Whether the counters that were opened are read at every mark.
    """

    def __init__(self, pattern: Pattern, capacity: int, *, counting: bool = False) -> None:
        self._library = load()
        self._state = State(self._library)
        self._memory = np.zeros(capacity, RECORD)
        self._counts = np.empty((capacity if counting else 0, 2), np.int64)
        connect_callbacks()
        self._library.hindmost_forget_events()
        for mark in pattern.marks:
            letter = ord(mark.letter)
            if mark.side == "monitor":
                self._library.hindmost_watch_monitor(letter)
            sides = (letter, 0) if mark.side == "begin" else (0, letter)
            for event in mark.events:
                self._watch(event, *sides, 0, 0)
        for event in HALO_EVENTS:
            self._watch(event, 0, 0, 1, 0)
        self._watch(SOLVE_EVENT, 0, 0, 0, 1)

    def _watch(self, event: str, *what: int) -> None:
        number = event_id(event)
        if number is not None and self._library.hindmost_watch(number, *what) != 0:
            raise MissingError(f"PETSc's event {event} has number {number}, beyond the recorder's.")

    def record(self, solve: Callable[[], None], communicator: MPI.Intracomm) -> Recording:
        """Run a solve on all ranks of a communicator and return what was recorded of it.

        Parameters
        ----------
        communicator : MPI.Intracomm
            Hindmost's own; the ranks meet on it before the solve.
        """
        before = read_clock(communicator)
        self._library.hindmost_memory(self._memory.ctypes.data, self._memory.size)
        self._library.hindmost_count_memory(self._counts.ctypes.data, len(self._counts))
        self._library.hindmost_arm(communicator.py2f())
        try:
            solve()
        except BaseException:
            self._library.hindmost_live_abandon()
            raise
        finally:
            self._library.hindmost_disarm()
        self._library.hindmost_live_finish(0)
        state = self._state
        begin_ns = int(state["begin_ns"])
        clock = CommonClock(
            before=before,
            after=read_clock(communicator),
            zero_ns=communicator.bcast(begin_ns),
        )
        seen = int(state["seen"])
        kept = min(seen, self._memory.size)
        spent = state["other_ns"]
        return Recording(
            records=self._memory[:kept].copy(),
            call_names=state.call_names,
            counts=self._counts[: min(kept, len(self._counts))].copy(),
            begin_ns=begin_ns,
            begin_utc_ns=int(state["begin_utc_ns"]),
            switches=int(state["switches"]),
            end_ns=int(state["end_ns"]),
            lost=seen - kept,
            other_s={
                name: float(ns) * 1e-9
                for name, ns in zip(state.call_names, spent, strict=True)
                if ns
            },
            clock=clock,
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
    petsc, recorder = libpetsc(), load()
    begin, end = (
        ctypes.cast(function, ctypes.c_void_p)
        for function in (recorder.hindmost_event_begin, recorder.hindmost_event_end)
    )
    if hasattr(petsc, "PetscLogLegacyCallbacksBegin"):  # PETSc 3.20: beside -log_view
        error = petsc.PetscLogLegacyCallbacksBegin(begin, end, None, None)
    else:  # PETSc 3.18 and 3.19: in place of -log_view
        error = petsc.PetscLogSet(begin, end)
    if error:
        raise MissingError(f"PETSc does not take the recorder's callbacks (PETSc error {error}).")


def add_monitor(ksp: Any, real_bytes: int) -> None:
    """Let a KSP call the recorder's monitor, in C, beside any that it has.

    Parameters
    ----------
    real_bytes : int
        Size of PETSc's real numbers.
    """
    petsc, recorder = libpetsc(), load()
    petsc.KSPMonitorSet.argtypes = [ctypes.c_void_p] * 4
    function = recorder.hindmost_monitor_single if real_bytes == 4 else recorder.hindmost_monitor
    monitor = ctypes.cast(function, ctypes.c_void_p)
    error = petsc.KSPMonitorSet(ksp.handle, monitor, None, None)
    if error:
        raise MissingError(f"PETSc does not take the recorder's monitor (PETSc error {error}).")


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
