"""What marks the loop of ``hindmost.record``: the recorder, or Python where it sees no MPI calls.

Both write the raw file that an attached program writes, while the loop runs.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.errors import DataError, MissingError
from hindmost.harness.attach.own_iterations import BEGUN
from hindmost.harness.attach.pairs import PairsPage
from hindmost.harness.attach.raw import CLOCK, HEAD, MAGIC, VERSION, Frame
from hindmost.harness.attach.raw_json import LOOP
from hindmost.harness.attach.settings import BUDGET_BYTES
from hindmost.harness.rank_failures import on_all
from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile import provenance
from hindmost.output import strict_json

MAX_PHASES = 64
"""Phases that a program may name."""
MEMORY_BYTES = 256 << 20
"""For records of a rank until they are written to its file."""
PART_NS = 1_000_000_000
"""After so long, what was marked is written."""


def refuse_unwritable(folder: Path, error: int) -> None:
    """Raise a DataError if a raw file cannot be written on some node."""
    if error:
        why = os.strerror(error)
        if error == errno.ENOENT:
            why += " on some node. Rank 0 made it on its own; name a folder that all nodes share"
        raise DataError(f"{folder} cannot be written: {why}.")


class MarksOfRecorder:
    """Marks that the recorder keeps among its records, or the solve of a KSP for which it waits.

    Parameters
    ----------
    library : ctypes.CDLL
    ksp : int
        PETSc's handle; 0 for a loop.
    settings : sequence of str
        Further lines, see `hindmost.harness.attach.settings`; of equal keys the last counts.

    Attributes
    ----------
    mark : callable
        Marks this instant: kind, number of the iteration, and number of its error or 0; see
        `hindmost.harness.attach.own_iterations`. Returns it, in nanoseconds.
    pause : callable
        Returns how long the recorder wrote at the last begin of an iteration, in nanoseconds.
    """

    def __init__(self, library: Any, ksp: int = 0, settings: Sequence[str] = ()) -> None:
        self._library, self._ksp, self._settings = library, ksp, settings
        library.hindmost_own_begin.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p]
        library.hindmost_own_mark.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int]
        library.hindmost_own_mark.restype = library.hindmost_own_pause.restype = ctypes.c_int64
        self.mark, self.pause = library.hindmost_own_mark, library.hindmost_own_pause

    def begin(
        self, communicator: Any, folder: Path, about: str, origins: str, pages: str = ""
    ) -> None:
        """Begin, where the ranks meet; collective.

        Parameters
        ----------
        pages : str
            Folder of the pages of the ranks of this node; empty if nobody follows them.
        """
        said = (f"folder {folder}", f"about {about}", f"origins {origins}")
        room = (f"memory {MEMORY_BYTES}", *(() if self._ksp else (f"budget {BUDGET_BYTES}",)))
        watched = (f"pages {pages}",) if pages else ()
        lines = "\n".join((*said, *room, *watched, *self._settings))
        error = self._library.hindmost_own_begin(communicator.py2f(), self._ksp, os.fsencode(lines))
        if error < 0:
            raise MissingError("PETSc refuses the recorder's callbacks.")
        refuse_unwritable(folder, error)

    def phase(self, name: str) -> int:
        """Return the number of a phase; -1 if there are too many."""
        return int(self._library.hindmost_own_phase(name.encode()))

    def error(self, name: str) -> int:
        """Return the number of an error."""
        return int(self._library.hindmost_own_error(name.encode()))

    def note(self, said: Any) -> None:
        """Write what the program says of an iteration; it is no part of the loop's memory."""
        self._library.hindmost_own_note(strict_json(said).encode())

    def stop(self) -> None:
        """Record nothing more."""
        self._library.hindmost_disarm()

    def end(self, *, keeps: bool) -> int:
        """End; collective if it keeps what was recorded; return the error of what was not."""
        return int(self._library.hindmost_own_end(int(keeps)))


class MarksInPython:
    """Marks of a rank whose MPI calls are not seen, or that makes none.

    Parameters
    ----------
    keep : float
        Share of the ranks whose full records the run file keeps.
    """

    def __init__(self, keep: float = 1.0) -> None:
        self._keep = keep
        self._marks: list[tuple[int, int, int, int]] = []
        self._names: dict[str, dict[str, int]] = {"phases": {}, "errors": {}}
        self._frames = self._kept = self._failure = 0

    def begin(
        self, communicator: Any, folder: Path, about: str, origins: str, pages: str = ""
    ) -> None:
        """Begin, where the ranks meet; collective. See `MarksOfRecorder`."""
        self._rank = communicator.rank
        path = folder / f"node-{self._rank:07}.raw"
        self._file = on_all(communicator, lambda: opened(path))
        self._page = PairsPage(Path(pages) / "0") if pages and not self._rank else None
        if self._page is not None:
            self._page.begin(path)
        program = {
            "version": VERSION,
            "rank": self._rank,
            "size": communicator.size,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "program": sys.orig_argv or ["python"],
            "call_names": [],
            "call_classes": [],
            "mpi_library": provenance.mpi_library(),
            "cpu": provenance.current_cpu(),
            "cpuset": provenance.cpuset(),
            "utc_ns": time.time_ns(),
            "keep": self._keep,
            "origins": json.loads(origins),
            "recording": json.loads(about),
        }
        self._frame(Frame.PROGRAM, program)
        self._load, self._switches = provenance.load_of_host(), provenance.involuntary_switches()
        self._core_wait_s = provenance.core_wait_s()
        communicator.Barrier()
        self._utc_ns, self._begin_ns = time.time_ns(), time.monotonic_ns()
        # All begin at once, as far as is known.
        root_ns = communicator.bcast(self._begin_ns)
        self._frame(Frame.CLOCK, np.array([(self._begin_ns, root_ns, 0)], CLOCK).tobytes())
        self._written_ns = self._begin_ns

    def mark(self, what: int, number: int, error: int) -> None:
        """Mark this instant; see `MarksOfRecorder`."""
        now_ns = time.monotonic_ns()
        self._marks.append((now_ns, what, number, error))
        if self._page is not None and what == BEGUN:
            self._page.mark_iteration(now_ns)
        if now_ns - self._written_ns > PART_NS:
            self._write(Frame.PART_RECORDS)
            self._frame(Frame.PART, self._section(now_ns, complete=False))
            self._written_ns = now_ns

    def phase(self, name: str) -> int:
        """Return the number of a phase; -1 if there are too many."""
        number = self._numbered("phases", name)
        return number if number < MAX_PHASES else -1

    def error(self, name: str) -> int:
        """Return the number of an error."""
        return min(self._numbered("errors", name), MAX_PHASES)

    def _numbered(self, kind: str, name: str) -> int:
        return self._names[kind].setdefault(name, len(self._names[kind]))

    def stop(self) -> None:
        """Record nothing more."""
        self._end_ns = time.monotonic_ns()

    def end(self, *, keeps: bool) -> int:
        """End; return the error of what was not written, 0 if all was."""
        if keeps:
            said = self._section(self._end_ns, complete=True)
            kept = self._kept + len(self._marks)
            self._frame(Frame.SECTION, said | {"seen": kept, "kept": kept})
            self._write(Frame.RECORDS)
            end_ns = time.monotonic_ns()
            end = {"finalized": True, "mpi_calls": 0, "clock_ns": end_ns}
            self._frame(Frame.END, end | {"failure": self._failure})
        self._file.close()
        return self._failure

    def _section(self, end_ns: int, *, complete: bool) -> dict[str, Any]:
        """Return what is said of the loop so far."""
        waited_s = provenance.core_wait_s() - self._core_wait_s
        return {
            "what": LOOP,
            "type": LOOP,
            "begin_ns": self._begin_ns,
            "end_ns": end_ns,
            "begin_utc_ns": self._utc_ns,
            "seen": self._kept,
            "kept": self._kept,
            "switches": provenance.involuntary_switches() - self._switches,
            "core_wait_ns": round(waited_s * 1e9) if waited_s >= 0 else -1,
            "load_before": self._load,
            "load_after": provenance.load_of_host(),
            "complete": complete,
            **{kind: list(names) for kind, names in self._names.items()},
        }

    def _write(self, kind: Frame) -> None:
        """Write the marks since the last part."""
        records = np.zeros(len(self._marks), RECORD)
        marks = np.array(self._marks, np.int64).reshape(-1, 4)
        for at, name in enumerate(("begin_ns", "what", "end_ns", "phase")):
            records[name] = marks[:, at]
        self._frame(kind, records.tobytes())
        self._kept += len(self._marks)
        self._marks.clear()

    def _frame(self, kind: Frame, payload: Any) -> None:
        if not isinstance(payload, bytes):
            payload = json.dumps(payload).encode()
        head = HEAD.pack(MAGIC, kind, len(payload), self._frames, self._rank, 0, 0)[:-4]
        checksum = zlib.crc32(payload, zlib.crc32(head))
        self._frames += 1
        try:  # the program goes on without its records; the last frame is of use without others
            if not self._failure or kind is Frame.END:
                self._file.write(head + checksum.to_bytes(4, "little") + payload)
        except OSError as error:
            self._failure = error.errno or errno.EIO


def opened(path: Path) -> Any:
    """Return a new file for frames."""
    try:
        return path.open("xb", buffering=0)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from error
