"""The events of a run's most telling iterations, as far as a page can hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.show.event_chart import MAX_RANKS_OF_PATH, EventChart, PathPieces
from hindmost.analysis.show.html_maps import MAX_CELLS
from hindmost.analysis.whatif.gains import remedies_of
from hindmost.analysis.whatif.study import program_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.simulation.blocks import OWN_TIME
from hindmost.models.simulation.rerun import NOBODY, places_on_path

MAX_RANKS = 48
MAX_STRETCHES = 24
"""Of consecutive iterations."""
CAPTION = (
    "What every rank does in single iterations: work between events, then the event, as wide as "
    "it lasts. Choose iterations by dragging over the map; the table has the numbers of one."
)
OF_PATH = (
    " The critical path leads from the end of the solve back, by the ranks that were waited for."
)


def event_window(run: Run, report: RankReport, first: int | None = None) -> EventChart | None:
    """Return the events of a run; None if it has none.

    Parameters
    ----------
    report : RankReport
        Says which ranks and iterations matter.
    first : int, optional
        The iteration that is shown first.
    """
    if not run.has("event_kind") or not run.bodies or run.header.ranks < 2:
        return None
    columns = chosen_columns(run, report)
    passed, why_not = path_of(run)
    events = run.shape("event_kind")[1]
    names = (*run.phases, *run.activities)
    room = max(MAX_CELLS // (columns.size * (2 * events + 2 + len(names))), 1)
    bodies = chosen_iterations(run, report, room, first)
    parts = [read(run, span, columns, passed) for span in spans(bodies)]
    starts = np.concatenate([part["start"] for part in parts])
    begin = starts.min(axis=1)
    phases = np.concatenate([part["phase_duration"] for part in parts])
    numbers = {name: phases[:, :, at] for at, name in enumerate(run.phases)}
    if run.activities:
        activities = np.concatenate([part["activity_duration"] for part in parts])
        numbers |= {name: activities[:, :, at] for at, name in enumerate(run.activities)}
    return EventChart(
        title=title_of(run),
        iterations=bodies,
        of=run.bodies,
        ranks=run.kept_ranks[columns],
        of_ranks=run.header.ranks,
        kind=np.concatenate([part["event_kind"] for part in parts]),
        begin=begin,
        late=starts - begin[:, None],
        duration=np.concatenate([part["duration"] for part in parts]),
        work=np.concatenate([part["event_work"] for part in parts]).astype(np.float64),
        spent=np.concatenate([part["event_duration"] for part in parts]).astype(np.float64),
        numbers=numbers,
        first=first,
        path=None
        if passed is None
        else PathPieces(
            rank=passed[bodies],
            late=np.concatenate([part["path_begin"] for part in parts]) - begin[:, None],
            span=np.concatenate([part["path_span"] for part in parts]),
        ),
        why_no_path=why_not and f"The critical path is not drawn: {why_not}.",
    )


def without_events(run: Run) -> str:
    """Say why a run has no timeline of single iterations; empty where none is expected."""
    if run.has("event_kind") or not run.bodies or run.header.ranks < 2:
        return ""
    reason = run.header.spec.get("events_left_out")
    because = f": {reason}" if isinstance(reason, str) and reason.strip() else ""
    return (
        "The run has no events of single iterations, so neither they nor the critical path are "
        f"drawn{because}."
    )


def path_of(run: Run) -> tuple[NDArray[np.int64] | None, str]:
    """Return the rank on the critical path at every place of a run; if unknown, None and why."""
    refused = remedies_of(run, briefly=True).refused
    if not refused and run.header.ranks > MAX_RANKS_OF_PATH:
        refused = f"a page draws it for up to {MAX_RANKS_OF_PATH:,} ranks"
    if refused:
        return None, refused
    kind = run.variable("event_kind")
    # After the end of a body there are no events, though there is room for them.
    there = np.append(np.logical_and.accumulate(kind, axis=1), np.ones((len(kind), 1), bool), 1)
    return np.where(there, places_on_path(program_of(run)), NOBODY).astype(np.int64), ""


def chosen_columns(run: Run, report: RankReport) -> NDArray[np.int64]:
    """Return the columns of the ranks that are shown: all, or those to inspect and some others."""
    if run.columns <= MAX_RANKS:
        return np.arange(run.columns)
    telling = np.searchsorted(run.kept_ranks, sorted(report.worth_opening()))
    even = np.linspace(0, run.columns - 1, MAX_RANKS - telling.size).astype(np.int64)
    return np.asarray(np.unique(np.concatenate([telling, even])), np.int64)


def chosen_iterations(
    run: Run, report: RankReport, room: int, first: int | None = None
) -> NDArray[np.int64]:
    """Return the iterations that are shown: all, or stretches around the longest and elsewhere.

    Stretches, as neighbouring iterations are read together: a page on a large file must not read
    all of it for its timeline.
    """
    if run.bodies <= room:
        return np.arange(run.bodies)
    centres: list[int] = [] if first is None else [first]
    late = report.lateness
    if late is not None and not run.reduced:
        order = np.argsort(-late.longest_s, kind="stable")
        telling = [*centres, *late.longest_body[order].tolist()]
        centres = list(dict.fromkeys(telling))[: MAX_STRETCHES // 2]
    width = max(room // MAX_STRETCHES, 1)
    even = np.linspace(0, run.bodies - 1, min(MAX_STRETCHES - len(centres), room))
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


def read(
    run: Run, rows: slice, columns: NDArray[np.int64], passed: NDArray[np.int64] | None
) -> dict[str, NDArray[np.float64]]:
    """Read some iterations of some ranks, and the pieces of the critical path of all ranks."""
    names = ["start", "duration", "event_work", "event_duration", "phase_duration"]
    if run.activities:
        names.append("activity_duration")
    kind = run.variable("event_kind", rows)
    found: dict[str, NDArray[np.float64]] = {"event_kind": kind}
    whole = {name: run.variable(name, rows) for name in names[:4]}
    if passed is not None:
        begin, span = pieces(kind, passed[rows], **whole)
        found |= {"path_begin": begin, "path_span": span}
    found |= {name: each[:, columns] for name, each in whole.items()}
    return found | {name: run.variable(name, rows)[:, columns] for name in names[4:]}


def pieces(
    kind: NDArray[np.uint8],
    passed: NDArray[np.int64],
    *,
    start: NDArray[np.float64],
    duration: NDArray[np.float64],
    event_work: NDArray[np.float64],
    event_duration: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when the pieces of the critical path begin, and how long they are, as recorded.

    Parameters
    ----------
    kind : uint8 array, shape (iteration, event)
    passed : int64 array, shape (iteration, event + 1)
        See `hindmost.models.simulation.rerun.places_on_path`.

    Returns
    -------
    float64 arrays, shape (iteration, event + 1), seconds
        Zero where the path is on no rank.
    """
    bodies, events = kind.shape
    row, place = np.arange(bodies)[:, None], np.arange(events)
    ranks = np.maximum(passed, 0)
    # What a rank does in an iteration until it leaves each event, on the ranks of the path.
    there = np.logical_and.accumulate(kind, axis=1)[:, None, :]
    spent = np.where(there, event_work.astype(np.float64) + event_duration, 0.0)
    left = np.concatenate([np.zeros((*spent.shape[:2], 1)), np.cumsum(spent, axis=2)], axis=2)
    begun = left[row, ranks, np.arange(events + 1)]
    own = np.where(OWN_TIME[kind][:, None, :], event_duration, 0.0) + event_work
    rest = np.maximum(duration[row, ranks[:, -1:]] - begun[:, -1:], 0.0)
    span = np.append(own[row, ranks[:, :-1], place], rest, axis=1)
    on_path = passed != NOBODY
    return np.where(on_path, start[row, ranks] + begun, start.min(axis=1)[:, None]), np.where(
        on_path, span, 0.0
    )
