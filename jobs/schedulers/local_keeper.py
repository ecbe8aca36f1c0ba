"""The process that keeps one job without a scheduler: it waits for its turn, and runs the script.

``python -m hindmost.jobs.schedulers.local_keeper JOB_FOLDER SCRIPT OUTPUT`` returns at once; what
it leaves behind is detached from the terminal, and holds the lock of the job until it ends. The
jobs of a machine run one after another because each waits for the locks of all earlier ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from hindmost.files import write_atomically

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Another one after every start of the machine."""


def main() -> int:
    """Leave a keeper in a session of its own."""
    folder, script, output = (Path(word) for word in sys.argv[1:])
    os.setsid()
    lock = open_lock(folder)
    fcntl.flock(lock, fcntl.LOCK_EX)
    write(folder, "submitted", group=os.getpgrp(), boot=BOOT_ID.read_text().strip())
    with output.open("ab", buffering=0) as sink:
        if os.fork():
            return 0  # the lock stays with the child
        for stream in (1, 2):
            os.dup2(sink.fileno(), stream)
    for earlier in sorted(folder.parent.iterdir()):
        if earlier.name < folder.name and not (earlier / "ended.json").exists():
            other = open_lock(earlier)
            fcntl.flock(other, fcntl.LOCK_SH)
            os.close(other)
    write(folder, "ended", status=run(folder, script, lock))
    return 0


def run(folder: Path, script: Path, lock: int) -> int:
    """Run the script and return its exit status; minus the signal's number if one ended it."""
    # A cancellation signals the whole group: it ends the script, whose end is recorded here.
    signal.signal(signal.SIGTERM, lambda _signal, _frame: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # The script holds the lock as well, so that no other job starts if this keeper is killed.
    child = subprocess.Popen(
        ["/bin/bash", script],
        stdin=subprocess.DEVNULL,
        pass_fds=(lock,),
        env={**os.environ, "HINDMOST_JOB_ID": folder.name},
    )
    write(folder, "started", process=child.pid)
    if (folder / "cancelled.json").exists():  # before the script could hear of it
        child.terminate()
    return child.wait()


def open_lock(folder: Path) -> int:
    """Open the lock of a job, which its keeper and its script hold."""
    return os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)


def write(folder: Path, event: str, **values: object) -> None:
    """Record an event of a job."""
    write_atomically(folder / f"{event}.json", json.dumps(values) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
