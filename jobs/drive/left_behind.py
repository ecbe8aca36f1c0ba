"""What a killed driver left running: the processes of its run, which would disturb the next."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from hindmost.jobs.schedulers.local_jobs import Process, boot_id, process

PATIENCE_S = 5.0
"""Until the kernel has ended what was killed."""


def end_session(leader: Process, run: str) -> None:
    """Kill what is left of a run's session on this machine; waits until it is gone.

    Parameters
    ----------
    leader : Process
        The run's first one, by which the session is called.
    run : str
        Id of the run, which its processes have in their environment.
    """
    found = process(leader.pid)
    if boot_id() != leader.boot or (found is not None and found != leader):
        return  # the number is another's by now
    end = time.monotonic() + PATIENCE_S
    while (left := members(leader, run)) and time.monotonic() < end:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def members(leader: Process, run: str) -> list[int]:
    """Return the processes of a run's session that have not ended."""
    mark = f"HINDMOST_RUN_ID={run}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ours = int(fields[3]) == leader.pid and int(fields[19]) >= leader.start
            alive = ours and fields[0] not in "ZX"
            if alive and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except (OSError, ValueError, IndexError):  # gone, or another user's
            continue
    return found
