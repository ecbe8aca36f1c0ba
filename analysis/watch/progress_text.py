"""The progress of a watched run in words: the solve, the next cycle, stragglers, the end."""

from __future__ import annotations

from collections.abc import Mapping

from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.harness.runfile.feed import FeedHead
from hindmost.text import counted, duration, percent, seconds

SHARE_SHOWN = 0.005
MIN_FRAMES, CLEARLY = 5, 2.0
"""Frames, and times the share of the next rank, from which on the slowest rank is named."""


def title(head: FeedHead) -> str:
    """Return the workload, its ranks and its host."""
    ranks, hosts = head.ranks, head.hosts
    where = head.host if hosts == 1 else f"{hosts} hosts"
    return f"{head.workload}, {counted(ranks, 'rank')} on {where}"


def progress(history: FeedHistory) -> str:
    """Return how far the solve is and how long it will still take."""
    if history.solve is None:
        return "setting up"
    solve, total = history.solve, history.total
    words = f"{solve['solver']}, run {solve['number']} of {history.head.runs}"
    if not history.frames:
        return f"{words}: no data yet"
    frame = history.frames[-1]
    done = frame["iteration"]
    words += f": iteration {done:,} of {total:,} ({done / max(total, 1):.0%})"
    words += f" after {duration(frame['t_ns'] * 1e-9)}"
    estimate = history.estimate()
    if estimate is not None and done < total:
        words += f", {duration(estimate.remaining_s)} left"
        words += f" by {estimate.by}" if estimate.by else ""
        if estimate.interval_s is not None:
            low, high = estimate.interval_s
            words += f" ({duration(low)} to {duration(high)})"
    return words


def next_cycle(history: FeedHistory) -> str:
    """Return what the run predicts for its next cycle; empty if it predicts nothing."""
    predictions, foreseen = history.predictions(), history.foreseen
    if not predictions or foreseen is None or history.end is not None:
        return ""
    first = predictions[0]
    if first.seconds is None:
        return "next cycle: no data to predict from yet"
    words = f"next cycle {duration(first.seconds)} by {first.name}"
    if foreseen.interval_s is not None:
        low, high = foreseen.interval_s
        words += f" ({duration(low)} to {duration(high)})"
    if first.error_percent is not None:
        words += f", recent error {percent(first.error_percent / 100.0)}"
    return words


def other_predictions(history: FeedHistory) -> str:
    """Return what the other predictors say of the next cycle."""
    return "; ".join(
        f"{prediction.name} {duration(prediction.seconds)}"
        for prediction in history.predictions()[1:]
        if prediction.seconds is not None
    )


def share_words(shares: Mapping[str, float]) -> str:
    """Return the share of each phase that matters."""
    return ", ".join(f"{name} {each:.0%}" for name, each in shares.items() if each > SHARE_SHOWN)


def hindmost_words(history: FeedHistory) -> str:
    """Return the rank that had most work far longer than any other; empty if none did."""
    if history.head.ranks == 1 or history.taken < MIN_FRAMES:
        return ""
    first, *others = history.hindmost(2)
    if any(first.share < CLEARLY * each.share for each in others):
        return ""
    return (
        f"slowest: rank {first.rank}, most work in {percent(first.share, 0)} of the time, "
        f"{seconds(first.excess_s)} more than the mean"
    )


def ending(history: FeedHistory) -> str:
    """Return how the run ended; empty while it is running."""
    end = history.end
    if end is None:
        return ""
    if end["status"] == "done":
        written = f"The run has ended; {len(history.done)} of {history.head.runs} runs written."
        stopped = [line["stopped"] for line in history.done if line.get("stopped")]
        return written + (f" Stopped early: {stopped[-1]}" if stopped else "")
    if end["status"] == "died":
        return (
            "The run was killed or crashed: no process writes its feed any more, and the feed has "
            "no end."
        )
    return f"The run has failed: {end.get('failure') or 'no reason given'}"


def said(history: FeedHistory) -> dict[str, str | list[list[str]]]:
    """Return the words of the page, which are those of the terminal, and the rows of its tables."""
    over = history.end is not None
    return {
        "progress": progress(history),
        "next": next_cycle(history),
        "ending": ending(history),
        "slowest": hindmost_words(history),
        "predictions": [] if over else prediction_rows(history),
        "stragglers": [
            [f"rank {each.rank}", percent(each.share), seconds(each.excess_s)]
            for each in history.hindmost()
        ],
        "extrema": extrema_rows(history),
    }


def prediction_rows(history: FeedHistory) -> list[list[str]]:
    """Return what each predictor says of the next cycle, and how far off it was."""
    return [
        [
            prediction.name,
            "unknown" if prediction.seconds is None else seconds(prediction.seconds),
            "" if prediction.error_percent is None else percent(prediction.error_percent / 100.0),
        ]
        for prediction in history.predictions()
    ]


def extrema_rows(history: FeedHistory) -> list[list[str]]:
    """Return the extreme ranks of the last frame."""
    if not history.frames:
        return []
    extrema = zip(history.head.extrema, history.frames[-1]["extrema"], strict=True)
    return [
        [name.replace("-", " "), f"rank {rank}", seconds(value_ns * 1e-9)]
        for name, (rank, value_ns) in extrema
    ]


def line(history: FeedHistory) -> str:
    """Return the state of a run on one line."""
    words = [progress(history)]
    words.append(next_cycle(history))
    if history.frames:
        words.append(share_words(history.shares(history.frames[-1:])))
        words.append(hindmost_words(history))
    return "; ".join(filter(None, words))
