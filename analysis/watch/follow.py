"""Follow a feed: take its lines as they come, and tell when its writer has gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from hindmost.analysis.watch.history import History
from hindmost.harness.runfile.feed import FeedReader

POLL_S = 0.1
ALIVE_EVERY_S = 1.0


class Follower:
    """Gives the lines of a feed to a history.

    Parameters
    ----------
    reader : FeedReader
    history : History
    """

    def __init__(self, reader: FeedReader, history: History) -> None:
        self._reader, self._history = reader, history
        self._asked_s = 0.0

    def poll(self) -> list[dict[str, Any]]:
        """Take what is new, and return it; the last line may be of a writer that is gone."""
        history = self._history
        ended = history.end is not None
        lines = self._take()
        quiet = not lines and history.end is None
        if quiet and time.monotonic() > self._asked_s + ALIVE_EVERY_S:
            self._asked_s = time.monotonic()
            if self._reader.is_written() is False:
                lines = self._take()  # it may have written before it went
                history.lose()
        if history.end is not None and not ended and history.end not in lines:
            lines.append(history.end)
        return lines

    def _take(self) -> list[dict[str, Any]]:
        lines = self._reader.read_lines()
        for line in lines:
            self._history.add(line)
        return lines


def follow(reader: FeedReader, history: History) -> Iterator[list[dict[str, Any]]]:
    """Yield new lines, after the history has taken them, until the run has ended."""
    follower = Follower(reader, history)
    while history.end is None:
        lines = follower.poll()
        if lines:
            yield lines
        else:
            time.sleep(POLL_S)
