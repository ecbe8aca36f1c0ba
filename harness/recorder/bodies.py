"""One rank's recorded solve: its bodies with their times and phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.clock import CommonClock
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.pattern import Pattern

PHASES = ("halo", "wait", "post", "local")
"""The phases of a body, exclusive; their sum is its duration."""

NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the recorder noted of one solve on one rank.

    Attributes
    ----------
    records : structured array, shape (record,)
        See `hindmost.harness.recorder.library.RECORD`.
    begin_ns, end_ns : int
        After the barrier before the solve, and after the solve.
    lost : int
        Records for which there was no room.
    other_s : dict of str to float
        Seconds in MPI calls that fit no phase, by call.
    clock : CommonClock
        Of this rank, for instants that other ranks are to understand.
    """

    records: NDArray[np.void]
    begin_ns: int
    end_ns: int
    lost: int
    other_s: dict[str, float]
    clock: CommonClock


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBodies:
    """The bodies of one solve on one rank; all times in seconds.

    Attributes
    ----------
    start : float64 array, shape (body,)
        Begin of each body since rank 0 left the barrier before the solve, on the common clock.
    duration : float64 array, shape (body,)
    phase_duration : float32 array, shape (body, phase)
        In the order of `PHASES`; sums to the duration.
    position : int32 array, shape (body,)
    kind : uint8 array, shape (body,)
        See `hindmost.harness.recorder.pattern.BodyKind`.
    restart_duration : float64 array, shape (restart,)
    lead_in_s, lead_out_s, solve_time_s : float
        Before the first body, after the last, and from the barrier to the end.
        ``lead_in + bodies + restarts + lead_out = solve_time``.
    """

    start: NDArray[np.float64]
    duration: NDArray[np.float64]
    phase_duration: NDArray[np.float32]
    position: NDArray[np.int32]
    kind: NDArray[np.uint8]
    restart_duration: NDArray[np.float64]
    lead_in_s: float
    lead_out_s: float
    solve_time_s: float

    def first(self, bodies: int) -> RankBodies:
        """Return the first bodies only; what comes after them becomes part of the lead-out."""
        restarts = int(np.count_nonzero(self.position[1:bodies] == 0))
        counted = self.duration[:bodies].sum() + self.restart_duration[:restarts].sum()
        return RankBodies(
            start=self.start[:bodies],
            duration=self.duration[:bodies],
            phase_duration=self.phase_duration[:bodies],
            position=self.position[:bodies],
            kind=self.kind[:bodies],
            restart_duration=self.restart_duration[:restarts],
            lead_in_s=self.lead_in_s,
            lead_out_s=self.solve_time_s - self.lead_in_s - float(counted),
            solve_time_s=self.solve_time_s,
        )


def find_bodies(
    recording: Recording, pattern: Pattern, solver: str, *, cut: bool = False
) -> RankBodies:
    """Find the bodies of a solve in what was recorded of it.

    Parameters
    ----------
    cut : bool
        The records end before the solve did: find the bodies of the cycles that are whole.

    Raises
    ------
    UnknownPatternError
        The records do not follow the solver's pattern.
    """
    records = recording.records
    marks = records[records["what"] > 0]
    calls = records[records["what"] < 0]
    letters = marks["what"].astype(np.uint8).tobytes()
    found = pattern.find_bodies(pattern.whole_cycles(letters) if cut else letters, solver)
    instant = marks["begin_ns"]
    begin, end = instant[found.begin], instant[found.end]
    duration = (end - begin) * NS
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
    )


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
