"""The iterations of an attached loop on one rank: between marks, or between calls of MPI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.bodies import NS, Found, joined
from hindmost.harness.attach.iterations import Borders, borders_at_call, borders_of_loop
from hindmost.harness.attach.raw import RawSection
from hindmost.harness.recorder.bodies import Recording, phases_of_bodies, with_detours
from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.loop_records import with_regions
from hindmost.harness.recorder.pattern import MONITOR
from hindmost.harness.recorder.state import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies
from hindmost.harness.runfile.contexts import CallContexts

WHOLE = ("halo", "wait", "post")
"""Phases that count as a whole, MPI or not."""
PAUSE, WORK, FIRST_PHASE = 998, 999, 1000
"""Marks of a loop besides those of its iterations, which are `MONITOR`: the end of a pause in which
the recorder wrote to its file, an amount of work, and the begin of the first phase; its end has the
next number, then comes the second phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where the iterations of a program end that did not mark them.

    Attributes
    ----------
    names : sequence of str
        Of all calls of MPI, by number.
    at : str
        A call, a loop by its name, or `FIND` to choose a loop.
    every : int
        Each which of these calls.
    contexts : CallContexts
        Of all ranks.
    """

    names: Sequence[str]
    at: str
    every: int
    contexts: CallContexts

    def borders(self, recording: Recording, communicator: Any, *, cut: bool) -> Borders:
        """Return when iterations end on a rank; collective."""
        if self.at in self.names:
            return borders_at_call(recording, self.names, self.at, self.every)
        return borders_of_loop(
            recording, self.contexts, (self.at, self.every), communicator, cut=cut
        )


def loop_bodies(
    each: RawSection,
    recorded: Recording,
    communicator: Any,
    names: Sequence[str],
    ends: Ends | None = None,
    *,
    cut: bool = False,
) -> Found:
    """Find the iterations of a loop that all ranks marked; collective.

    Parameters
    ----------
    names : sequence of str
        The program's own phases, those of all ranks.
    ends : Ends, optional
        Where iterations end if not at marks.
    cut : bool
        Whether the program ended before the loop did, on some rank.
    """
    recording, paused_ns = without_pauses(recorded)
    marks = recording.marks
    spans: tuple[NDArray[np.int64], ...]
    if ends is None:
        spans, iterations = (marks["begin_ns"][marks["what"] == ord(MONITOR)],), None
    else:
        borders = ends.borders(recording, communicator, cut=cut)
        spans, iterations = borders.spans, borders.iterations
    parts = [
        bodies_between(span, each, recording, communicator, names, paused_ns) for span in spans
    ]
    failed = next((part for part in parts if part.bodies is None), None)
    if failed is not None:
        return replace(failed, iterations=iterations)
    if len(parts) == 1:
        return replace(parts[0], iterations=iterations)
    # Between two times in the loop the program did something else, which no iteration contains.
    for at, (one, other) in enumerate(pairwise(spans), 1):
        between_s = max(float(other[0] - one[-1]) * NS, 0.0)
        part = parts[at]
        if part.bodies is not None:
            bodies = replace(part.bodies, lead_in_s=between_s)
            parts[at] = replace(part, bodies=bodies, seconds=part.seconds + between_s)
    bodies, norms = joined(parts)
    return Found(
        bodies=bodies,
        norms=norms,
        generic="",
        seconds=bodies.solve_time_s,
        cut=any(part.cut for part in parts),
        iterations=iterations,
    )


def bodies_between(
    border: NDArray[np.int64],
    each: RawSection,
    recording: Recording,
    communicator: Any,
    names: Sequence[str],
    paused_ns: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> Found:
    """Return the bodies between borders, as many as all ranks have; collective.

    Parameters
    ----------
    border : int64 array, shape (body + 1,), nanoseconds
    paused_ns : callable
        As `without_pauses` returns it.
    """
    marks = recording.marks
    counts = communicator.allgather(int(border.size))
    least = min(counts) - 1
    none = Found(bodies=None, norms=np.empty(0), generic="", seconds=each.facts.seconds)
    if least < 1:
        return replace(none, why_none="some rank has no iteration: it takes two marks")
    begin, end = border[:-1], border[1:]
    if not all(communicator.allgather(bool((end > begin).all()))):
        return replace(none, why_none="two marks of an iteration are at the same time")
    calls = recording.records[recording.records["what"] < 0]
    regions, number = regions_of(marks, begin[0], end[-1])
    own = each.facts.phases
    called = [own[at] if at < len(own) else "" for at in number.tolist()]
    phases = phases_of_loop(begin, end, calls, regions, called, names)
    whole = np.array([name in WHOLE for name in called], np.bool_)
    classes = recording.call_classes
    events, why_not = events_of_bodies(
        begin, end, with_regions(calls, regions[whole], len(classes)), (*classes, "targets")
    )
    if not recording.mpi_seen:
        events, why_not = None, "MPI calls were not seen"
    count = begin.size
    bodies = RankBodies(
        start=recording.clock.since_zero(begin + paused_ns(begin)),
        duration=(end - begin) * NS,
        phase_duration=phases,
        phases=(*PHASES, *names),
        position=np.arange(count, dtype=np.int32),
        kind=np.full(count, BodyKind.REGULAR, np.uint8),
        restart_duration=np.empty(0),
        lead_in_s=0.0,
        lead_out_s=0.0,
        solve_time_s=0.0,
        work_amount=amounts_of(marks, border, communicator),
        events=events,
        events_left_out=why_not,
    )
    if recording.injecting:
        bodies = with_detours(bodies, recording, begin, end)
    kept = bodies.first(least)
    # The time of a loop is that of its iterations. Set-up is not in it, nor how long a rank waited
    # for one that had failed.
    spent_s = float(kept.duration.sum())
    kept = replace(kept, lead_out_s=0.0, solve_time_s=spent_s, injected_outside_s=0.0)
    return replace(
        none,
        bodies=kept,
        norms=np.full(least, np.nan),
        seconds=spent_s,
        cut=max(counts) > least + 1,
    )


def amounts_of(
    marks: NDArray[np.void], border: NDArray[np.int64], communicator: Any
) -> NDArray[np.float64] | None:
    """Return the work that a program counted in each iteration; collective.

    Parameters
    ----------
    border : int64 array, shape (body + 1,), nanoseconds

    Returns
    -------
    float64 array, shape (body,), or None
        None if no rank counts any.
    """
    places = np.flatnonzero(marks["what"] == WORK)
    if not any(communicator.allgather(places.size > 0)):
        return None
    made = np.flatnonzero(marks["what"] == ord(MONITOR))
    if made.size:  # work that is counted at the very time of a mark is in the order of records
        body = np.searchsorted(made, places) - 1
    else:
        body = np.searchsorted(border, marks["begin_ns"][places], side="right") - 1
    inside = (body >= 0) & (body < border.size - 1)
    amounts = np.maximum(marks["end_ns"][places[inside]], 0).astype(np.float64)
    sums = np.bincount(body[inside], weights=amounts, minlength=border.size - 1)
    return np.asarray(sums, np.float64)


def without_pauses(
    recording: Recording,
) -> tuple[Recording, Callable[[NDArray[np.int64]], NDArray[np.int64]]]:
    """Return a recording on a clock that stands still while the recorder wrote to its file.

    Returns
    -------
    Recording
    callable
        Returns, for instants on that clock, what has to be added for the time of day.
    """
    records = recording.records
    at = np.flatnonzero(records["what"] == PAUSE)
    at = at[at > 0]  # no time before is known of one that comes first
    if not at.size:
        return recording, np.zeros_like
    ends = np.where(records["what"] <= 0, records["end_ns"], records["begin_ns"])
    over = records["begin_ns"][at]
    spent = np.clip(records["end_ns"][at], 0, over - ends[at - 1])
    shift = np.zeros(records.size, np.int64)
    shift[at] = spent
    shift = np.cumsum(shift)
    moved = records.copy()
    moved["begin_ns"] -= shift
    moved["end_ns"][records["what"] <= 0] -= shift[records["what"] <= 0]
    paused = np.cumsum(spent)

    def later(instants: NDArray[np.int64]) -> NDArray[np.int64]:
        passed = np.searchsorted(moved["begin_ns"][at], instants, side="right")
        return np.asarray(np.concatenate([[0], paused])[passed], np.int64)

    return replace(recording, records=moved, end_ns=recording.end_ns - int(paused[-1])), later


def regions_of(
    marks: NDArray[np.void], first_ns: int, last_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the phases that a program marked: those that begin and end, one after the other.

    Returns
    -------
    int64 array, shape (region, 2), nanoseconds
    int64 array, shape (region,)
        Number of the phase.
    """
    bounds = marks[marks["what"] >= FIRST_PHASE]
    begins, ends = bounds[:-1], bounds[1:]
    number, side = np.divmod(begins["what"].astype(np.int64) - FIRST_PHASE, 2)
    paired = (side == 0) & (ends["what"] == begins["what"] + 1)
    paired &= (begins["begin_ns"] >= first_ns) & (ends["begin_ns"] <= last_ns)
    regions = np.stack([begins["begin_ns"][paired], ends["begin_ns"][paired]], axis=1)
    return regions, number[paired]


def phases_of_loop(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    calls: NDArray[np.void],
    regions: NDArray[np.int64],
    called: Sequence[str],
    names: Sequence[str],
) -> NDArray[np.float32]:
    """Return the time of the program's own phases as well.

    A phase named halo, wait or post counts as a whole. A phase of another name counts without its
    MPI time. Of a phase that ends in a later iteration, the part in its first one counts.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
        One body after the other.
    calls : structured array, shape (call,)
    regions : int64 array, shape (region, 2), nanoseconds
        In the order of time.
    called : sequence of str, one a region
    names : sequence of str
        The phases besides `PHASES`, in the order of the result.

    Returns
    -------
    float32 array, shape (body, phase), seconds
    """
    every = (*PHASES, *names)
    plain = phases_of_bodies(begin, end, calls).astype(np.float64)
    phases = np.concatenate([plain, np.zeros((begin.size, len(names)))], axis=1)
    if not len(regions):
        return np.asarray(phases, np.float32)
    body = np.searchsorted(begin, regions[:, 0], side="right") - 1
    until = np.minimum(regions[:, 1], end[body])
    # Time in MPI inside each region, by the phase of the call: it counts by the call, not twice.
    region = np.searchsorted(regions[:, 0], calls["begin_ns"], side="right") - 1
    inside = (region >= 0) & (calls["begin_ns"] < until[np.maximum(region, 0)])
    kinds = len(MPI_PHASES)
    in_mpi = np.bincount(
        region[inside] * kinds + calls["phase"][inside],
        weights=(calls["end_ns"] - calls["begin_ns"])[inside],
        minlength=len(regions) * kinds,
    ).reshape(-1, kinds)
    alone = np.maximum((until - regions[:, 0]) - in_mpi.sum(axis=1), 0.0)
    local = PHASES.index("local")
    for name in dict.fromkeys(called):
        if name not in every or name == "local":
            continue
        at, here = every.index(name), np.array([each == name for each in called])
        spent = np.bincount(body[here], weights=alone[here], minlength=begin.size) * NS
        phases[:, at] += spent
        phases[:, local] -= spent
        if name in WHOLE:
            for kind, phase in enumerate(MPI_PHASES):
                moved = np.bincount(body[here], weights=in_mpi[here, kind], minlength=begin.size)
                phases[:, PHASES.index(phase)] -= moved * NS
                phases[:, at] += moved * NS
    return np.asarray(np.maximum(phases, 0.0), np.float32)  # rounding may leave less than nothing
