"""What a live feed tells, in words."""

from __future__ import annotations

from typing import Any

from hindmost.analysis.tables.terminal import seconds
from hindmost.analysis.watch.history import History


def clock(value_s: float) -> str:
    """Write a time to go: as hours and minutes where it is long."""
    if value_s < 90:
        return seconds(value_s)
    minutes, rest = divmod(round(value_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def title(head: dict[str, Any]) -> str:
    """Say what is watched."""
    ranks, hosts = head["ranks"], head["hosts"]
    where = head["host"] if hosts == 1 else f"{hosts} hosts"
    return f"{head['workload']}, {ranks} rank{'s' if ranks > 1 else ''} on {where}"


def progress(history: History) -> str:
    """Say how far the solve is and how long it will still take."""
    if history.solve is None:
        return "setting up"
    solve, total = history.solve, history.total
    words = f"{solve['solver']}, run {solve['number']} of {history.head['runs']}"
    if not history.frames:
        return f"{words}: no frame yet"
    frame = history.frames[-1]
    done = frame["iteration"]
    words += f": iteration {done:,} of {total:,} ({done / max(total, 1):.0%})"
    words += f" after {clock(frame['t_ns'] * 1e-9)}"
    estimate = history.estimate()
    if estimate is not None and done < total:
        words += f", {clock(estimate.remaining_s)} left"
        words += f" by {estimate.by}" if estimate.by else ""
        if estimate.interval_s is not None:
            low, high = estimate.interval_s
            words += f" ({clock(low)} to {clock(high)})"
    return words


def next_cycle(history: History) -> str:
    """Say what the run itself predicts of its next cycle; empty where it predicts nothing."""
    told, foreseen = history.predictions(), history.foreseen
    if not told or foreseen is None or history.end is not None:
        return ""
    first = told[0]
    if first.seconds is None:
        return "next cycle: nothing to predict from yet"
    words = f"next cycle {clock(first.seconds)} by {first.name}"
    if foreseen.interval_s is not None:
        low, high = foreseen.interval_s
        words += f" ({clock(low)} to {clock(high)})"
    if first.error_percent is not None:
        words += f", {first.error_percent:.1f} % off lately"
    others = [f"{each.name} {clock(each.seconds)}" for each in told[1:] if each.seconds is not None]
    return "; ".join([words, *others])


def hindmost_words(history: History) -> str:
    """Say who is hindmost."""
    found = history.hindmost(1)
    if not found or history.head["ranks"] == 1:
        return ""
    first = found[0]
    return f"hindmost: rank {first.rank}, most work in {first.share:.0%} of the time"


def ending(history: History) -> str:
    """Say how the run ended; empty while it goes on."""
    end = history.end
    if end is None:
        return ""
    if end["status"] == "done":
        said = f"The run has ended; {len(history.done)} of {history.head['runs']} runs are written."
        stopped = [line["stopped"] for line in history.done if line.get("stopped")]
        return said + (f" Stopped early: {stopped[-1]}" if stopped else "")
    if end["status"] == "died":
        return (
            "The run was killed or has died: nobody writes its feed any more, and it did not "
            "say that it ended."
        )
    return f"The run has failed: {end.get('failure') or 'no reason given'}"
