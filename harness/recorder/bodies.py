"""One rank's recorded solve: its bodies with their times and phases."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.clock import CommonClock
from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.pattern import MONITOR, Marked, MarkPattern, borders
from hindmost.harness.runfile.bodies import INJECTED, PHASES, BodyKind, RankBodies

DETOUR = 0
"""What a record of an injected detour is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the recorder noted of one solve on one rank.

    Attributes
    ----------
    records : structured array, shape (record,)
        See `hindmost.harness.recorder.library.RECORD`.
    call_classes : tuple of str
        Classes of MPI calls, by their number in the records.
    counts : int64 array, shape (mark, 2)
        Instructions and cycles at each mark, -1 where they were not counted; empty if never.
    begin_ns, end_ns : int
        After the barrier before the solve, and after the solve.
    begin_utc_ns : int
        The begin since 1970, by the system's calendar.
    switches : int
        Involuntary context switches of the process during the solve.
    core_wait_s : float
        How long the recorded thread was ready to run during the solve and had no core; NaN where
        the kernel does not tell.
    foreign_calls : int
        MPI calls of other threads during the solve, which were not recorded.
    lost : int
        Records for which there was no room.
    iterations : int
        The last that the solver reported to its monitors.
    other_s : dict of str to float
        Seconds in MPI calls of no known kind, by call.
    clock : CommonClock
        Of this rank, for instants that other ranks are to understand.
    mpi_seen : bool
        Whether the recorder intercepts MPI calls; if not, nothing is known of phases.
    sources : tuple of int
        Ranks whose messages receipts need, by bit; see `RankEvents`.
    activity_names : tuple of str
        Parts of the local work, the last for the rest; empty if not asked for.
    activity_ns : int64 array, shape (mark, activity)
        Their totals at each mark; empty if not asked for.
    injecting : bool
        Whether noise was injected into any rank: then there is a phase for it.
    """

    records: NDArray[np.void]
    counts: NDArray[np.int64]
    call_classes: tuple[str, ...]
    begin_ns: int
    end_ns: int
    begin_utc_ns: int
    switches: int
    core_wait_s: float
    foreign_calls: int
    lost: int
    iterations: int
    other_s: dict[str, float]
    clock: CommonClock
    mpi_seen: bool = True
    sources: tuple[int, ...] = ()
    activity_names: tuple[str, ...] = ()
    activity_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    injecting: bool = False

    @property
    def marks(self) -> NDArray[np.void]:
        """The instants among the records: structured array, shape (mark,)."""
        return self.records[self.records["what"] > 0]


def find_bodies(
    recording: Recording, pattern: MarkPattern, solver: str, *, cut: bool = False
) -> RankBodies:
    """Find the bodies of a solve in what was recorded of it; see `find_marked`."""
    return bodies_between(recording, find_marked(recording, pattern, solver, cut=cut))


def find_marked(
    recording: Recording, pattern: MarkPattern, solver: str, *, cut: bool = False
) -> Marked:
    """Find between which marks the bodies of a solve lie.

    Parameters
    ----------
    cut : bool
        The records end before the solve did: find the first bodies, those that are whole.

    Raises
    ------
    UnknownPatternError
        The records do not follow the solver's pattern.
    """
    marks = recording.marks
    wanted = [ord(mark.letter) for mark in pattern.marks]
    place = np.flatnonzero(np.isin(marks["what"], wanted))
    letters = marks["what"][place].astype(np.uint8).tobytes()
    find = pattern.find_first_bodies if cut else pattern.find_bodies
    return find(letters, solver).at(place)


def generic_marked(recording: Recording) -> Marked | None:
    """Find between which marks the bodies of any solver lie: one an iteration, between monitors.

    Returns
    -------
    Marked, or None
        None if the solver does not call its monitors twice.
    """
    marks = recording.marks
    place = np.flatnonzero(marks["what"] == ord(MONITOR))
    # Where an iteration is monitored twice, as at a restart, the first time counts.
    latest = np.maximum.accumulate(marks["end_ns"][place]) if place.size else place
    place = place[np.append(True, latest[1:] > latest[:-1])[: place.size]]
    return borders(place) if place.size > 1 else None


def generic_bodies(recording: Recording) -> RankBodies:
    """Find the bodies of any solver: one an iteration, from monitor to monitor.

    A solver that does not call its monitors twice has one body, the whole solve; none, if records
    of it were lost.
    """
    marked = generic_marked(recording)
    if marked is not None:
        return bodies_between(recording, marked)
    begin, end = np.array([recording.begin_ns]), np.array([recording.end_ns])
    kind, position = np.array([BodyKind.REGULAR], np.uint8), np.zeros(1, np.int32)
    whole = times_of_bodies(recording, begin, end, kind, position, np.empty(0))
    return whole.first(0) if recording.lost else whole


def bodies_between(recording: Recording, found: Marked) -> RankBodies:
    """Return the bodies that lie between marks.

    Parameters
    ----------
    found : Marked
        Its indices are those of `Recording.marks`.
    """
    instant = recording.marks["begin_ns"]
    begin, end = instant[found.begin], instant[found.end]
    restarts = (instant[found.restart_end] - instant[found.restart_begin]) * NS
    bodies = times_of_bodies(recording, begin, end, found.kind, found.position, restarts)
    instructions, cycles = counts_of_bodies(found.begin, found.end, recording.counts)
    activity = recording.activity_ns
    spent = (activity[found.end] - activity[found.begin]) * NS if activity.size else None
    return replace(
        bodies,
        instructions=instructions,
        cycles=cycles,
        activities=recording.activity_names,
        activity_duration=None if spent is None else spent.astype(np.float32),
    )


def times_of_bodies(
    recording: Recording,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    kind: NDArray[np.uint8],
    position: NDArray[np.int32],
    restart_duration: NDArray[np.float64],
) -> RankBodies:
    """Return bodies with their times, phases and events.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    kind, position : array, shape (body,)
        See `RankBodies`.
    restart_duration : float64 array, shape (restart,), seconds
    """
    calls = recording.records[recording.records["what"] < 0]
    phases = phases_of_bodies(begin, end, calls)
    events, why_not = events_of_bodies(begin, end, calls, recording.call_classes, recording.sources)
    if not recording.mpi_seen:
        # MPI and work cannot be separated, so nothing counts as work.
        phases[:] = 0.0
        phases[:, PHASES.index("unclassified")] = (end - begin) * NS
        events, why_not = None, "MPI calls were not seen"
    bodies = RankBodies(
        start=recording.clock.since_zero(begin),
        duration=(end - begin) * NS,
        phase_duration=phases,
        position=position,
        kind=kind,
        restart_duration=restart_duration,
        lead_in_s=float(begin[0] - recording.begin_ns) * NS,
        lead_out_s=float(recording.end_ns - end[-1]) * NS,
        solve_time_s=float(recording.end_ns - recording.begin_ns) * NS,
        events=events,
        events_left_out=why_not,
    )
    return with_detours(bodies, recording, begin, end) if recording.injecting else bodies


def with_detours(
    bodies: RankBodies, recording: Recording, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> RankBodies:
    """Return bodies with the detours that were injected into them, which are a phase.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    """
    detours = recording.records[recording.records["what"] == DETOUR]
    spent_s = (detours["end_ns"] - detours["begin_ns"]) * NS
    body = np.searchsorted(begin, detours["begin_ns"], side="right") - 1
    inside = (body >= 0) & (detours["begin_ns"] < end[np.maximum(body, 0)])
    sums = np.bincount(body[inside], weights=spent_s[inside], minlength=begin.size)
    injected = sums.astype(np.float64)  # of no detours at all, numpy returns integers
    phases = bodies.phase_duration.astype(np.float64)
    phases[:, PHASES.index("local" if recording.mpi_seen else "unclassified")] -= injected
    return replace(
        bodies,
        phases=(*bodies.phases, INJECTED),
        phase_duration=np.column_stack((phases, injected)).astype(np.float32),
        injected=injected,
        injected_outside_s=float(spent_s[~inside].sum()),
    )


def counts_of_bodies(
    begin: NDArray[np.int64], end: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return instructions and cycles of each body, NaN where they were not counted.

    Parameters
    ----------
    begin, end : int64 array, shape (body,)
        The marks between which a body lies.
    counts : int64 array, shape (mark, 2)

    Returns
    -------
    float64 arrays, shape (body,), or None if nothing was counted
    """
    if not len(counts):
        return None, None
    spent = (counts[end] - counts[begin]).astype(np.float64)
    spent[(counts[end] < 0) | (counts[begin] < 0)] = np.nan
    return spent[:, 0], spent[:, 1]


def phases_of_bodies(
    begin: NDArray[np.int64], end: NDArray[np.int64], calls: NDArray[np.void]
) -> NDArray[np.float32]:
    """Sum the MPI time inside each body by phase; what is left is local.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    calls : structured array, shape (call,)
        MPI intervals in the order of time.

    Returns
    -------
    float32 array, shape (body, phase), seconds
    """
    body = np.searchsorted(begin, calls["begin_ns"], side="right") - 1
    inside = (body >= 0) & (calls["begin_ns"] < end[np.maximum(body, 0)])
    cell = body[inside] * len(PHASES) + calls["phase"][inside]
    spent = (calls["end_ns"] - calls["begin_ns"])[inside]
    sums = np.bincount(cell, weights=spent, minlength=begin.size * len(PHASES))
    sums = sums.reshape(begin.size, len(PHASES))
    sums[:, PHASES.index("local")] = (end - begin) - sums.sum(axis=1)
    return (sums * NS).astype(np.float32)
