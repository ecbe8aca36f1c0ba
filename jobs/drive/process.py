"""The processes of a run: started in their own session, stopped in time, none left over."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hindmost.jobs.drive.signals import Signals
from hindmost.processes import PARENT, stat_fields
from hindmost.statuses import INTERRUPTED, TERMINATED

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TOLD_WITHIN_S = 0.5
"""Between the end of ranks and of their driver, when a scheduler ends all at once."""
ENDED_WITHIN_S = 2.0
"""The same after TERM or INT, with which a scheduler ends ranks node by node."""
ASKED_TO_END = frozenset({INTERRUPTED, TERMINATED})
"""Exit statuses, as in a shell, after TERM or INT."""
NOT_FOUND = 127
"""Exit status of a shell for an unknown command."""


class EndedBy(StrEnum):
    """What ended a run."""

    ITSELF = "itself"
    LIMIT = "its limit"
    DRIVER = "the driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How the processes of a run ended.

    Attributes
    ----------
    status : int
        Exit status; minus the signal's number where one ended it.
    by : EndedBy
    seconds : float
    """

    status: int
    by: EndedBy
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
    begun: Callable[[int], None],
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
    begun : callable
        Called with the id of the started process.
    """
    adopt_strays()
    before = children()
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
            return ProcessEnd(status=NOT_FOUND, by=EndedBy.ITSELF, seconds=0.0)
    try:
        begun(process.pid)
        by = wait(process, start + limit_s, start + left_s, grace_s, signals)
    finally:
        if process.poll() is None:
            signal_group(process, signal.SIGKILL)
            process.wait()
        end_strays(before)
    return ProcessEnd(status=process.returncode, by=by, seconds=time.monotonic() - start)


def wait(
    process: subprocess.Popen[bytes],
    limit_at: float,
    end_at: float,
    grace_s: float,
    signals: Signals,
) -> EndedBy:
    """Wait until a process ends; stop it at its limit, at the end, or on request."""
    by = EndedBy.ITSELF
    kill_at = float("inf")
    while process.poll() is None:
        now = time.monotonic()
        if by is EndedBy.ITSELF:
            if signals.stop or now >= end_at:
                by = EndedBy.DRIVER
            elif now >= limit_at:
                by = EndedBy.LIMIT
            if by is not EndedBy.ITSELF:
                signal_group(process, signal.SIGTERM)
                kill_at = now + grace_s
        elif now >= kill_at:
            signal_group(process, signal.SIGKILL)
            kill_at = float("inf")
        next_at = min(limit_at, end_at) if by is EndedBy.ITSELF else kill_at
        signals.wait(min(next_at - time.monotonic(), 3600.0))
    status = process.returncode
    if by is EndedBy.ITSELF and status != 0 and told_to_stop(signals, status):
        return EndedBy.DRIVER
    return by


def told_to_stop(signals: Signals, status: int) -> bool:
    """Tell whether a scheduler is ending all processes, and the ranks ended first."""
    asked = shell_status(status) in ASKED_TO_END
    told_at = time.monotonic() + (ENDED_WITHIN_S if asked else TOLD_WITHIN_S)
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
        prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(143)

    return ask


def adopt_strays() -> None:
    """Become the parent of orphaned processes, so that `end_strays` finds them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_strays(before: frozenset[int]) -> None:
    """Kill the remaining processes of a run: they would disturb the next one."""
    while strays := children() - before:
        for stray in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(stray, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(stray, 0)


def children() -> frozenset[int]:
    """Return the child processes of this one."""
    mine, found = os.getpid(), set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if int(stat_fields(folder.name)[PARENT]) == mine:
                found.add(int(folder.name))
    return frozenset(found)
