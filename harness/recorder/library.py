"""The compiled recorder in this process: loaded before MPI, its functions with their types."""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum, IntFlag
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import MissingError, UsageError
from hindmost.harness.recorder.prebuilt import library_of_python

NS = 1e-9
"""Seconds of a nanosecond, in which records and clocks count."""

RECORD = np.dtype(
    [
        ("begin_ns", "i8"),
        ("end_ns", "i8"),
        ("what", "i2"),
        ("channel", "u2"),
        ("phase", "i1"),
        ("flags", "u1"),
        ("count", "u2"),
    ]
)
"""One record: an interval of MPI (``what`` < 0), an injected detour (0), or an instant that a
letter names (> 0).

``flags`` are those of `Flag`; ``count`` is of collectives that the call started or completed,
or, by these, a rank. ``channel`` stands for the communicator and the tag of a message.
"""

NOTED = np.dtype([*RECORD.descr, ("context", "u4"), ("function", "u4")])
"""The same with its call context and the number of the function that makes the call."""

FOLDED = 997
"""Mark of a unit of passes of a loop of whose calls only the first, the last and sums by phase are
there; ``end_ns`` has the number of its first pass and that of the loop, ``channel`` and ``count``
how many passes it has."""

NOBODY = 0xFFFE
"""Instead of the other rank of a message, as in the C source: it has none."""


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
    """``count`` is the rank that stands for the group of the collective: its root, or any other.

    Of messages, the other rank of one in MPI_COMM_WORLD; `NOBODY` for none.
    """
    OWN = 32
    """Its messages are of this rank to itself, or go to nobody."""
    FURTHER = 64
    """It is no call, but a further message of the call whose record follows."""
    SENT = 128
    """Its message is one that was sent."""


class CallClass(IntEnum):
    """What an MPI call does; ``calls.def`` says which is which."""

    SEND = 0
    RECV = 1
    PROBE = 2
    FLAG_TEST = 3
    IMPROBE = 4
    IPROBE = 5
    SENDRECV = 6
    PREADY = 7
    NEIGHBOR_COLLECTIVE = 8
    ISEND = 9
    IRECV = 10
    INEIGHBOR_COLLECTIVE = 11
    SEND_INIT = 12
    PSEND_INIT = 13
    RECV_INIT = 14
    NEIGHBOR_COLLECTIVE_INIT = 15
    COLLECTIVE = 16
    COLLECTIVE_TO_ROOT = 17
    COLLECTIVE_FROM_ROOT = 18
    SCAN = 19
    GROUP_COLLECTIVE = 20
    WIN_FENCE = 21
    COMM_CREATE = 22
    INTERCOMM_CREATE = 23
    COMM_IDUP = 24
    WIN_FREE = 25
    COMM_FREE = 26
    ICOLLECTIVE = 27
    ICOLLECTIVE_FROM_ROOT = 28
    ICOLLECTIVE_TO_ROOT = 29
    COLLECTIVE_INIT = 30
    RECV_MATCHED = 31
    WIN_WAIT = 32
    IRECV_MATCHED = 33
    ISENDRECV = 34
    START = 35
    STARTALL = 36
    WAIT_ONE = 37
    WAIT_ALL = 38
    WAIT_ANY = 39
    WAIT_SOME = 40
    TEST_ONE = 41
    TEST_ALL = 42
    TEST_ANY = 43
    TEST_SOME = 44
    GET_STATUS = 45
    REQUEST_FREE = 46
    RMA = 47
    RMA_REQUEST = 48
    WIN_POST = 49
    WIN_START = 50
    FILE_IO = 51
    FILE_IO_REQUEST = 52
    GET_STATUS_ALL = 53


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
        library = ctypes.CDLL(str(library_of_python()), mode=mode)
    except OSError as error:
        raise MissingError(
            f"The recorder cannot be loaded: {error}. "
            "Is MPI's library on the loader's path (LD_LIBRARY_PATH)?"
        ) from error
    library.hindmost_shift_clock.argtypes = [ctypes.c_int64]
    library.hindmost_record_cost_ns.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int,
    ]
    library.hindmost_record_cost_ns.restype = ctypes.c_double
    return library


def refuse_second_recording() -> None:
    """Raise a UsageError while a loop or a solve of this process is being recorded."""
    if not loaded().hindmost_may_record():
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


PHASES = ("halo", "wait", "post", "unclassified")
"""The phases of MPI time, in the order of the C source; ``other`` fits none."""

POLLING = frozenset(
    (
        *(CallClass.FLAG_TEST, CallClass.IPROBE, CallClass.IMPROBE, CallClass.GET_STATUS),
        CallClass.GET_STATUS_ALL,
        *(CallClass.TEST_ONE, CallClass.TEST_ALL, CallClass.TEST_ANY, CallClass.TEST_SOME),
    )
)
"""Classes of calls that ask and do not wait."""
