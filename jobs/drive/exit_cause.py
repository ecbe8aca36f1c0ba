"""Find why a run ended: from its exit status and its output."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.files import open_regular
from hindmost.jobs.core.durable import DISK_FULL
from hindmost.jobs.drive.process import ASKED_TO_END, NOT_FOUND, ProcessEnd, shell_status
from hindmost.jobs.outcomes import Cause
from hindmost.statuses import WORK_IS_LEFT

NOT_EXECUTABLE, TIMED_OUT = 126, 124
"""Exit statuses of a shell, and of timeout."""

CAUSES = {
    0: Cause.DONE,
    UsageError.exit_status: Cause.FAILED,
    DataError.exit_status: Cause.FAILED,
    MissingError.exit_status: Cause.FAILED,
    NOT_EXECUTABLE: Cause.FAILED,
    NOT_FOUND: Cause.FAILED,
    WORK_IS_LEFT: Cause.STOPPED,
    TIMED_OUT: Cause.RUN_LIMIT,
}
"""Exit statuses with a known cause; any other is a crash, which may not happen again.

TERM and INT are not among them: if neither the driver nor a scheduler stopped the ranks, the
launcher ended the others after one had failed.
"""

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


def cause_of(ended: ProcessEnd, *, said: str) -> Cause:
    """Return why a run ended.

    Parameters
    ----------
    said : str
        The last lines that the run printed.
    """
    if ended.by is not None:
        return ended.by
    status = shell_status(ended.status)
    if status in ASKED_TO_END and (first := EXITED.search(said)):
        status = int(first[1])
    cause = CAUSES.get(status, Cause.CRASHED)
    if cause is not Cause.CRASHED:
        return cause
    if OUT_OF_MEMORY.search(said):
        return Cause.MEMORY
    if NODE_FAILURE.search(said):
        return Cause.NODE_FAILED
    return Cause.CRASHED


def says_full(said: str) -> bool:
    """Tell whether a run reported a full disk; which disk is unknown."""
    return any(os.strerror(number) in said for number in DISK_FULL)


LINES, MOST = 6, 400
"""Maximum lines of the message, and characters of these and of the one that explains the end."""
READ_BYTES = 1 << 16
"""Read from the beginning and from the end of the output."""

OURS = "hindmost: "
NOTES = ("warning: ", "run ")
"""Beginnings of hindmost's own lines that are not errors."""
NOISE = re.compile(
    r"""^\s*(?: Primary\ job\s+terminated | a\ non-zero\ exit\ code\. | the\ job\ to\ be\ terminated
        | (?:mpiexec|mpirun|prterun)\b.*(?:detected|exited) | Process\ name: | Exit\ code:
        | = | -+$ | This\ typically\ refers | Please\ see\ the\ FAQ | \[\d+\]PETSC\ ERROR:\ -{4,}
        | Traceback\ \( | MPI_ABORT\ was\ invoked | with\ errorcode )""",
    re.VERBOSE,
)
"""Lines of launchers, and of MPI and PETSc, that explain nothing."""
ERROR = re.compile(
    r"error|fail|fatal|abort|cannot|could not|unable|not found|no such|denied|invalid|illegal"
    r"|segmentation|violation",
    re.IGNORECASE,
)


def lines_of(output: Path) -> list[str]:
    """Return the non-empty lines at the beginning and the end of a run's output."""
    try:
        with open_regular(output) as file:
            text = file.read(READ_BYTES)
            if (rest := output.stat().st_size - READ_BYTES) > 0:
                file.seek(max(READ_BYTES, rest))
                text += b"\n" + file.read()
    except OSError:
        return []
    return [line.rstrip() for line in text.decode(errors="replace").splitlines() if line.strip()]


def error_message(lines: Sequence[str], cause: Cause) -> str:
    """Return the last lines of a run, and below them the line that explains why it ended."""
    why = explaining_line(lines, cause)[:MOST]
    others = "\n".join(line for line in lines[-LINES:] if line != why)[-MOST:]
    return f"{others}\n{why}".strip("\n")


def explaining_line(lines: Sequence[str], cause: Cause) -> str:
    """Return the line that explains why a run ended; empty if there is no output.

    hindmost's own line if it ended with its own error; else the first line with an error; else the
    last line.
    """
    ours = [line for line in lines if line.startswith(OURS)]
    own = [line for line in ours if not line.removeprefix(OURS).startswith(NOTES)]
    if cause is Cause.FAILED and own and not own[-1].endswith(":"):
        return own[-1]
    said = [line for line in lines if line not in ours and any(map(str.isalnum, line))]
    plain = [line for line in said if not NOISE.match(line)]
    errors = [line for line in plain if line[0] not in " \t" and ERROR.search(line)]
    return next(iter((*errors, *plain[-1:], *own[-1:], *said[-1:])), "")
