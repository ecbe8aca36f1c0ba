"""The compiled recorder in this process: loaded before MPI, its functions with their types."""

from __future__ import annotations

import ctypes
import sys
from enum import IntFlag
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import MissingError, UsageError
from hindmost.harness.recorder.build import recorder_library

RECORD = np.dtype(
    [
        ("begin_ns", "i8"),
        ("end_ns", "i8"),
        ("what", "i4"),
        ("phase", "i1"),
        ("flags", "u1"),
        ("count", "u2"),
    ]
)
"""One record: an interval of MPI (``what`` < 0), an injected detour (0), or an instant that a
letter names (> 0).

``flags`` are those of `Flag`; ``count`` is of collectives that the call started or completed,
or, by these, a rank.
"""

NOTED = np.dtype([*RECORD.descr, ("context", "u4")])
"""The same with the number of its call context, 0 where that is not known."""

SOLVE_END = ctypes.CFUNCTYPE(None)
"""What the recorder calls when the solve that it waited for has ended."""


class Flag(IntFlag):
    """How an MPI call ended; the values are those of the C source."""

    INCOMPLETE = 1
    """It completed or found nothing."""
    PART = 2
    """It was over some of the ranks that are recorded, or over ranks that are not known."""
    ALONE = 4
    """It was over this rank alone."""
    LATE = 8
    """It completed a collective while one that was started before is under way."""
    GROUP = 16
    """``count`` is the rank that stands for the group of the collective: its root, or any other."""
    OWN = 32
    """Its messages are of this rank to itself, or go to nobody."""


@cache
def load() -> ctypes.CDLL:
    """Load the recorder so that the MPI calls of every library loaded later go through it.

    Raises
    ------
    MissingError
        mpi4py or petsc4py is there already: their MPI calls would go past the recorder. Or the
        recorder cannot be compiled or loaded.
    """
    early = [name for name in ("mpi4py.MPI", "petsc4py.PETSc") if name in sys.modules]
    if early:
        raise MissingError(
            f"{early[0]} was imported before hindmost's recorder, so its MPI calls cannot be seen. "
            "Import hindmost first."
        )
    return _open(ctypes.RTLD_GLOBAL)


@cache
def loaded() -> ctypes.CDLL:
    """Return the recorder of this process; load it behind MPI if it is too late for `load`.

    Loaded behind MPI, the recorder sees the events of PETSc, but not one call of MPI: its symbols
    stay local, so that no library finds its wrappers for some calls and MPI's own for others.
    """
    try:
        return load()
    except MissingError:
        if "mpi4py.MPI" not in sys.modules and "petsc4py.PETSc" not in sys.modules:
            raise
    return _open(ctypes.RTLD_LOCAL)


def _open(mode: int) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(recorder_library()), mode=mode)
    except OSError as error:
        raise MissingError(
            f"The recorder cannot be loaded: {error}. "
            "Is MPI's library on the loader's path (LD_LIBRARY_PATH)?"
        ) from error
    library.hindmost_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.hindmost_more_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.hindmost_memory_for.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    library.hindmost_watch.argtypes = [ctypes.c_int] * 7
    library.hindmost_watch_solver.argtypes = [ctypes.c_void_p]
    library.hindmost_activity_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    library.hindmost_arm.argtypes = [ctypes.c_int]
    library.hindmost_await_solve.argtypes = [ctypes.c_int, SOLVE_END]
    library.hindmost_shift_clock.argtypes = [ctypes.c_int64]
    library.hindmost_record_cost_ns.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int,
    ]
    library.hindmost_record_cost_ns.restype = ctypes.c_double
    library.hindmost_count_memory.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.hindmost_peers.argtypes = [ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 3]
    return library


def refuse_second_recording() -> None:
    """Raise a UsageError while a loop or a solve of this process is being recorded."""
    if loaded().hindmost_is_busy():
        raise UsageError(
            "This process is already recording a loop or a solve. It can record one at a time: "
            "end that recording first."
        )


def record_cost_ns(*, interval: bool, count: int = 1_000_000) -> float:
    """Measure the mean cost of one record, in nanoseconds: of a mark, or of an interval of MPI."""
    memory: NDArray[np.void] = np.zeros(4096, RECORD)
    return float(
        load().hindmost_record_cost_ns(memory.ctypes.data, memory.size, count, int(interval))
    )


def clock_source() -> str:
    """Name what the recorder reads the time from, as text that follows "by"."""
    return "the processor's counter" if load().hindmost_counter_used() else "clock_gettime"
