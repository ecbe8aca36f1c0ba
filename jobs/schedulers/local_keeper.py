"""The keeper process of one job without a scheduler.

It waits for the job's turn, runs the script, and records how it ended. The command ``python -m
hindmost.jobs.schedulers.local_keeper JOB_FOLDER SCRIPT OUTPUT`` returns as soon as the keeper is
detached from the terminal.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from hindmost.jobs.schedulers.local_jobs import pending, write, write_process

TURN_S = 0.2
"""Interval of checks whether it is this job's turn."""


def main() -> int:
    """Start a keeper that outlives this process."""
    folder, script, output = (Path(word) for word in sys.argv[1:])
    ready, told = os.pipe()
    if os.fork():
        os.close(told)
        return 0 if os.read(ready, 1) else 1
    os.close(ready)
    os.setsid()
    with output.open("ab", buffering=0) as sink:
        for stream in (1, 2):
            os.dup2(sink.fileno(), stream)
    write_process(folder, "submitted", os.getpid(), script=str(script))
    os.write(told, b"+")
    os.close(told)
    Keeper(folder, script).keep()
    return 0


class Keeper:
    """One job, from its turn to its end."""

    def __init__(self, folder: Path, script: Path) -> None:
        self.folder = folder
        self.script = script
        self.cancelled = False

    def keep(self) -> None:
        """Wait for the job's turn, run it, record its end."""
        # TERM goes to the whole group: it ends the script, and the keeper only records it.
        signal.signal(signal.SIGTERM, self._take_note)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        lock = self._turn()
        status = None if lock is None else self._run(lock)
        write(self.folder, "ended", status=status, cancelled=self.cancelled)

    def _take_note(self, _signal: int, _frame: FrameType | None) -> None:
        self.cancelled = True

    def _turn(self) -> int | None:
        """Wait for this job's turn and return the lock; None if it was cancelled first."""
        lock = os.open(self.folder.parent / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        while not self.cancelled:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(TURN_S)
                continue
            if not self._others_first():
                return lock
            fcntl.flock(lock, fcntl.LOCK_UN)
            time.sleep(TURN_S)
        return None

    def _others_first(self) -> bool:
        """Tell whether an earlier job is waiting as well."""
        folders = self.folder.parent.iterdir()
        return any(pending(folder) for folder in folders if folder.name < self.folder.name)

    def _run(self, lock: int) -> int:
        """Run the script and return its exit status; minus the signal's number if one ended it."""
        # The script holds the lock as well, so that no other job starts if this keeper is killed.
        child = subprocess.Popen(
            ["/bin/bash", self.script],
            stdin=subprocess.DEVNULL,
            pass_fds=(lock,),
            env={**os.environ, "HINDMOST_JOB_ID": self.folder.name},
        )
        write_process(self.folder, "started", child.pid)
        if self.cancelled:  # after its turn came, before it started
            child.terminate()
        return child.wait()


if __name__ == "__main__":
    raise SystemExit(main())
