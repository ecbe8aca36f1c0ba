"""Instructions and cycles of this rank, where the kernel lets a process count its own."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

from hindmost.harness.recorder.library import load

INSTRUCTIONS_AND_CYCLES = ((0, 1), (0, 0))
"""Type and number of two hardware events of perf_event_open(2), user mode only."""

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What came of opening two counters on this rank.

    Attributes
    ----------
    open : bool
        Whether they count.
    quick : bool
        Whether a reading needs no system call.
    cost_ns : float
        Of one reading of both; 0 where they are not open.
    why_not : str
        Why they do not count, and what to do about it; empty where they do.
    """

    open: bool
    quick: bool
    cost_ns: float
    why_not: str


def open_counters(
    events: tuple[tuple[int, int], tuple[int, int]] = INSTRUCTIONS_AND_CYCLES,
) -> Counters:
    """Open two counters of this thread; those that were open before are closed."""
    library = load()
    library.hindmost_open_counters.argtypes = [
        ctypes.c_int,
        ctypes.c_int64,
        ctypes.c_int,
        ctypes.c_int64,
    ]
    library.hindmost_reading_cost_ns.restype = ctypes.c_double
    library.hindmost_reading_cost_ns.argtypes = [ctypes.c_int64]
    error = library.hindmost_open_counters(*events[0], *events[1])
    if error:
        return Counters(open=False, quick=False, cost_ns=0.0, why_not=reason(error))
    return Counters(
        open=True,
        quick=bool(library.hindmost_counters_are_quick()),
        cost_ns=float(library.hindmost_reading_cost_ns(10_000)),
        why_not="",
    )


def reason(error: int) -> str:
    """Say why counters cannot be opened, and what to do."""
    said = os.strerror(error)
    try:
        paranoid = PARANOID.read_text().strip()
    except OSError:
        return f"instructions and cycles are not counted: no perf events in this kernel ({said})."
    if error in (1, 13):
        return (
            f"instructions and cycles are not counted: the kernel forbids it ({said}; "
            f"kernel.perf_event_paranoid is {paranoid}). Ask your administrator for 2 or less, "
            "and for a container that allows perf_event_open."
        )
    return (
        "instructions and cycles are not counted: this machine shows no hardware counters "
        f"({said}), like most virtual machines."
    )
