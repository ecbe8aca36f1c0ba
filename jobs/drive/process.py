"""The processes of a run: started, stopped in time or by a signal to the driver, none left over."""

from __future__ import annotations

import ctypes
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.files import open_regular
from hindmost.jobs.core.durable import DISK_FULL
from hindmost.jobs.outcomes import Cause
from hindmost.statuses import INTERRUPTED, TERMINATED, WORK_IS_LEFT

TOLD_WITHIN_S = 2.0
"""Between the end of ranks and of their driver, when a scheduler ends all, node by node."""
ASKED_TO_END = frozenset({INTERRUPTED, TERMINATED})
"""Exit statuses, as in a shell, after TERM or INT."""
NOT_FOUND = 127
"""Exit status of a shell for an unknown command."""
MARKS = ("HINDMOST_RUN_ID", "HINDMOST_JOB_ID")
"""Variables by which the processes of a run are found."""
PATIENCE_S = 5.0
"""Time for what takes a moment: the end of killed processes, a look at the lock of a driver."""
NO_MORE = (signal.SIGUSR1,)
"""After these, no run starts."""
STOP = (signal.SIGTERM, signal.SIGINT)
"""After these, the current run is stopped as well."""


class Signals:
    """Records what signals asked for; a driver sleeps in `wait` and never polls.

    A process that wakes up regularly takes time from a rank on the same core, which would be noise
    of our own.

    Attributes
    ----------
    no_more, stop : bool
    """

    def __init__(self) -> None:
        self.no_more = False
        self.stop = False
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup = -1
        self._pipe = (-1, -1)

    def __enter__(self) -> Signals:
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_blocking(end, False)
        for each in (*NO_MORE, *STOP, signal.SIGCHLD):
            self._before[each] = signal.signal(each, self._take)
        self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for each, handler in self._before.items():
            signal.signal(each, handler)
        for end in self._pipe:
            os.close(end)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if number in STOP:
            self.stop = True
        if number in (*STOP, *NO_MORE):
            self.no_more = True

    def wait(self, seconds: float) -> None:
        """Sleep until a signal arrives, a child process ends, or the time is up."""
        select.select([self._pipe[0]], [], [], max(0.0, seconds))
        with suppress(BlockingIOError):
            os.read(self._pipe[0], 4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How the processes of a run ended.

    Attributes
    ----------
    status : int
        Exit status; minus the signal's number where one ended it.
    by : Cause or None
        RUN_LIMIT or STOPPED where its limit or the driver ended it; None if it ended by itself.
    seconds : float
    """

    status: int
    by: Cause | None
    seconds: float


def perform(
    words: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    output: Path,
    limit_s: float,
    left_s: float,
    grace_s: float,
    signals: Signals,
) -> ProcessEnd:
    """Run a command to its end.

    Parameters
    ----------
    folder : Path
        Working folder.
    output : Path
        File for stdout and stderr.
    limit_s, left_s : float
        Seconds after which the command is stopped: its limit, and the end of the allocation.
    grace_s : float
        Between TERM and KILL.
    """
    start = time.monotonic()
    with output.open("wb") as sink:
        try:
            process = subprocess.Popen(
                list(words),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )
        except OSError as error:
            sink.write(f"hindmost: {words[0]} cannot be started: {error.strerror}\n".encode())
            return ProcessEnd(status=NOT_FOUND, by=None, seconds=0.0)
    try:
        by = wait(process, start + limit_s, start + left_s, grace_s, signals)
    finally:
        if process.poll() is None:
            signal_group(process, signal.SIGKILL)
            process.wait()
        end_processes({name: environment[name] for name in MARKS})
    return ProcessEnd(status=process.returncode, by=by, seconds=time.monotonic() - start)


def wait(
    process: subprocess.Popen[bytes],
    limit_at: float,
    end_at: float,
    grace_s: float,
    signals: Signals,
) -> Cause | None:
    """Wait until a process ends; stop it at its limit, at the end, or on request."""
    by: Cause | None = None
    kill_at = float("inf")
    while process.poll() is None:
        now = time.monotonic()
        if by is None:
            if signals.stop or now >= end_at:
                by = Cause.STOPPED
            elif now >= limit_at:
                by = Cause.RUN_LIMIT
            if by is not None:
                signal_group(process, signal.SIGTERM)
                kill_at = now + grace_s
        elif now >= kill_at:
            signal_group(process, signal.SIGKILL)
            kill_at = float("inf")
        next_at = min(limit_at, end_at) if by is None else kill_at
        signals.wait(min(next_at - time.monotonic(), 3600.0))
    if by is None and process.returncode != 0 and told_to_stop(signals):
        return Cause.STOPPED
    return by


def told_to_stop(signals: Signals) -> bool:
    """Tell whether a scheduler is ending all processes, and the ranks ended first."""
    told_at = time.monotonic() + TOLD_WITHIN_S
    while not signals.stop and time.monotonic() < told_at:
        signals.wait(told_at - time.monotonic())
    return signals.stop


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process and its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def end_with_parent() -> Callable[[], None]:
    """Return a function that makes a new process end when the driver is killed.

    Otherwise its ranks would disturb those of the next driver.
    """
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(1, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(143)

    return ask


def end_processes(marks: Mapping[str, str]) -> None:
    """Kill all processes on this host with these variables: they would disturb the next run."""
    wanted = {f"{name}={value}".encode() for name, value in marks.items()}
    end = time.monotonic() + PATIENCE_S
    while (left := processes_with(wanted)) and time.monotonic() < end:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def processes_with(variables: set[bytes]) -> list[int]:
    """Return the living processes of this user that were started with these variables."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is of another user
            if variables.issubset((folder / "environ").read_bytes().split(b"\0")):
                processes.append(int(folder.name))
    return processes


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
    # As a shell has it: 128 plus the number of the signal.
    status = 128 - ended.status if ended.status < 0 else ended.status
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
