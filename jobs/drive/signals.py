"""Signals to a driver, and how it sleeps until one arrives."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

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
