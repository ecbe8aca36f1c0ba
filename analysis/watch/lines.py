"""A run watched where there is no terminal: a line now and then."""

from __future__ import annotations

from hindmost.analysis.watch.history import History
from hindmost.analysis.watch.words import hindmost_words, next_cycle, progress

SHARE_SHOWN = 0.005


def line(history: History) -> str:
    """Return what is to be known of a run on one line."""
    words = [progress(history)]
    words.append(next_cycle(history).split(";")[0])
    if history.frames:
        shares = history.shares(history.frames[-1:])
        shown = [f"{name} {share:.0%}" for name, share in shares.items() if share > SHARE_SHOWN]
        words.append(", ".join(shown))
        words.append(hindmost_words(history))
    return "; ".join(filter(None, words))
