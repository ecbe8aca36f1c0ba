"""Why a run ended: from its exit status, who ended it, and what memory and disk say."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.jobs.drive.process import ASKED_TO_END, NOT_FOUND, Ended, EndedBy, shell_status
from hindmost.jobs.durable import DISK_FULL
from hindmost.jobs.outcome import Cause
from hindmost.statuses import WORK_IS_LEFT

NOT_EXECUTABLE = 126

CAUSES = {
    0: Cause.DONE,
    UsageError.exit_status: Cause.FAILED,
    DataError.exit_status: Cause.FAILED,
    MissingError.exit_status: Cause.FAILED,
    NOT_EXECUTABLE: Cause.FAILED,
    NOT_FOUND: Cause.FAILED,
    WORK_IS_LEFT: Cause.STOPPED,
}
"""Exit statuses that say something; any other is a crash, which may not happen again.

TERM and INT are none: of ranks that the driver did not stop, and that nobody told it to stop, a
launcher ended the others after one had failed.
"""

ENDED_BY = {EndedBy.LIMIT: Cause.RUN_LIMIT, EndedBy.DRIVER: Cause.STOPPED}

OUT_OF_MEMORY = re.compile(
    r"""^(?: (?:srun|slurmstepd)\b .* (?:oom[_-]kill | out\ of\ memory)
        | \[\d+\]PETSC\ ERROR:\ out\ of\ memory
        | (?:\[[\d. ]+\]\ *)? (?:memory\ cgroup\ )? out\ of\ memory:\ kill
        | (?:\[[\d. ]+\]\ *)? oom-kill: )""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""Lines of srun, PETSc and kernels; a program's own words of memory mean anything."""
NODE_FAILURE = re.compile(r"^(?:srun|slurmstepd)\b.*node[ _]fail", re.IGNORECASE | re.MULTILINE)
"""Lines of srun."""
EXITED = re.compile(r"^srun: error: .*: tasks? \S+: Exited with exit code (\d+)", re.MULTILINE)
"""A line of srun, whose own status is the highest: that of the ranks which it ended thereafter."""
GROUPS, MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
PROBE_BYTES = 1 << 20


def cause_of(ended: Ended, *, said: str, memory_kills: int) -> Cause:
    """Say why a run ended.

    Parameters
    ----------
    said : str
        The last words of the run.
    memory_kills : int
        Processes that the kernel killed for want of memory meanwhile.
    """
    if ended.by in ENDED_BY:
        return ENDED_BY[ended.by]
    status = shell_status(ended.status)
    if status in ASKED_TO_END and (first := EXITED.search(said)):
        status = int(first[1])
    cause = CAUSES.get(status, Cause.CRASHED)
    if cause is not Cause.CRASHED:
        return cause
    if memory_kills > 0 or OUT_OF_MEMORY.search(said):
        return Cause.MEMORY
    if NODE_FAILURE.search(said):
        return Cause.NODE_FAILED
    return Cause.CRASHED


def memory_kills() -> int:
    """Count the processes of this job that the kernel killed for want of memory."""
    with suppress(OSError, ValueError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, inside = line.split(":", 2)
            if "memory" in controllers.split(","):  # version 1: each group counts its own
                files = [*(MOUNT / "memory" / of_job(inside)).rglob("memory.oom_control")]
            elif controllers == "":  # version 2: a group counts those beneath it as well
                files = [MOUNT / of_job(inside) / "memory.events"]
            else:
                continue
            if any(file.is_file() for file in files):
                return sum(count_in(file) for file in files if file.is_file())
    return 0


def of_job(inside: str) -> str:
    """Return the group of the whole job, where Slurm made one: steps are groups beneath it."""
    parts = inside.strip("/").split("/")
    for place, part in enumerate(parts):
        if part.startswith("job_"):
            return "/".join(parts[: place + 1])
    return "/".join(parts)


def count_in(file: Path) -> int:
    """Return the count of kills in a file of the kernel."""
    for line in file.read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def says_full(said: str) -> bool:
    """Tell whether a run said that there is no room on a disk: which one, nobody knows."""
    return any(os.strerror(number) in said for number in DISK_FULL)


def disk_is_full(folder: Path) -> bool:
    """Tell whether there is no room on the disk of a folder, or in a quota on it."""
    with suppress(OSError):
        disk = os.statvfs(folder)
        if disk.f_bavail * disk.f_frsize < PROBE_BYTES:
            return True
    probe = folder / f".probe-{os.getpid()}"
    try:
        with probe.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in DISK_FULL
    finally:
        with suppress(OSError):
            probe.unlink()
    return False
