"""The bodies of one rank's recorded solve or loop, with their times, phases and events.

A solve's bodies lie between the marks of its pattern, those of a loop between its borders. A loop
may have phases of its own. Time in one named ``halo``, ``wait`` or ``post`` is never work, even
outside MPI calls: it counts to the events of the calls in it, or is an event itself if there are
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.events import HALO, EventsInParts, events_of_bodies
from hindmost.harness.recorder.library import FOLDED, NS, CallClass, Flag
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.pattern import MONITOR, Marked, MarkPattern, borders
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.bodies import INJECTED, PHASES, BodyKind, RankBodies

DETOUR = 0
"""What a record of an injected detour is."""
NO_REGIONS = np.empty((0, 2), np.int64)
PART_RECORDS = 1 << 19
"""Records that are looked at together."""
WHOLE = ("halo", "wait", "post")
"""Phases that count as a whole, MPI or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """When the iterations of a loop begin and end on a rank, one after the other.

    Attributes
    ----------
    begin_ns, end_ns : int64 array, shape (body,), nanoseconds
    entry : int64 array, shape (body,)
        Number of the time that control was in the loop, from 0: between two of these the program
        did something else, which no iteration contains.
    """

    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    entry: NDArray[np.int64]

    @classmethod
    def between(cls, border_ns: NDArray[np.int64]) -> Spans:
        """Return the iterations between borders: int64 array, shape (body + 1,), nanoseconds."""
        begin, end = border_ns[:-1], border_ns[1:]
        return cls(begin_ns=begin, end_ns=end, entry=np.zeros(begin.size, np.int64))

    @property
    def first(self) -> NDArray[np.int64]:
        """The first iteration of each entry: int64 array, shape (entry,)."""
        return np.searchsorted(self.entry, np.arange(self.entries))

    @property
    def last(self) -> NDArray[np.int64]:
        """The last iteration of each entry: int64 array, shape (entry,)."""
        return np.searchsorted(self.entry, np.arange(self.entries), side="right") - 1

    @property
    def entries(self) -> int:
        """How many times control was in the loop."""
        return int(self.entry[-1]) + 1 if self.entry.size else 0

    def as_one(self) -> Spans:
        """Return one entry, in which what lies between others counts as an iteration."""
        ends = np.append(self.begin_ns, self.end_ns[self.last])
        return Spans.between(np.sort(ends))


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


def whole_solve(recording: Recording) -> RankBodies:
    """Return a solve as one body; none, if records of it were lost."""
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
    """Return the bodies of a solve with their times, phases and events.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    kind, position : array, shape (body,)
        See `RankBodies`.
    restart_duration : float64 array, shape (restart,), seconds
    """
    known: dict[str, Any] = {}
    if not recording.mpi_seen:
        # MPI and work cannot be separated, so nothing counts as work.
        known["phase_duration"] = np.zeros((begin.size, len(PHASES)), np.float32)
        known["phase_duration"][:, PHASES.index("unclassified")] = (end - begin) * NS
    return assembled(
        recording,
        begin,
        end,
        start=recording.clock.since_zero(begin),
        kind=kind,
        position=position,
        restart_duration=restart_duration,
        **known,
    )


def bodies_of_loop(
    spans: Spans,
    regions: NDArray[np.int64],
    called: Sequence[str],
    recording: Recording,
    names: Sequence[str],
    paused_ns: NDArray[np.int64] | int = 0,
) -> RankBodies:
    """Return the bodies of a loop on a rank; what lies between its entries counts as a restart.

    Parameters
    ----------
    spans : Spans
    regions : int64 array, shape (region, 2), nanoseconds
        Begin and end of phases of the program, in the order of time, side by side. Those that do
        not lie in one entry are left out.
    called : sequence of str, one a region
    names : sequence of str
        The program's own phases, those of all ranks, besides `PHASES`.
    paused_ns : int64 array, shape (body,), nanoseconds
        To be added to the begin of each body for the time of day.
    """
    begin, end, first, last = spans.begin_ns, spans.end_ns, spans.first, spans.last
    entry = np.searchsorted(begin[first], regions[:, 0], side="right") - 1
    inside = (entry >= 0) & (regions[:, 1] <= end[last[entry]])
    return assembled(
        recording,
        begin,
        end,
        regions[inside],
        [name for name, kept in zip(called, inside.tolist(), strict=True) if kept],
        names,
        start=recording.clock.since_zero(begin + paused_ns),
        phases=(*PHASES, *names),
        kind=np.full(begin.size, BodyKind.REGULAR, np.uint8),
        position=(np.arange(begin.size) - first[spans.entry]).astype(np.int32),
        restart_duration=np.maximum(begin[first[1:]] - end[last[:-1]], 0) * NS,
    )


def assembled(
    recording: Recording,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    regions: NDArray[np.int64] = NO_REGIONS,
    called: Sequence[str] = (),
    names: Sequence[str] = (),
    **known: Any,
) -> RankBodies:
    """Return bodies with their times, phases, events and injected detours.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    regions, called, names
        See `bodies_of_loop`.
    known
        What else is known of them; see `RankBodies`.
    """
    classes = (*recording.call_classes, CallClass.RMA)
    ranks = {world: rank for rank, world in enumerate(recording.world_ranks)} or None
    whole = np.array([name in WHOLE for name in called], np.bool_)
    phases, events = [], EventsInParts(begin.size)
    summed = summed_bodies(begin, recording.records)
    for bodies, records, part in parts_of(begin, recording.records, regions):
        calls = recording.records[records]
        calls = calls[calls["what"] < 0]
        own = (begin[bodies], end[bodies])
        phases.append(phases_of_loop(*own, calls, regions[part], called[part], names))
        if recording.mpi_seen and not events.lacking:
            calls = with_regions(calls, regions[part][whole[part]], len(classes) - 1)
            if not bodies.start:  # what was sent before may be received in the bodies
                earlier = recording.records[: records.start]
                sent = (earlier["what"] < 0) & ((earlier["flags"] & Flag.GROUP) != 0)
                calls = np.concatenate([earlier[sent & (earlier["phase"] == HALO)], calls])
            events.add(*events_of_bodies(*own, calls, classes, ranks, summed[bodies]))
    known.setdefault("phase_duration", np.concatenate(phases))
    of_all = events.together() if recording.mpi_seen else None
    if of_all is not None:  # on the clock of the bodies
        instants = of_all.messages["at_s"].astype(np.int64)
        body = np.maximum(np.searchsorted(begin, instants, side="right") - 1, 0)
        of_all.messages["at_s"] = known["start"][body] + (instants - begin[body]) * NS
    found = RankBodies(
        duration=(end - begin) * NS,
        lead_in_s=float(begin[0] - recording.begin_ns) * NS,
        lead_out_s=float(recording.end_ns - end[-1]) * NS,
        solve_time_s=float(recording.end_ns - recording.begin_ns) * NS,
        events=of_all,
        events_left_out=events.why_not if recording.mpi_seen else "MPI calls were not seen",
        summed=summed if summed.any() else None,
        **known,
    )
    return with_detours(found, recording, begin, end) if recording.injecting else found


def summed_bodies(begin: NDArray[np.int64], records: NDArray[np.void]) -> NDArray[np.bool_]:
    """Tell of the calls of which bodies only sums are there, shape (body,)."""
    folded = records["begin_ns"][records["what"] == FOLDED]
    body = np.searchsorted(begin, folded, side="right") - 1
    found = np.zeros(begin.size, np.bool_)
    found[body[body >= 0]] = True
    return found


def parts_of(
    begin: NDArray[np.int64], records: NDArray[np.void], regions: NDArray[np.int64]
) -> Iterator[tuple[slice, slice, slice]]:
    """Divide bodies into parts of not too many records, so that what is made needs little memory.

    Parameters
    ----------
    begin : int64 array, shape (body,), nanoseconds
    records : structured array, shape (record,)
        In the order of time.
    regions : int64 array, shape (region, 2), nanoseconds
        In the order of time, side by side. Each lies in one part.

    Yields
    ------
    slice, slice, slice
        Of the bodies, the records and the regions.
    """
    region = np.searchsorted(regions[:, 0], begin)  # the first that begins in a body or later
    until = np.append(np.iinfo(np.int64).min, regions[:, 1])
    free = np.flatnonzero(until[region] <= begin)  # bodies that begin inside of none
    record = np.searchsorted(np.maximum.accumulate(records["begin_ns"]), begin[free])
    cuts = [0]
    while cuts[-1] < free.size:
        fits = np.searchsorted(record, record[cuts[-1]] + PART_RECORDS, side="right") - 1
        fits = free.size if record[fits:].size == 1 else int(fits)
        cuts.append(max(fits, cuts[-1] + 1))
    of_parts = [
        np.append(each[cuts[:-1]], end)
        for each, end in ((free, begin.size), (record, len(records)), (region[free], len(regions)))
    ]
    for ends in zip(*(pairwise(part.tolist()) for part in of_parts), strict=True):
        bodies, own, inside = (slice(*pair) for pair in ends)
        yield bodies, own, inside


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
        In the order of time.
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
