"""One thread that reads a feed, and its events for all viewers, encoded once."""

from __future__ import annotations

import json
import threading
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any

from hindmost.analysis.watch.feed_history import POLL_S, FeedHistory, Follower
from hindmost.analysis.watch.progress_text import said
from hindmost.harness.runfile.feed import FeedReader

BACKLOG = 256
"""Events that a viewer may lie behind before it is dropped; it may come back, to the history."""


class BehindError(Exception):
    """A viewer reads too slowly."""


def now(history: FeedHistory) -> dict[str, Any]:
    """Return the state of a run, and the words for it."""
    return {"state": history.state(), "said": said(history)}


def encoded(event: str, content: Any) -> bytes:
    """Return a server-sent event; its JSON has no line breaks."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return f"event: {event}\ndata: {text}\n\n".encode()


class Hub:
    """Reads a feed and keeps the events that viewers receive.

    Attributes
    ----------
    history : FeedHistory
    viewers : int
        Connected now.
    """

    def __init__(self, path: Path) -> None:
        self._reader = FeedReader(path)
        self.path = path
        self.history = FeedHistory(self._reader.head)
        self.viewers = 0
        self._news = threading.Condition()
        self._events: deque[bytes] = deque(maxlen=BACKLOG)
        self._count = 0
        self._stop = threading.Event()
        for line in self._reader.read_lines():
            self.history.add(line)
        self._thread = threading.Thread(target=self._follow, name="feed", daemon=True)

    def __enter__(self) -> Hub:
        """Begin to read."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End reading, and let every viewer know."""
        self._stop.set()
        with self._news:
            self._news.notify_all()
        self._thread.join()
        self._reader.close()

    @property
    def stopped(self) -> bool:
        """Tell whether reading has been ended."""
        return self._stop.is_set()

    def _follow(self) -> None:
        follower = Follower(self._reader, self.history)
        while not self._stop.is_set():
            # Under the lock: a viewer that comes sees all of a line, and it once.
            with self._news:
                lines = follower.poll()
                if lines:
                    content = {"lines": lines, **now(self.history)}
                    self._events.append(encoded("news", content))
                    self._count += 1
                    self._news.notify_all()
            self._stop.wait(POLL_S)

    def enter(self) -> None:
        """Count a viewer in."""
        with self._news:
            self.viewers += 1

    def leave(self) -> None:
        """Count a viewer out."""
        with self._news:
            self.viewers -= 1

    def join(self) -> tuple[bytes, int]:
        """Return all until now as one event, and the number of the next one."""
        with self._news:
            history = self.history
            content = {
                "head": history.head.line(),
                "frames": history.frames,
                **now(history),
            }
            return encoded("history", content), self._count

    def after(self, number: int, timeout_s: float) -> tuple[list[bytes], int]:
        """Return the events from a number on, waiting for one so long, and the next number.

        Raises
        ------
        BehindError
            Some of them are no longer kept.
        """
        with self._news:
            if number == self._count and not self.stopped:
                self._news.wait(timeout_s)
            missing = self._count - number
            if missing > len(self._events):
                raise BehindError
            events = list(self._events)[len(self._events) - missing :] if missing else []
            return events, self._count
