"""The processes of a run: started, stopped in time or by a signal to the driver, none left over."""

from __future__ import annotations

import ctypes
import os
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

from hindmost.jobs.outcomes import Cause
from hindmost.statuses import INTERRUPTED, TERMINATED

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
    told_at = time.monotonic() + 2.0
    while not signals.stop and time.monotonic() < told_at:
        signals.wait(told_at - time.monotonic())
    return signals.stop


def shell_status(status: int) -> int:
    """Return an exit status as a shell does: 128 plus the number of the signal."""
    return 128 - status if status < 0 else status


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
