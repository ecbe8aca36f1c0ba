"""The running totals of a recorder, readable at any time: by its own process and by others.

The counters lie in a small file in shared memory, named after the process, while it records. Every
one is a single word that only the recorder writes, so a reader never stops it and never sees half a
number; two words may be an event apart.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.files import read_regular, reason

PHASES = ("halo", "wait", "post", "unclassified")
"""The phases of MPI time, in the order of the C source; ``other`` fits none."""

POLLING = ("looks", "asks", "tests_")
"""How the classes of calls begin that ask and do not wait."""

SHARED_MEMORY = Path("/dev/shm")
PREFIX = "hindmost-totals-"

HEAD = [
    ("armed", "i8"),
    ("begin_ns", "i8"),
    ("end_ns", "i8"),
    ("begin_utc_ns", "i8"),
    ("switches", "i8"),
    ("core_wait_ns", "i8"),
    ("iteration", "i8"),
    ("residual_norm", "f8"),
    ("seen", "i8"),
    ("capacity", "i8"),
    ("phase_ns", "i8", len(PHASES)),
    ("foreign_calls", "i8"),
    ("unknown_requests", "i8"),
]
"""The counters that do not depend on the number of MPI calls that are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTotals:
    """What a recorder has counted so far in the solve that is going on, or in the last one.

    Attributes
    ----------
    process : int
        Number of the recording process.
    recording : bool
        Whether a solve is being recorded now.
    iteration : int
        The last that the solver has finished.
    residual_norm : float
        That it knew then.
    phase_s : dict of str to float
        Seconds in MPI by phase; ``other`` fits none. What is left of ``elapsed_s`` is local.
    elapsed_s : float
        Seconds since the solve began, until now or until it ended.
    """

    process: int
    recording: bool
    iteration: int
    residual_norm: float
    phase_s: dict[str, float]
    elapsed_s: float


class State:
    """The counters of the recorder in this process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.hindmost_state.restype = ctypes.c_void_p
        count = ctypes.c_int32.in_dll(library, "hindmost_call_count").value
        names = (ctypes.c_char_p * count).in_dll(library, "hindmost_call_names")
        layout = np.dtype([*HEAD, ("call_count", "i8", count), ("other_ns", "i8", count)])
        memory = (ctypes.c_char * layout.itemsize).from_address(library.hindmost_state())
        self._counters = np.ndarray((1,), layout, buffer=memoryview(memory))[0]
        self.call_names = tuple((name or b"").decode() for name in names)
        self.call_classes = classes_of_calls(library)

    def __getitem__(self, name: str) -> Any:
        """Return a copy of one counter or array of counters, as it is now."""
        return self._counters[name].copy()

    def polls(self) -> int:
        """Return how many calls asked whether a message or request was there, without waiting."""
        counts = zip(self._counters["call_count"].tolist(), self.call_classes, strict=True)
        return sum(count for count, kind in counts if kind.startswith(POLLING))

    def set_iteration(self, iteration: int) -> None:
        """Note how far a loop is that PETSc knows nothing of."""
        self._counters["iteration"] = iteration


def classes_of_calls(library: ctypes.CDLL) -> tuple[str, ...]:
    """Return the class of every MPI call that is wrapped, as in the C source, in lower case."""
    count = ctypes.c_int32.in_dll(library, "hindmost_call_count").value
    numbers = (ctypes.c_int32 * count).in_dll(library, "hindmost_call_classes")
    names = (ctypes.c_char_p * (max(numbers) + 1)).in_dll(library, "hindmost_class_names")
    return tuple((names[number] or b"").decode().lower() for number in numbers)


def share(library: ctypes.CDLL) -> None:
    """Let other processes of the user read the counters of this one, until it ends.

    Where shared memory cannot be written they stay private.
    """
    size = ctypes.c_int64.in_dll(library, "hindmost_state_size").value
    path = totals_file(os.getpid())
    with suppress(OSError):
        remove_left_over()
        path.unlink(missing_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(file, 0, size)  # a hole would end the process where memory is full
            memory = mmap.mmap(file, size)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(file)
        owner = os.getpid()
        atexit.register(lambda: path.unlink(missing_ok=True) if os.getpid() == owner else None)
        keep_mapped.append(memory)
        library.hindmost_move_state.argtypes = [ctypes.c_void_p]
        library.hindmost_move_state((ctypes.c_char * size).from_buffer(memory))


keep_mapped: list[mmap.mmap] = []
"""Memory that the recorder writes to as long as the process lives."""


def folder() -> Path:
    """Return where the files of running recorders lie."""
    return SHARED_MEMORY if SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())


def totals_file(process: int) -> Path:
    """Return the file of a process."""
    return folder() / f"{PREFIX}{process}"


def recording_processes() -> Iterator[int]:
    """Yield the processes of this user on this machine that have a recorder loaded."""
    for path in sorted(folder().glob(f"{PREFIX}*")):
        number = path.name.removeprefix(PREFIX)
        if number.isdigit() and Path(f"/proc/{number}").exists():
            yield int(number)


def remove_left_over() -> None:
    """Remove the files of processes that were killed."""
    for path in folder().glob(f"{PREFIX}*"):
        if not Path(f"/proc/{path.name.removeprefix(PREFIX)}").exists():
            with suppress(OSError):
                path.unlink()


def running_totals(process: int) -> RunningTotals:
    """Read what the recorder of a process on this machine has counted so far.

    Raises
    ------
    DataError
        The process has no recorder, or belongs to another user.
    """
    layout = np.dtype(HEAD)
    try:
        owner = Path(f"/proc/{process}").stat().st_uid  # the folder is everybody's
        words = read_regular(totals_file(process), layout.itemsize, owner=owner)
        counters: NDArray[np.void] = np.frombuffer(words, layout)
        now = counters[0]
    except (OSError, ValueError, IndexError) as error:
        running = ", ".join(str(number) for number in recording_processes()) or "none"
        raise DataError(
            f"Process {process} has no readable recorder ({reason(error)}); recording processes "
            f"here: {running}."
        ) from error
    end_ns = time.monotonic_ns() if now["armed"] else int(now["end_ns"])
    return RunningTotals(
        process=process,
        recording=bool(now["armed"]),
        iteration=int(now["iteration"]),
        residual_norm=float(now["residual_norm"]),
        phase_s={name: float(ns) * 1e-9 for name, ns in zip(PHASES, now["phase_ns"], strict=True)},
        elapsed_s=(end_ns - int(now["begin_ns"])) * 1e-9,
    )
