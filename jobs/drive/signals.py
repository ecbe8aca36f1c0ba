"""Signals to a driver, and how it sleeps until one arrives."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from hindmost.harness.launch import process_age_s

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


END_VARIABLE = "SLURM_JOB_END_TIME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The end of an allocation, on this process's monotonic clock.

    Attributes
    ----------
    end_s : float
        When the scheduler ends the allocation.
    stop_before_s : float
        Reserve before the end.
    """

    end_s: float
    stop_before_s: float

    def fits(self, limit_s: float, *, whole: bool = False) -> bool:
        """Tell whether a run of this length ends in time.

        Parameters
        ----------
        whole : bool
            The run may use the reserve as well.
        """
        return limit_s <= self.left_s - (0.0 if whole else self.stop_before_s)

    @property
    def left_s(self) -> float:
        """Seconds until the end."""
        return self.end_s - time.monotonic()


def deadline_here(
    walltime_s: float,
    stop_before_s: float,
    environment: Mapping[str, str] = os.environ,
    *,
    ask: Callable[[], float | None] = lambda: None,
) -> Deadline:
    """Return the end of the allocation around this process.

    The scheduler's answer counts, since a person may have edited the script; without one, the end
    is the plan's wall time after the start of the script. A scheduler's warning signal is less
    reliable: it comes tens of seconds early or late.

    Parameters
    ----------
    walltime_s, stop_before_s : float
        From the plan.
    ask : callable
        Asks the scheduler for the remaining seconds, where the environment lacks the end (older
        Slurm, PBS); returns None without an answer.
    """
    end = environment.get(END_VARIABLE, "")
    left_s = int(end) - time.time() if end.isdecimal() else ask()
    if left_s is None:
        left_s = walltime_s - process_age_s()
    return Deadline(end_s=time.monotonic() + left_s, stop_before_s=stop_before_s)
