"""The process beside the ranks of a node: it follows their loops where nobody waits for them.

`hindmost attach` waits for its first rank, and follows the ranks of that node meanwhile. Ranks of
other nodes become the program, and a program that records itself has nobody who waits; a rank of
each such node starts this process. It makes no call of MPI, is no child of the program, and ends
with the rank that started it, however that ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from hindmost.harness.runfile.time_left import WHOLE, WatchedPart
from hindmost.output import strict_json
from hindmost.parsing import parse_json
from hindmost.processes import START, is_alive, stat_fields
from hindmost.records import from_document

POLL_S, PATIENCE_S = 0.05, 5.0
PART_POLL_S = 0.25
"""Where nobody is told to stop: each look at a quick loop takes milliseconds from the ranks."""
READY = "ready"
"""A file among the pages: the process looks on from now on."""
NOT_INHERITED = ("LD_PRELOAD", "OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_", "HINDMOST_")
"""First letters of variables that would make the process one of the program's."""


class Beside:
    """The process, as the rank that starts it sees it.

    Parameters
    ----------
    pages : Path
        The folder of the pages of the ranks of this node; it is there, and goes with the process.
    part : WatchedPart
        Of a program that records itself.

    Raises
    ------
    OSError
        No process can be started.
    """

    def __init__(self, pages: Path, part: WatchedPart = WHOLE) -> None:
        self._pages = pages
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)
        }
        words = map(str, (pages, strict_json(asdict(part)), os.getpid(), stat_fields()[START]))
        # A shell that ends at once starts it: programs wait for their children.
        shell = ("/bin/sh", "-c", '"$@" </dev/null >/dev/null 2>&1 & echo $!', "sh")
        started = subprocess.run(
            [*shell, sys.executable or "python3", "-m", __name__, *words],
            stdout=subprocess.PIPE,
            env={**own, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
            check=True,
        )
        self._process = int(started.stdout)
        if part.title:  # what its imports take is no part of what is recorded
            self._await(lambda: (pages / READY).exists() or not is_alive(self._process))

    def end(self) -> None:
        """End it: the part is over."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        self._await(lambda: not is_alive(self._process))
        shutil.rmtree(self._pages, ignore_errors=True)

    def _await(self, is_so: Callable[[], bool]) -> None:
        end_s = time.monotonic() + PATIENCE_S  # a disk that hangs keeps it, and not the program
        while not is_so() and time.monotonic() < end_s:
            time.sleep(0.001)


def follow_node(pages: Path) -> Beside | None:
    """Have a process follow the ranks of this node; None if somebody does, or nobody can."""
    with suppress(OSError):
        pages.mkdir(mode=0o700)
        try:
            return Beside(pages)
        except (OSError, ValueError, subprocess.SubprocessError):  # the program runs without it
            shutil.rmtree(pages, ignore_errors=True)
    return None


def follow(pages: Path, part: WatchedPart, program: int, start: str) -> None:
    """Follow the ranks of this node until one of them has ended, and remove their pages then.

    Parameters
    ----------
    pages, part
        See `Beside`.
    program : int
        The process of that rank.
    start : str
        When it started, see `stat_fields`: another process may have its number.
    """
    from hindmost.harness.attach.borders import NodeBorders
    from hindmost.harness.attach.rank_work import NodeWork
    from hindmost.harness.attach.stop import ProgramWatch

    def runs() -> bool:
        try:
            return is_alive(program) and stat_fields(program)[START] == start
        except OSError:
            return False

    try:
        with suppress(OSError):  # not on the core of the rank that started it
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        watch = ProgramWatch(pages, None, part=part) if part.title else None
        followers: list[ProgramWatch | NodeBorders | NodeWork] = (
            [NodeBorders(pages), NodeWork(pages)] if watch is None else [watch]
        )
        (pages / READY).touch()
        while runs():
            for follower in followers:
                follower.poll()
            time.sleep(POLL_S if watch is None else PART_POLL_S)
        if watch is not None:
            watch.lose()
    finally:
        shutil.rmtree(pages, ignore_errors=True)


if __name__ == "__main__":
    said = from_document(WatchedPart, parse_json(sys.argv[2]))
    follow(Path(sys.argv[1]), said, int(sys.argv[3]), sys.argv[4])
