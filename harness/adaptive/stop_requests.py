"""Signals that ask a run to stop: it does so after the cycle and keeps what it has recorded."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

ASKING = (signal.SIGINT, signal.SIGTERM)


class StopRequests:
    """Remembers, as a context, a request to stop the process; a second one stops it at once.

    Attributes
    ----------
    signal : int
        The signal that came, 0 for none.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequests:
        """Listen."""
        for each in ASKING:
            self._before[each] = signal.signal(each, self._take)
        return self

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Listen no longer."""
        for each, handler in self._before.items():
            signal.signal(each, handler)
