"""A window of a run, recorded or simulated, as a trace for Perfetto and Chrome (JSON)."""

from __future__ import annotations

from typing import Any

from hindmost.analysis.runs.read import title_of
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind

MAX_EVENTS = 1_000_000
"""Of a trace; viewers take no more with ease."""


def read_window(text: str | None, bodies: int) -> slice:
    """Return the iterations of ``10..20``, the last included; all of them for None.

    Raises
    ------
    UsageError
        It cannot be read, or the run has no such iterations.
    """
    if text is None:
        return slice(0, bodies)
    first, dots, last = text.partition("..")
    if not (dots and first.isdecimal() and last.isdecimal()):
        raise UsageError(f"--window {text}: write the first and last iteration, such as 10..20.")
    if not int(first) <= int(last) < bodies:
        raise UsageError(
            f"--window {text}: the run has iterations 0 to {bodies - 1:,}, and a window ascends."
        )
    return slice(int(first), int(last) + 1)


def trace_of(run: Run, rows: slice) -> dict[str, Any]:
    """Return some iterations as a trace: one process for each host, one thread for each rank.

    Raises
    ------
    DataError
        No events of single iterations were recorded.
    UsageError
        Too many events.
    """
    if not run.has("event_kind"):
        raise DataError(f"{run.path} has no events of single iterations, which a trace shows.")
    kind = run.variable("event_kind", rows)
    count = (rows.stop - rows.start) * run.columns * (2 * kind.shape[1] + 1)
    if count > MAX_EVENTS:
        raise UsageError(
            f"Up to {count:,} events in a trace; viewers take {MAX_EVENTS:,}. Give a smaller "
            "--window, such as 0..9."
        )
    start, duration = run.variable("start", rows), run.variable("duration", rows)
    work, inside = run.variable("event_work", rows), run.variable("event_duration", rows)
    hosts = {host: place for place, host in enumerate(dict.fromkeys(run.hosts))}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": place, "args": {"name": host}}
        for host, place in hosts.items()
    ]
    for column, rank in enumerate(run.kept_ranks.tolist()):
        where = {"pid": hosts[run.hosts[column]], "tid": rank}
        name = {"name": f"rank {rank}"}
        events.append({"ph": "M", "name": "thread_name", **where, "args": name})
        for body in range(len(kind)):
            clock, end = start[body, column], start[body, column] + duration[body, column]
            common = {"ph": "X", "cat": "rank", **where, "args": {"iteration": rows.start + body}}
            spans: list[tuple[str, Any]] = []
            for event, what in enumerate(kind[body].tolist()):
                if not what:
                    break
                spans.append(("work", work[body, column, event]))
                spans.append((EventKind(what).name.lower(), inside[body, column, event]))
            for title, span in (*spans, ("work", None)):
                span = end - clock if span is None else span
                if span > 0.0:  # in microseconds
                    times = {"ts": float(clock) * 1e6, "dur": float(span) * 1e6}
                    events.append({**common, "name": title, **times})
                clock += span
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"title": title_of(run), "origin": run.header.origin, "file": run.path.name},
    }
