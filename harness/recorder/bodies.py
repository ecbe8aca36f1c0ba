"""One rank's recorded solve: its bodies with their times and phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.clock import CommonClock
from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.pattern import Pattern
from hindmost.harness.recorder.state import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import PHASES, RankBodies

NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the recorder noted of one solve on one rank.

    Attributes
    ----------
    records : structured array, shape (record,)
        See `hindmost.harness.recorder.library.RECORD`.
    call_names : tuple of str
        Of MPI calls, by their number in the records.
    counts : int64 array, shape (mark, 2)
        Instructions and cycles at each mark, -1 where they were not counted; empty if never.
    begin_ns, end_ns : int
        After the barrier before the solve, and after the solve.
    begin_utc_ns : int
        The begin since 1970, by the system's calendar.
    switches : int
        Involuntary context switches of the process during the solve.
    lost : int
        Records for which there was no room.
    other_s : dict of str to float
        Seconds in MPI calls that fit no phase, by call.
    clock : CommonClock
        Of this rank, for instants that other ranks are to understand.
    """

    records: NDArray[np.void]
    counts: NDArray[np.int64]
    call_names: tuple[str, ...]
    begin_ns: int
    end_ns: int
    begin_utc_ns: int
    switches: int
    lost: int
    other_s: dict[str, float]
    clock: CommonClock


def find_bodies(
    recording: Recording, pattern: Pattern, solver: str, *, cut: bool = False
) -> RankBodies:
    """Find the bodies of a solve in what was recorded of it.

    Parameters
    ----------
    cut : bool
        The records end before the solve did: find the first bodies, those that are whole.

    Raises
    ------
    UnknownPatternError
        The records do not follow the solver's pattern.
    """
    records = recording.records
    marks = records[records["what"] > 0]
    calls = records[records["what"] < 0]
    letters = marks["what"].astype(np.uint8).tobytes()
    find = pattern.find_first_bodies if cut else pattern.find_bodies
    found = find(letters, solver)
    instant = marks["begin_ns"]
    begin, end = instant[found.begin], instant[found.end]
    duration = (end - begin) * NS
    instructions, cycles = counts_of_bodies(found.begin, found.end, recording.counts)
    return RankBodies(
        start=recording.clock.since_zero(begin),
        duration=duration,
        phase_duration=phases_of_bodies(begin, end, calls),
        position=found.position,
        kind=found.kind,
        restart_duration=(instant[found.restart_end] - instant[found.restart_begin]) * NS,
        lead_in_s=float(begin[0] - recording.begin_ns) * NS,
        lead_out_s=float(recording.end_ns - end[-1]) * NS,
        solve_time_s=float(recording.end_ns - recording.begin_ns) * NS,
        instructions=instructions,
        cycles=cycles,
        events=events_of_bodies(begin, end, calls, recording.call_names),
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
        MPI intervals in the order of time. MPI time that fits no phase stays in ``local``.

    Returns
    -------
    float32 array, shape (body, phase), seconds
    """
    body = np.searchsorted(begin, calls["begin_ns"], side="right") - 1
    inside = (body >= 0) & (calls["begin_ns"] < end[np.maximum(body, 0)])
    inside &= calls["phase"] != MPI_PHASES.index("other")
    cell = body[inside] * len(PHASES) + calls["phase"][inside]
    spent = (calls["end_ns"] - calls["begin_ns"])[inside]
    sums = np.bincount(cell, weights=spent, minlength=begin.size * len(PHASES))
    sums = sums.reshape(begin.size, len(PHASES))
    sums[:, PHASES.index("local")] = (end - begin) - sums.sum(axis=1)
    return (sums * NS).astype(np.float32)
