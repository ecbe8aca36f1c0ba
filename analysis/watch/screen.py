"""Watching a run in the terminal: some lines, drawn again with every frame."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from hindmost.analysis.show.palette import LINES
from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.analysis.watch.progress_text import (
    ending,
    hindmost_words,
    next_cycle,
    progress,
    share_words,
    title,
)
from hindmost.text import seconds


def screen(history: FeedHistory, width: int) -> Group:
    """Return the state of a run as lines of at most a width in characters."""
    lines = [f"hindmost: {title(history.head)}", progress(history), next_cycle(history)]
    if history.frames:
        lines += [
            f"all frames: {share_words(history.shares())}",
            f"last frame: {share_words(history.shares(history.frames[-1:]))}",
            hindmost_words(history),
            extremes(history),
        ]
    lines.append(ending(history) or "Ctrl-C ends the watching, not the run.")
    shown = [Text(line, overflow="ellipsis", no_wrap=True) for line in lines if line]
    return Group(shown[0], bar(history, width), *shown[1:])


def bar(history: FeedHistory, width: int) -> Text:
    """Return how much is done as a bar."""
    done = history.frames[-1]["iteration"] / max(history.total, 1) if history.frames else 0.0
    full = round(min(done, 1.0) * width)
    return Text("━" * full, style=LINES[1]) + Text("━" * (width - full), style="dim")


def extremes(history: FeedHistory) -> str:
    """Return the extreme ranks of the last frame."""
    names, found = history.head.extrema, history.frames[-1]["extrema"]
    words = (
        f"{name.replace('-', ' ')} {rank} ({seconds(value * 1e-9)})"
        for name, (rank, value) in zip(names, found, strict=True)
    )
    return f"last frame: {', '.join(words)}"
