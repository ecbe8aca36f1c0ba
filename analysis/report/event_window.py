"""The events of a run's most telling iterations, as far as a page can hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.show.event_chart import EventChart
from hindmost.harness.runfile.reader import Run

MOST_VALUES = 150_000
"""Of one run on a page, each about a byte and a half."""
MOST_RANKS = 48
MOST_STRETCHES = 24
"""Of consecutive iterations."""
CAPTION = (
    "What every rank does in single iterations: work between events, then the event, as wide as "
    "it lasts. Choose iterations by dragging over the map; the table has the numbers of one."
)


def event_window(run: Run, report: RankReport) -> EventChart | None:
    """Return the events of a run; None if it has none.

    Parameters
    ----------
    report : RankReport
        Says which ranks and iterations matter.
    """
    if not run.has("event_kind") or not run.bodies or run.header.ranks < 2:
        return None
    columns = chosen_columns(run, report)
    events = run.shape("event_kind")[1]
    names = (*run.phases, *run.activities)
    room = max(MOST_VALUES // (columns.size * (2 * events + 2 + len(names))), 1)
    bodies = chosen_iterations(run, report, room)
    parts = [read(run, span, columns) for span in spans(bodies)]
    starts = np.concatenate([each["start"] for each in parts])
    begin = starts.min(axis=1)
    phases = np.concatenate([each["phase_duration"] for each in parts])
    numbers = {name: phases[:, :, at] for at, name in enumerate(run.phases)}
    if run.activities:
        activities = np.concatenate([each["activity_duration"] for each in parts])
        numbers |= {name: activities[:, :, at] for at, name in enumerate(run.activities)}
    return EventChart(
        title=title_of(run),
        iterations=bodies,
        of=run.bodies,
        ranks=run.kept_ranks[columns],
        of_ranks=run.header.ranks,
        kind=np.concatenate([each["event_kind"] for each in parts]),
        begin=begin,
        late=starts - begin[:, None],
        duration=np.concatenate([each["duration"] for each in parts]),
        work=np.concatenate([each["event_work"] for each in parts]).astype(np.float64),
        spent=np.concatenate([each["event_duration"] for each in parts]).astype(np.float64),
        numbers=numbers,
    )


def chosen_columns(run: Run, report: RankReport) -> NDArray[np.int64]:
    """Return the columns of the ranks that are shown: all, or those to inspect and some others."""
    if run.columns <= MOST_RANKS:
        return np.arange(run.columns)
    telling = np.searchsorted(run.kept_ranks, sorted(report.worth_opening()))
    even = np.linspace(0, run.columns - 1, MOST_RANKS - telling.size).astype(np.int64)
    return np.asarray(np.unique(np.concatenate([telling, even])), np.int64)


def chosen_iterations(run: Run, report: RankReport, room: int) -> NDArray[np.int64]:
    """Return the iterations that are shown: all, or stretches around the longest and elsewhere.

    Stretches, as neighbouring iterations are read together: a page on a large file must not read
    all of it for its timeline.
    """
    if run.bodies <= room:
        return np.arange(run.bodies)
    centres: list[int] = []
    late = report.lateness
    if late is not None and not run.reduced:
        order = np.argsort(-late.longest_s, kind="stable")
        centres = list(dict.fromkeys(late.longest_body[order].tolist()))[: MOST_STRETCHES // 2]
    width = max(room // MOST_STRETCHES, 1)
    even = np.linspace(0, run.bodies - 1, min(MOST_STRETCHES - len(centres), room))
    chosen: set[int] = set()
    for centre in (*centres, *even.astype(int).tolist()):
        low = min(max(centre - width // 2, 0), run.bodies - width)
        stretch = set(range(low, low + width))
        if len(chosen | stretch) <= room:
            chosen |= stretch
    return np.array(sorted(chosen), np.int64)


def spans(bodies: NDArray[np.int64]) -> list[slice]:
    """Return runs of consecutive iterations."""
    borders = np.flatnonzero(np.diff(bodies) > 1) + 1
    return [slice(int(each[0]), int(each[-1]) + 1) for each in np.split(bodies, borders)]


def read(run: Run, rows: slice, columns: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Read some iterations of some ranks."""
    names = ["start", "duration", "phase_duration", "event_work", "event_duration"]
    if run.activities:
        names.append("activity_duration")
    found = {name: run.variable(name, rows)[:, columns] for name in names}
    return {**found, "event_kind": run.variable("event_kind", rows)}
