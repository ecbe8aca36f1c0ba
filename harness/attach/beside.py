"""The process beside a program that records a part of itself: it follows the part meanwhile.

`hindmost attach` waits for its program and watches it. A program that records itself has nobody who
waits, so its first rank starts this process. It makes no call of MPI, and ends with the rank,
however that ends.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hindmost.harness.runfile.time_left import NOTE

POLL_S = 0.05
FIRST_NODE = "node-0000000.raw"
"""The raw file of the node of rank 0."""
NOT_INHERITED = ("LD_PRELOAD", "OMPI_", "PMIX_", "PMI_", "PRTE_", "MPI_", "HINDMOST_")
"""Variables that would make the process one of the program's, by their first letters."""


class Beside:
    """The process, as the rank that starts it sees it.

    Parameters
    ----------
    folder : Path
        The raw folder.
    title : str
        What the recorded part is called.
    total : int
        Its iterations, if they are known before; else 0.

    Attributes
    ----------
    pages : str
        The folder of the pages of ranks.

    Raises
    ------
    OSError
        No process can be started, or no folder made.
    """

    def __init__(self, folder: Path, title: str, total: int) -> None:
        self._folder = folder
        self.pages = tempfile.mkdtemp(prefix="hindmost-")
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)
        }
        words = (folder.absolute(), self.pages, title, total, os.getpid())
        try:
            # Of a process that is killed, however, the kernel closes the pipe.
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *map(str, words)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**own, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError:
            shutil.rmtree(self.pages, ignore_errors=True)
            raise

    def end(self) -> None:
        """End it: the part is over."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        shutil.rmtree(self.pages, ignore_errors=True)
        for name in (NOTE, f".{NOTE}"):
            (self._folder / name).unlink(missing_ok=True)


def watch(folder: Path, pages: Path, title: str, total: int, program: int) -> None:
    """Watch a program until it has ended, and remove its pages then.

    Parameters
    ----------
    folder, pages, title, total
        See `Beside`.
    program : int
        The process of the program.
    """
    from hindmost.harness.attach.stop import ProgramWatch

    try:
        with suppress(OSError):  # not on the core of the rank that started it
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        following = ProgramWatch(
            pages,
            None,
            lambda _: None,
            lambda: folder / FIRST_NODE,
            folder.parent,
            title=title,
            total=total,
        )
        while os.getppid() == program and not select.select([sys.stdin], [], [], POLL_S)[0]:
            following.poll()
        following.lose()
    finally:
        shutil.rmtree(pages, ignore_errors=True)


if __name__ == "__main__":
    watch(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
