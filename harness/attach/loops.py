"""The iterations of an attached loop on one rank: between marks, or between calls of MPI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.bodies import NS, Found, joined, none_of
from hindmost.harness.attach.iterations import Borders, borders_at_call, borders_of_loop
from hindmost.harness.attach.raw import RawSection
from hindmost.harness.recorder.bodies import Recording, phases_of_bodies, with_detours
from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.loop_records import with_regions
from hindmost.harness.recorder.pattern import MONITOR
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
    phase : int
        Of several loops that are chosen, which.
    """

    names: Sequence[str]
    at: str
    every: int
    contexts: CallContexts
    phase: int = 0

    def borders(self, recordings: Sequence[Recording], *, cut: bool) -> list[Borders]:
        """Return when iterations end on each rank."""
        if self.at in self.names:
            return [borders_at_call(each, self.names, self.at, self.every) for each in recordings]
        wanted = (self.at, self.every)
        return borders_of_loop(recordings, self.contexts, wanted, phase=self.phase, cut=cut)


def loop_bodies(
    parts: Sequence[RawSection],
    recorded: Sequence[Recording],
    names: Sequence[str],
    ends: Ends | None = None,
    *,
    cut: bool = False,
) -> list[Found]:
    """Find the iterations of a loop that all ranks marked, on each rank.

    Parameters
    ----------
    parts, recorded : sequences, one entry for each rank
    names : sequence of str
        The program's own phases, those of all ranks.
    ends : Ends, optional
        Where iterations end if not at marks.
    cut : bool
        Whether the program ended before the loop did, on some rank.
    """
    without = without_pauses if ends is None else with_pauses_in_calls
    recordings, pauses = zip(*(without(each) for each in recorded), strict=True)
    spans: list[tuple[NDArray[np.int64], ...]]
    iterations = None
    if ends is None:
        spans = [(marked(each.marks, ord(MONITOR))["begin_ns"],) for each in recordings]
    else:
        borders = ends.borders(recordings, cut=cut)
        spans, iterations = [each.spans for each in borders], borders[0].iterations
    worked = any(marked(each.marks, WORK).size for each in recordings)
    found: list[list[Found]] = []  # of each time that control was in the loop, of each rank
    for of_ranks in zip(*spans, strict=True):
        least = min(each.size for each in of_ranks) - 1
        if least < 1:
            return none_of(parts, "some rank has no iteration: it takes two marks")
        if not all((np.diff(each) > 0).all() for each in of_ranks):
            return none_of(parts, "two marks of an iteration are at the same time")
        differ = len({each.size for each in of_ranks}) > 1
        found.append([])
        for border, part, recording, paused_ns in zip(
            of_ranks, parts, recordings, pauses, strict=True
        ):
            bodies = bodies_between(border, part, recording, names, paused_ns, worked=worked)
            kept = bodies.first(least)
            # The time of a loop is that of its iterations. Set-up is not in it, nor how long a rank
            # waited for one that had failed.
            spent_s = float(kept.duration.sum())
            found[-1].append(
                Found(
                    bodies=replace(
                        kept, lead_out_s=0.0, solve_time_s=spent_s, injected_outside_s=0.0
                    ),
                    norms=np.full(least, np.nan),
                    generic="",
                    seconds=spent_s,
                    cut=differ,
                    iterations=iterations,
                )
            )
    return [
        joined_entries(own, of_rank)
        for own, of_rank in zip(spans, zip(*found, strict=True), strict=True)
    ]


def joined_entries(spans: Sequence[NDArray[np.int64]], found: Sequence[Found]) -> Found:
    """Return the bodies of a rank from all times that control was in the loop.

    Between two of these the program did something else, which no iteration contains.
    """
    if len(found) == 1:
        return found[0]
    parts = [found[0]]
    for (one, other), part in zip(pairwise(spans), found[1:], strict=True):
        between_s = max(float(other[0] - one[-1]) * NS, 0.0)
        assert part.bodies is not None  # or `loop_bodies` had returned
        bodies = replace(part.bodies, lead_in_s=between_s)
        parts.append(replace(part, bodies=bodies, seconds=part.seconds + between_s))
    bodies, norms = joined(parts)
    cut = any(part.cut for part in parts)
    return replace(parts[0], bodies=bodies, norms=norms, seconds=bodies.solve_time_s, cut=cut)


def marked(marks: NDArray[np.void], what: int) -> NDArray[np.void]:
    """Return the marks of one kind."""
    found: NDArray[np.void] = marks[marks["what"] == what]
    return found


def bodies_between(
    border: NDArray[np.int64],
    each: RawSection,
    recording: Recording,
    names: Sequence[str],
    paused_ns: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    *,
    worked: bool,
) -> RankBodies:
    """Return the bodies between borders on a rank, the time outside of them left out.

    Parameters
    ----------
    border : int64 array, shape (body + 1,), nanoseconds
    paused_ns : callable
        As `without_pauses` returns it.
    worked : bool
        Whether any rank counts work.
    """
    marks = recording.marks
    begin, end = border[:-1], border[1:]
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
        work_amount=amounts_of(marks, border) if worked else None,
        events=events,
        events_left_out=why_not,
    )
    return with_detours(bodies, recording, begin, end) if recording.injecting else bodies


def amounts_of(marks: NDArray[np.void], border: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the work that a program counted in each iteration: float64, shape (body,).

    Parameters
    ----------
    border : int64 array, shape (body + 1,), nanoseconds
    """
    places = np.flatnonzero(marks["what"] == WORK)
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


def with_pauses_in_calls(
    recording: Recording,
) -> tuple[Recording, Callable[[NDArray[np.int64]], NDArray[np.int64]]]:
    """Return a recording in which a call lasts until the recorder had written what came before.

    Without marks it may write in the middle of an iteration, and other ranks wait for it there. See
    `without_pauses` for what is returned.
    """
    records = recording.records
    at = np.flatnonzero(records["what"] == PAUSE)
    at = at[(at > 0) & (records["what"][at - 1] < 0)]
    longer = records.copy()
    longer["end_ns"][at - 1] = records["begin_ns"][at]
    return replace(recording, records=longer), np.zeros_like


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
