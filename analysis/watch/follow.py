"""Following a feed: read its lines as they appear, and notice when its writer has gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.harness.runfile.feed import FeedReader

POLL_S = 0.1
ALIVE_EVERY_S = 1.0


class Follower:
    """Adds the lines of a feed to a history.

    Parameters
    ----------
    reader : FeedReader
    history : FeedHistory
    """

    def __init__(self, reader: FeedReader, history: FeedHistory) -> None:
        self._reader, self._history = reader, history
        self._asked_s = 0.0

    def poll(self) -> list[dict[str, Any]]:
        """Read and return new lines; the last one may be the substitute of a writer that died."""
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


def follow(reader: FeedReader, history: FeedHistory) -> Iterator[list[dict[str, Any]]]:
    """Yield new lines, after the history has taken them, until the run has ended."""
    follower = Follower(reader, history)
    while history.end is None:
        lines = follower.poll()
        if lines:
            yield lines
        else:
            time.sleep(POLL_S)
