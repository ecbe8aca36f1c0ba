"""Watching a run in the terminal: one screen, redrawn with every frame."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Group
from rich.rule import Rule
from rich.text import Text

from hindmost.analysis.show.palette import FILLS, LINES
from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.analysis.watch.progress_text import (
    SHARE_SHOWN,
    ending,
    extrema_rows,
    hindmost_words,
    next_cycle,
    other_predictions,
    progress,
    title,
)
from hindmost.harness.runfile.feed import bin_edges_ns
from hindmost.text import seconds

BLOCKS = " ▁▂▃▄▅▆▇█"
SHADES = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")
"""Cividis, as in the heat maps of pages."""
PHASE_COLOURS = (FILLS[1], LINES[1], FILLS[0], FILLS[2], LINES[3], LINES[4], LINES[2], LINES[5])
LABEL = 10


def screen(history: FeedHistory, width: int, height: int) -> Group:
    """Return everything that fits on a screen of a width and height in characters."""
    inner = max(width - LABEL - 2, 10)
    parts: list[Any] = [
        Text(f"hindmost: {title(history.head)}", style="bold", overflow="ellipsis", no_wrap=True),
        Text(progress(history), overflow="ellipsis", no_wrap=True),
        bar(history, width),
    ]
    if prediction := next_cycle(history):
        prediction = "; ".join(filter(None, (prediction, other_predictions(history))))
        parts.append(Text(prediction, overflow="ellipsis", no_wrap=True))
    if history.frames:
        rows = max(height - 18 - bool(prediction), 1)
        parts += [
            Rule("where the time goes, oldest to newest", align="left", style="dim"),
            *profile(history, inner),
            Rule(Text(heat_title(history, inner)), align="left", style="dim"),
            *heat_map(history, inner, rows),
            Rule("iteration times of all ranks, last frame", align="left", style="dim"),
            *histogram(history.frames[-1], inner),
            Text(hindmost_words(history), style="bold", overflow="ellipsis", no_wrap=True),
            Text(extremes(history), overflow="ellipsis", no_wrap=True),
        ]
    said = ending(history)
    parts.append(
        Text(said or "Ctrl-C ends the watching, not the run.", style="bold" if said else "dim")
    )
    return Group(*parts)


def bar(history: FeedHistory, width: int) -> Text:
    """Return how much is done as a bar."""
    done = history.frames[-1]["iteration"] / max(history.total, 1) if history.frames else 0.0
    full = round(min(done, 1.0) * width)
    return Text("━" * full, style=LINES[1]) + Text("━" * (width - full), style="dim")


def profile(history: FeedHistory, width: int) -> list[Text]:
    """Return a row for every phase that matters: its share in each of the last frames."""
    frames = history.frames[-width:]
    rows = []
    for place, (name, share) in enumerate(history.shares().items()):
        if share < SHARE_SHOWN:
            continue
        heights = "".join(
            BLOCKS[round(8 * min(frame["phase_ns"][place] / max(frame["window_ns"], 1), 1.0))]
            for frame in frames
        )
        colour = PHASE_COLOURS[place % len(PHASE_COLOURS)]
        row = Text(f"{name:<{LABEL - 5}.{LABEL - 5}} {share:>3.0%} ") + Text(heights, style=colour)
        rows.append(row)
    return rows


def heat_title(history: FeedHistory, width: int) -> str:
    """Return the title of the heat map."""
    metric = history.head.metrics[history.frames[-1]["metric"]]
    most = hottest(history.frames[-width:])
    return f"share of {metric} by rank, from 0 (low, dark) to {most / 1000:.1%} (high, bright)"


def hottest(frames: list[dict[str, Any]]) -> float:
    """Return the largest share in frames of the last one's metric, in thousandths."""
    metric = frames[-1]["metric"]
    return float(max(1, *(max(frame["heat"]) for frame in frames if frame["metric"] == metric)))


def heat_map(history: FeedHistory, width: int, rows: int) -> list[Text]:
    """Return ranks downwards, frames to the right; what shares a letter: its maximum."""
    frames = history.frames[-width:]
    full, metric = hottest(frames), frames[-1]["metric"]
    columns, ranks = history.head.columns, history.head.ranks
    rows = min(rows, columns)
    drawn = []
    for row in range(rows):
        low, high = row * columns // rows, (row + 1) * columns // rows
        first, last = -(-low * ranks // columns), -(-high * ranks // columns) - 1
        label = f"{first}" if first == last else f"{first}-{last}"
        text = Text(f"{label:>{LABEL - 1}.{LABEL - 1}} ")
        for frame in frames:
            most = max(frame["heat"][low:high]) / full if frame["metric"] == metric else 0.0
            shade = SHADES[min(int(most * len(SHADES)), len(SHADES) - 1)]
            # The height tells it where there are no colours.
            text.append(BLOCKS[max(round(8 * min(most, 1.0)), 1)], style=shade)
        drawn.append(text)
    return drawn


def histogram(frame: dict[str, Any], width: int) -> list[Text]:
    """Return the counts of iteration times, on a scale of logarithms both ways."""
    bins = frame["bins"]
    if not bins:
        return []
    most = math.log1p(max(bins))
    heights = "".join(
        BLOCKS[math.ceil(8 * math.log1p(count) / most) if count else 0] for count in bins[:width]
    )
    edges = bin_edges_ns(frame["first_bin"], len(bins))
    low, high = seconds(edges[0] * 1e-9), seconds(edges[-1] * 1e-9)
    return [Text(f"{low:>{LABEL - 1}} ") + Text(heights, style=FILLS[2]) + Text(f" {high}")]


def extremes(history: FeedHistory) -> str:
    """Return the extreme ranks of the last frame."""
    rows = (f"{name} {rank} ({time})" for name, rank, time in extrema_rows(history))
    return f"last frame: {', '.join(rows)}"
