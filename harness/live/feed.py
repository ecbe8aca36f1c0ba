"""The live feed of a run on all ranks: open it, report every solve, close it."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import MissingError, UsageError
from hindmost.files import is_cut_off
from hindmost.harness.rank_failures import on_root
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.feed import (
    PERIODS_S,
    SUFFIX,
    WORK,
    FeedHead,
    FeedPrediction,
    control_file,
)

FIRST, LEAST = 64, 16
"""Iterations of a solve before its first frame, and at least between two frames."""
FIRST_CYCLE, MIN_CYCLES = 1, 1
"""The same for loops, whose cycles are longer; a reduction has a cycle to end in."""


class LiveFeed:
    """A feed of all ranks; every method but `step` is collective. Use it as a context.

    Parameters
    ----------
    folder : Path
        Receives the feed.
    communicator : MPI.Intracomm
        Duplicated: the feed's reductions never meet others.
    workload : str
    runs : int
        Number of solves or loops.
    phases : tuple of str
        The first three are halo, wait and post. Of `PHASES` the recorder gives the times; of others
        the caller does, with every step.

    Raises
    ------
    UsageError
        The feed cannot be written there.
    """

    def __init__(
        self, folder: Path, communicator: Any, workload: str, runs: int, phases: tuple[str, ...]
    ) -> None:
        self._library = declared(load())
        self._own_totals = phases != PHASES
        self._totals_ns = np.zeros(len(phases))
        columns = ctypes.c_int32.in_dll(self._library, "hindmost_live_columns").value
        hosts = len(set(communicator.allgather(socket.gethostname())))
        head = FeedHead(
            workload=workload,
            ranks=communicator.size,
            columns=min(communicator.size, columns),
            runs=runs,
            phases=phases,
            metrics=(WORK, *phases),
            began_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            host=socket.gethostname(),
            hosts=hosts,
        )
        self._writer: FeedWriter | None = None
        handle, control = -1, b""

        def begin() -> None:
            self._writer = FeedWriter.in_folder(folder, head)

        on_root(communicator, begin)
        if self._writer is not None:
            handle = self._writer.handle
            control = str(control_file(self._writer.path)).encode()
        periods = (ctypes.c_double * len(PERIODS_S))(*PERIODS_S)
        if self._library.hindmost_live_open(
            communicator.py2f(), len(phases), handle, control, periods, len(PERIODS_S)
        ):
            raise MissingError("This MPI lacks what the live feed needs; run without --live.")
        self._ended = False

    @property
    def path(self) -> Path | None:
        """Where the feed is, on rank 0; None on the others."""
        return self._writer.path if self._writer is not None else None

    @property
    def waits(self) -> bool:
        """Whether a frame has begun on this rank and is not yet written."""
        return bool(self._library.hindmost_live_waits())

    def begin(
        self,
        solver: str,
        number: int,
        iterations: int,
        *,
        done: int = 0,
        predictors: tuple[str, ...] = (),
    ) -> None:
        """Feed the next solve, or from now on a loop.

        Parameters
        ----------
        number : int
            Which of the runs this is, from 1.
        done : int
            Iterations of it that were done before, in an earlier run.
        predictors : tuple of str
            On rank 0, for a loop with predictions: its predictors, in their order.
        """
        more = {"predictors": predictors} if predictors else {}
        self._add(
            kind="solve", solver=solver, number=number, iterations=iterations, done=done, **more
        )
        first, least = (FIRST_CYCLE, MIN_CYCLES) if self._own_totals else (FIRST, LEAST)
        self._library.hindmost_live_begin(iterations - done, first, least)
        self._totals_ns[:] = 0.0
        if self._own_totals:
            self.step(0, np.zeros(len(self._totals_ns)))

    def step(self, iteration: int, spent_ns: NDArray[np.float64]) -> None:
        """Note that an iteration of a loop has ended.

        Parameters
        ----------
        iteration : int
            How many have.
        spent_ns : float64 array, shape (phase,), nanoseconds
            What it took.
        """
        self._totals_ns += spent_ns
        self._library.hindmost_live_step(iteration, float("nan"), self._totals_ns.ctypes.data)

    def foresee(self, foreseen: FeedPrediction | None) -> None:
        """Give the waiting frame the predictions of rank 0, None on other ranks; not collective.

        Call it between iterations, after all ranks have reported the last one: the frame is then
        written at once if its reduction needs nothing more from this rank.
        """
        self._library.hindmost_live_foresee(b"" if foreseen is None else foreseen.text().encode())

    def finish(self) -> None:
        """Write the last frame of a loop; that of a solve is written at its end."""
        self._library.hindmost_live_finish(int(self._own_totals))

    def written(self, number: int, file: Path, stopped: str = "") -> None:
        """Report the file of a finished solve or loop."""
        self._add(kind="done", number=number, file=file.name, stopped=stopped)

    def _add(self, **line: Any) -> None:
        if self._writer is not None:
            self._writer.add(line)

    def __enter__(self) -> LiveFeed:
        """Return the feed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the feed; after a failure, without waiting for the other ranks."""
        failure = "" if kind is None else str(error).strip() or kind.__name__
        self._add(kind="end", status="failed" if kind else "done", failure=failure[:2000])
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if kind is None:
            self._library.hindmost_live_close()
        else:
            self._library.hindmost_live_abandon()


def declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """Return the recorder with the types of its live functions."""
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    library.hindmost_live_open.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_char_p,
        pointer,
        ctypes.c_int,
    ]
    library.hindmost_live_begin.argtypes = [whole, whole, whole]
    library.hindmost_live_step.argtypes = [whole, ctypes.c_double, pointer]
    library.hindmost_live_foresee.argtypes = [ctypes.c_char_p]
    library.hindmost_live_foresee.restype = None
    library.hindmost_live_spent_ns.restype = ctypes.c_double
    library.hindmost_live_step_cost_ns.argtypes = [whole]
    library.hindmost_live_step_cost_ns.restype = ctypes.c_double
    return library


class FeedWriter:
    """Writes the lines of a feed between frames, on rank 0, one write each.

    The recorder writes frames, through ``handle``.

    A disk that is full or gone ends the feed, never the run.

    Parameters
    ----------
    path : Path
        Must not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self.handle = os.open(path, flags, 0o644)
        control_file(path).unlink(missing_ok=True)  # of a run that was killed: nobody asks yet
        with suppress(OSError):  # no locks there: readers cannot tell a killed run from a slow one
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @classmethod
    def in_folder(cls, folder: Path, head: FeedHead) -> FeedWriter:
        """Begin the first free ``WORKLOAD-pRANKS-N.live.jsonl`` of a folder with its head.

        Raises
        ------
        UsageError
            No file can be made there.
        """
        for number in count():
            path = folder / f"{head.workload}-p{head.ranks}-{number}{SUFFIX}"
            try:
                writer = cls(path)
            except FileExistsError:
                continue
            except OSError as error:
                raise UsageError(
                    f"--live: {path} cannot be written ({error.strerror}); choose a writable "
                    "folder with --out."
                ) from error
            writer.add(head.line())
            return writer
        raise AssertionError

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line."""
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        with suppress(OSError):
            os.write(self.handle, b"\n" + text if is_cut_off(self.handle) else text)

    def close(self) -> None:
        """Let go of the file, and take away what viewers have asked of it."""
        with suppress(OSError):
            os.close(self.handle)
            control_file(self.path).unlink(missing_ok=True)
