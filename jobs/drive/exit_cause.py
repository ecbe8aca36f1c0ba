"""Find why a run ended: from its exit status, its output, and the state of memory and disk."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.jobs.core.durable import DISK_FULL
from hindmost.jobs.drive.process import ASKED_TO_END, NOT_FOUND, EndedBy, ProcessEnd, shell_status
from hindmost.jobs.outcomes import Cause
from hindmost.statuses import TIME_IS_UP, WORK_IS_LEFT

NOT_EXECUTABLE = 126

CAUSES = {
    0: Cause.DONE,
    UsageError.exit_status: Cause.FAILED,
    DataError.exit_status: Cause.FAILED,
    MissingError.exit_status: Cause.FAILED,
    NOT_EXECUTABLE: Cause.FAILED,
    NOT_FOUND: Cause.FAILED,
    WORK_IS_LEFT: Cause.STOPPED,
    TIME_IS_UP: Cause.RUN_LIMIT,
}
"""Exit statuses with a known cause; any other is a crash, which may not happen again.

TERM and INT are not among them: if neither the driver nor a scheduler stopped the ranks, the
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
"""Lines of srun, PETSc and kernels; a program's own messages on memory may mean anything."""
NODE_FAILURE = re.compile(r"^(?:srun|slurmstepd)\b.*node[ _]fail", re.IGNORECASE | re.MULTILINE)
"""Lines of srun."""
EXITED = re.compile(r"^srun: error: .*: tasks? \S+: Exited with exit code (\d+)", re.MULTILINE)
"""A line of srun. Its own exit status is the highest of all: that of ranks it ended later."""
GROUPS, MOUNT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
PROBE_BYTES = 1 << 20


def cause_of(ended: ProcessEnd, *, said: str, memory_kills: int) -> Cause:
    """Return why a run ended.

    Parameters
    ----------
    said : str
        The last lines that the run printed.
    memory_kills : int
        Processes that the kernel killed during the run because memory was exhausted.
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
    """Count the processes of this job that the kernel killed because memory was exhausted."""
    with suppress(OSError, ValueError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, inside = line.split(":", 2)
            if "memory" in controllers.split(","):  # version 1: each group counts only its own
                files = [*(MOUNT / "memory" / of_job(inside)).rglob("memory.oom_control")]
            elif controllers == "":  # version 2: a group includes its subgroups
                files = [MOUNT / of_job(inside) / "memory.events"]
            else:
                continue
            if any(file.is_file() for file in files):
                return sum(count_in(file) for file in files if file.is_file())
    return 0


def of_job(inside: str) -> str:
    """Return the group of the whole job, if Slurm made one; steps are its subgroups."""
    parts = inside.strip("/").split("/")
    for place, part in enumerate(parts):
        if part.startswith("job_"):
            return "/".join(parts[: place + 1])
    return "/".join(parts)


def count_in(file: Path) -> int:
    """Return the number of kills in a file of the kernel."""
    for line in file.read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def says_full(said: str) -> bool:
    """Tell whether a run reported a full disk; which disk is unknown."""
    return any(os.strerror(number) in said for number in DISK_FULL)


def disk_is_full(folder: Path) -> bool:
    """Tell whether the disk of a folder, or a quota on it, is full."""
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
