"""The bodies of a loop: what lies between its borders, by MPI calls and the program's own phases.

Both loops of `hindmost.record` and those of attached programs. Time in a phase named ``halo``,
``wait`` or ``post`` is never work, even outside MPI calls: it counts to the events of the calls in
it, or is an event itself if there are none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.bodies import Recording, phases_of_bodies, with_detours
from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import PHASES, BodyKind, RankBodies

WHOLE = ("halo", "wait", "post")
"""Phases that count as a whole, MPI or not."""


def bodies_of_loop(
    border: NDArray[np.int64],
    regions: NDArray[np.int64],
    called: Sequence[str],
    recording: Recording,
    names: Sequence[str],
    paused_ns: NDArray[np.int64] | int = 0,
) -> RankBodies:
    """Return the bodies between borders on a rank, the time outside of them left out.

    Parameters
    ----------
    border : int64 array, shape (body + 1,), nanoseconds
    regions : int64 array, shape (region, 2), nanoseconds
        Begin and end of phases of the program, in the order of time, side by side.
    called : sequence of str, one a region
    names : sequence of str
        The program's own phases, those of all ranks, besides `PHASES`.
    paused_ns : int64 array, shape (body,), nanoseconds
        To be added to the begin of each body for the time of day.
    """
    begin, end = border[:-1], border[1:]
    calls = recording.records[recording.records["what"] < 0]
    inside = (regions[:, 0] >= begin[0]) & (regions[:, 1] <= end[-1])
    regions = regions[inside]
    called = [name for name, kept in zip(called, inside.tolist(), strict=True) if kept]
    whole = np.array([name in WHOLE for name in called], np.bool_)
    classes = recording.call_classes
    events, why_not = events_of_bodies(
        begin,
        end,
        with_regions(calls, regions[whole], len(classes)),
        (*classes, "targets"),
        recording.sources,
    )
    if not recording.mpi_seen:
        events, why_not = None, "MPI calls were not seen"
    count = begin.size
    bodies = RankBodies(
        start=recording.clock.since_zero(begin + paused_ns),
        duration=(end - begin) * NS,
        phase_duration=phases_of_loop(begin, end, calls, regions, called, names),
        phases=(*PHASES, *names),
        position=np.arange(count, dtype=np.int32),
        kind=np.full(count, BodyKind.REGULAR, np.uint8),
        restart_duration=np.empty(0),
        lead_in_s=0.0,
        lead_out_s=0.0,
        solve_time_s=0.0,
        events=events,
        events_left_out=why_not,
    )
    return with_detours(bodies, recording, begin, end) if recording.injecting else bodies


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


def with_regions(
    records: NDArray[np.void], regions: NDArray[np.int64], no_call: int
) -> NDArray[np.void]:
    """Return records that fill the regions in which they lie, and one for each that has none.

    Parameters
    ----------
    records : structured array, shape (record,)
        MPI calls, in the order of time.
    regions : int64 array, shape (region, 2), nanoseconds
        In the order of time, side by side.
    no_call : int
        Number of the call that stands for a region without calls.

    Returns
    -------
    structured array, shape (record,)
        In the order of time.
    """
    if not len(regions):
        return records
    records = records.copy()
    begins, ends = regions[:, 0], regions[:, 1]
    region = np.searchsorted(begins, records["begin_ns"], side="right") - 1
    inside = (region >= 0) & (records["begin_ns"] < ends[np.maximum(region, 0)])
    place, within = np.flatnonzero(inside), region[inside]
    first, last = np.ones(place.size, np.bool_), np.ones(place.size, np.bool_)
    first[1:] = last[:-1] = within[1:] != within[:-1]
    before = np.append(0, records["end_ns"][place[:-1]]) if place.size else place
    records["begin_ns"][place] = np.where(first, begins[within], before)
    records["end_ns"][place[last]] = ends[within[last]]
    empty = regions[np.setdiff1d(np.arange(len(regions)), within)]
    alone = np.zeros(len(empty), records.dtype)
    alone["begin_ns"], alone["end_ns"] = empty[:, 0], empty[:, 1]
    alone["phase"] = MPI_PHASES.index("halo")
    alone["what"] = -1 - no_call
    both: NDArray[np.void] = np.concatenate([records, alone])
    ordered: NDArray[np.void] = both[np.argsort(both["begin_ns"], kind="stable")]
    return ordered
