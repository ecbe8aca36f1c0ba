"""The bodies of attached solves and loops, found on every rank and joined to those of a run.

A run may consist of many solves. Its bodies are then those of all of them, one after the other.
What lies between the bodies of two solves, without the program's own time between them, counts as a
restart: so lead-in, bodies, restarts and lead-out still sum to the time of all solves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UnknownPatternError
from hindmost.harness.attach.blocks import Blocks
from hindmost.harness.attach.raw import Frame, RawRank, RawSection
from hindmost.harness.attach.raw_json import LOOP
from hindmost.harness.attach.raw_program import RankFacts
from hindmost.harness.attach.sections import Matched, SectionFacts
from hindmost.harness.krylov.recorded import CommonMarks, RankMarks, SolveMarks, residual_norms
from hindmost.harness.krylov.solvers import solver_named
from hindmost.harness.recorder.clock import ClockReading, CommonClock, significant
from hindmost.harness.recorder.events import EventsInParts
from hindmost.harness.recorder.library import NOTED, NS, RECORD, CallClass
from hindmost.harness.recorder.pattern import MONITOR
from hindmost.harness.recorder.petsc_library import ACTIVITIES
from hindmost.harness.recorder.recording import Recording, no_records
from hindmost.harness.runfile.attributes import Attached
from hindmost.harness.runfile.bodies import (
    BY_BODY,
    INJECTED,
    OTHER_WORK,
    PHASES,
    RankBodies,
)
from hindmost.harness.runfile.contexts import CallContexts

FINDING = "finding iterations"
"""What the person who waits is told."""
ROUNDING_NS = 1000
"""So much may a time decrease that is a difference of others."""


def clock_of(raw: RankFacts | RawRank, zero_ns: int) -> CommonClock:
    """Return the clock of a rank, corrected to rank 0's.

    Parameters
    ----------
    zero_ns : int
        The beginning of the run on rank 0's clock.
    """
    readings = [
        ClockReading(
            offset_ns=int(root - own), uncertainty_ns=int((abs(trip) + 1) // 2), at_ns=int(own)
        )
        for own, root, trip in raw.clocks.tolist()
    ]
    if not readings:
        readings = [ClockReading(offset_ns=0, uncertainty_ns=0, at_ns=zero_ns)]
    before, after = readings[0], readings[-1]
    if after.at_ns <= before.at_ns:
        after = before
    return CommonClock(before=before, after=after, zero_ns=zero_ns)


def on_common_clock(raw: RankFacts, instant_ns: int) -> int:
    """Return an instant of a rank on rank 0's clock, in nanoseconds."""
    return instant_ns + significant(clock_of(raw, 0).before)


def recording_of(
    each: RawSection,
    raw: RawRank,
    clock: CommonClock,
    numbers: NDArray[np.uint32] | None,
    *,
    seen: bool,
    injecting: bool = False,
) -> Recording:
    """Return a section as the recorder would return it.

    Parameters
    ----------
    numbers : uint32 array, shape (context,)
        In the table of all ranks, the numbers of this rank's contexts; None: without its records.
    seen : bool
        Whether the recorder saw the program's MPI calls.
    injecting : bool
        Whether noise was injected into any rank.
    """
    facts = each.facts
    records = no_records() if numbers is None else records_of(each, raw.contexts, numbers)
    monitored = records["end_ns"][records["what"] == ord(MONITOR)]
    marks = int((records["what"] > 0).sum())
    return Recording(
        records=records,
        call_classes=tuple(CallClass[name] for name in raw.program.call_classes),
        begin_ns=facts.begin_ns,
        end_ns=facts.end_ns,
        begin_utc_ns=facts.begin_utc_ns,
        switches=facts.switches,
        core_wait_s=facts.core_wait_s,
        threads=max(facts.thread_count, 0),
        others_cpu_s=facts.others_cpu_s,
        foreign_calls=facts.foreign_calls,
        foreign_threads=facts.foreign_threads,
        lost=facts.lost,
        iterations=int(monitored[-1]) if monitored.size else 0,
        other_s={name: ns * NS for name, ns in facts.other_ns.items()},
        clock=clock,
        mpi_seen=seen,
        injecting=injecting,
        world_ranks=tuple(each.array(Frame.WORLD_RANKS).tolist()),
        activity_names=(*ACTIVITIES, OTHER_WORK),
        activity_ns=activities_of(each, marks),
        counts=counts_of(each, marks),
        polls=facts.polls if facts.what == LOOP else 0,
        between_polls_s=facts.between_polls_ns * NS if facts.what == LOOP else 0.0,
        host=raw.program.host,
        cpu=raw.program.cpu,
        cpuset=raw.program.cpuset,
        load_before=facts.load_before,
        load_after=facts.load_after,
    )


def activities_of(each: RawSection, marks: int) -> NDArray[np.int64]:
    """Return the time in each activity at each mark of a solve, that of other work last.

    Returns
    -------
    int64 array, shape (mark, activity), nanoseconds
        Shape (0, 0) if they are not known, or not possible.
    """
    found = each.array(Frame.ACTIVITIES)
    count = 1 + len(ACTIVITIES)
    if each.facts.what == LOOP or not marks or found.size < marks * count:
        return np.empty((0, 0), np.int64)
    times = found[: marks * count].reshape(marks, count)
    steps, most_ns = np.diff(times, axis=0), each.facts.end_ns - each.facts.begin_ns
    if (steps < -ROUNDING_NS).any() or (steps > most_ns).any() or (np.abs(times) > most_ns).any():
        return np.empty((0, 0), np.int64)
    return np.roll(times, -1, axis=1)


def counts_of(each: RawSection, marks: int) -> NDArray[np.int64]:
    """Return instructions and cycles so far at each mark of a solve.

    Returns
    -------
    int64 array, shape (mark, 2)
        -1 where they were not counted; shape (0, 2) if they never were, or are not possible.
    """
    found = each.array(Frame.COUNTS)
    found = found[: found.size // 2 * 2].reshape(-1, 2)[:marks]
    known = found[(found >= 0).all(axis=1)]
    if each.facts.what == LOOP or not known.size or (np.diff(known, axis=0) < 0).any():
        return np.empty((0, 2), np.int64)
    counts = np.full((marks, 2), -1, np.int64)
    counts[: found.shape[0]] = found
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What all ranks of a section agree on, with which the bodies of each are found.

    Attributes
    ----------
    of : callable
        Returns the bodies of a rank of this process, by its place in the run; the time of the
        section in seconds if it has none: the solve ended before its first iteration, or nothing is
        left of it.
    phases : tuple of str
        Of the bodies; empty if there are none.
    generic : str
        Why the bodies are those of any solver; empty if they follow their pattern.
    why_none : str
        Why there are no bodies although there were iterations; empty otherwise.
    cut : bool
        Whether some rank has iterations that others do not have.
    missing : str
        Which iterations that the program marks are left out, and why; empty if none are.
    iterations : Attached or None
        Where no marks were made: what the file says of the iterations.
    work : float or None
        What the program counted on all ranks; None if it counts nothing.
    """

    of: Callable[[int], RankBodies | float]
    phases: tuple[str, ...] = ()
    generic: str = ""
    why_none: str = ""
    cut: bool = False
    missing: str = ""
    iterations: Attached | None = None
    work: float | None = None


def records_of(
    each: RawSection, contexts: CallContexts, numbers: NDArray[np.uint32]
) -> NDArray[np.void]:
    """Return the records of a section, with their contexts where these are known.

    Parameters
    ----------
    contexts : CallContexts
        Of the rank.
    numbers : uint32 array, shape (context,)
        See `recording_of`.

    Returns
    -------
    structured array, shape (record,)
        Of the types `NOTED` or `RECORD`.
    """
    size = min(each.size(Frame.RECORDS), each.facts.kept)
    records, at = np.empty(size, NOTED if contexts.known else RECORD), 0
    words = records.view(np.uint64).reshape(size, records.itemsize // 8)  # RECORD first
    for part in each.parts(Frame.RECORDS):
        own = part[: size - at].view(np.uint64).reshape(-1, RECORD.itemsize // 8)
        words[at : at + len(own), : own.shape[1]] = own
        at += len(own)
    if contexts.known:
        functions = np.unique(contexts.callers, return_inverse=True)[1]
        records["context"], records["function"], at = numbers[0], functions[0], 0
        for part in each.parts(Frame.CONTEXTS):
            own = np.where(part < contexts.count, part, 0)[: size - at]  # the file may be torn
            records["context"][at : at + own.size] = numbers[own]
            records["function"][at : at + own.size] = functions[own]
            at += own.size
    return records


def agreed_on_solve(
    section: Matched,
    recorded: Callable[[int], Recording],
    own: Callable[[int], RawSection],
    blocks: Blocks,
    *,
    injecting: bool,
) -> Agreed:
    """Find out how the bodies of a solve are found on all of its ranks; collective.

    Parameters
    ----------
    recorded : callable
        Returns the recording of a rank of this process.
    own : callable
        Returns its section.
    """
    parts, cut = section.parts, not section.whole
    solver = solver_named(parts[0].facts.type)

    @blocks.once
    def marks_on(rank: int) -> tuple[int, RankMarks, bool]:
        recording = recorded(rank)
        count = parts[rank].facts.iterations
        count = recording.iterations if count < 0 else count
        marks = RankMarks.of(recording, solver, count, lost=cut)
        return count, marks, recording.activity_ns.size > 0

    def said(rank: int) -> tuple[int, SolveMarks, bool]:
        count, marks, has_activities = marks_on(rank)
        return count, marks.said, has_activities

    counts, every, has_activities = zip(*blocks.of_all(FINDING, said), strict=True)
    if not cut and not any(count > 0 for count in counts):
        return none_of(parts)
    try:
        common = CommonMarks.of(every, solver, counts[0], lost=cut)
    except UnknownPatternError:
        return none_of(parts, "no iteration of it is whole on all ranks")
    shapes = set(blocks.of_all(FINDING, lambda rank: common.shape(marks_on(rank)[1])))
    if None in shapes or len(shapes) > 1:
        return none_of(parts, "its ranks recorded different iterations")

    def found_on(rank: int) -> RankBodies:
        recording = recorded(rank)
        bodies = common.bodies(recording, marks_on.take(rank)[1])
        history = history_of(own(rank), recording, told=bool(common.generic))
        norms = residual_norms(bodies, history)
        bodies = replace(bodies, residual_norm=norms)
        return bodies if all(has_activities) else without_activities(bodies)

    phases = (*PHASES, INJECTED) if injecting else PHASES
    return Agreed(of=found_on, phases=phases, generic=common.generic)


def none_of(parts: Sequence[SectionFacts], why: str = "") -> Agreed:
    """Return that the ranks of a section have no bodies, and why if they did iterations."""
    return Agreed(of=lambda rank: parts[rank].facts.seconds, why_none=why)


def history_of(
    each: RawSection, recording: Recording, *, told: bool = False
) -> NDArray[np.float64]:
    """Return the residual norm by iteration, from 0, as the first of its monitor calls gave it.

    Parameters
    ----------
    told : bool
        Of those iterations only that the monitors were told of, as bodies of any solver are.

    Returns
    -------
    float64 array, shape (iteration + 1,)
        NaN where it is unknown.
    """
    norms = np.asarray(each.array(Frame.NORMS), np.float64)
    marks = recording.marks
    number = marks["end_ns"][marks["what"] == ord(MONITOR)][: norms.size]
    known, first = np.unique(number, return_index=True)
    if told:
        return norms[first]
    usable = (known >= 0) & (known <= number.size)
    history = np.full(int(known[usable].max(initial=-1)) + 1, np.nan)
    history[known[usable]] = norms[first[usable]]
    return history


def without_activities(bodies: RankBodies) -> RankBodies:
    """Return bodies whose local work is not divided."""
    return replace(bodies, activity_duration=None, activities=())


def joined(found: Sequence[RankBodies | float]) -> RankBodies:
    """Return the bodies of several sections as those of one run.

    Parameters
    ----------
    found : sequence of RankBodies or float
        In the order of time, see `Agreed`; at least one has bodies.
    """
    restarts: list[NDArray[np.float64]] = []
    parts: list[RankBodies] = []
    lead_in_s = between_s = solve_time_s = 0.0
    for bodies in found:
        if isinstance(bodies, float):  # it counts to what lies between the others
            between_s += bodies
            solve_time_s += bodies
            continue
        solve_time_s += bodies.solve_time_s
        if parts:
            restarts.append(np.array([between_s + bodies.lead_in_s]))
        else:
            lead_in_s = between_s + bodies.lead_in_s
        restarts.append(bodies.restart_duration)
        parts.append(bodies)
        between_s = bodies.lead_out_s
    if any(part.activity_duration is None for part in parts):
        parts = [without_activities(part) for part in parts]
    events = EventsInParts(sum(part.duration.size for part in parts))
    for part in parts:
        events.add(part.events, part.events_left_out)
    arrays = {name: [getattr(part, name) for part in parts] for name in BY_BODY}
    sizes = [part.duration.size for part in parts]
    of_bodies = {
        name: np.concatenate(  # of loops in which the program counted no work, 0
            [np.zeros(size) if one is None else one for one, size in zip(each, sizes, strict=True)]
        )
        for name, each in arrays.items()
        if any(one is not None for one in each)
    }
    return replace(
        parts[0],
        **of_bodies,
        restart_duration=np.concatenate(restarts),
        lead_in_s=lead_in_s,
        lead_out_s=between_s,
        solve_time_s=solve_time_s,
        injected_outside_s=sum(part.injected_outside_s for part in parts),
        events=events.together(),
        events_left_out=events.why_not,
    )
