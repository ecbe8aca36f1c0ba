"""The iterations of an attached loop on one rank: between marks, or between calls of MPI."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.blocks import Blocks
from hindmost.harness.attach.bodies import FINDING, Agreed, none_of
from hindmost.harness.attach.iterations import (
    RankLoops,
    UnsureError,
    borders_at_call,
    calls_of,
    calls_until,
    chosen_loops,
    least_share,
)
from hindmost.harness.attach.own_iterations import (
    FIRST_PHASE,
    MAX_BODIES,
    AgreedIterations,
    RankIterations,
    without_failed_phases,
)
from hindmost.harness.attach.sections import Matched
from hindmost.harness.attach.settings import FIND
from hindmost.harness.loops.choice import Chosen
from hindmost.harness.rank_failures import on_root
from hindmost.harness.recorder.bodies import Spans, bodies_of_loop
from hindmost.harness.recorder.library import NS
from hindmost.harness.recorder.pattern import MONITOR
from hindmost.harness.recorder.recording import Recording
from hindmost.harness.runfile.attributes import Attached, SummedCalls
from hindmost.harness.runfile.bodies import INJECTED, PHASES, RankBodies
from hindmost.harness.runfile.contexts import CallContexts

PAUSE, WORK = 998, 999
"""Marks of a loop besides those of its iterations, which are `MONITOR`: the end of a pause in which
the recorder wrote to its file, and an amount of work."""


Pauses = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""Returns, for instants on a clock without pauses, what has to be added for the time of day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOfRanks:
    """A loop on all of its ranks, with where its iterations end.

    Attributes
    ----------
    section : Matched
    recorded : callable
        Returns the recording of a rank of this process, by its place in the run.
    blocks : Blocks
    names : sequence of str
        The program's own phases, those of all ranks.
    injecting : bool
        Whether noise was injected.
    iterate_at : tuple of str, int; None
        Where iterations end if not at marks: a call, a loop by its name or `FIND` to choose a loop,
        and each which of these.
    calls : sequence of str
        The names of all calls of MPI, by number.
    contexts : CallContexts
        Of all ranks.
    delimited : bool
        Whether iterations have marks at both ends, as those of ``hindmost.record``.
    apart : bool
        Whether what lies between such iterations is part of none.
    noted : mapping of int to int
        Of ranks that note something of each iteration, of how many they did.
    """

    section: Matched
    recorded: Callable[[int], Recording]
    blocks: Blocks
    names: Sequence[str]
    injecting: bool
    iterate_at: tuple[str, int] | None
    calls: Sequence[str]
    contexts: CallContexts
    delimited: bool
    apart: bool
    noted: Mapping[int, int]

    def agreed(self) -> list[Agreed]:
        """Find out how the iterations of each rank are found.

        Returns
        -------
        list of Agreed
            Of each loop that the program does one after the other.

        Raises
        ------
        UnsureError
            No loop can be chosen.
        """
        if self.delimited:
            return [self.agreed_on_delimited()]
        spans_on, iterations = self.ways()

        def look_at(rank: int) -> tuple[bool, list[Spans]]:
            """Return whether a rank counted work, and its spans in each loop."""
            spans = spans_on(rank)
            return bool(marked(self.prepared(rank)[0].marks, WORK).size), spans

        looked = self.blocks.once(look_at)
        own = [EntriesOfRanks() for _ in iterations]
        any_worked = False
        for rank in self.blocks.each(FINDING):
            worked, spans = looked(rank)
            any_worked |= worked
            for of_ranks, each in zip(own, spans, strict=True):
                of_ranks.add(each)
        communicator = self.blocks.communicator
        any_worked = any(communicator.allgather(any_worked))
        return [
            self.agreed_on(
                of_ranks.agreed(communicator),
                partial(lambda at, rank: looked(rank)[1][at], at),
                of,
                worked=any_worked,
            )
            for at, (of_ranks, of) in enumerate(zip(own, iterations, strict=True))
        ]

    def agreed_on_delimited(self) -> Agreed:
        """Find out which iterations all ranks finished; collective."""
        parts, block = self.section.parts, max(self.unit, 1)

        def looked_at(rank: int) -> RankIterations:
            marks = self.prepared(rank)[0].marks
            return RankIterations.of(
                marks, parts[rank].facts.errors, block, self.noted.get(rank, MAX_BODIES)
            )

        own = [looked_at(rank) for rank in self.blocks.each(FINDING)]
        agreed = AgreedIterations.of(own, self.blocks.communicator, block)
        if not agreed.kept.size:
            return none_of(parts)

        def found_on(rank: int) -> RankBodies:
            recording, paused_ns = self.prepared(rank)
            spans = agreed.spans(recording.marks, apart=self.apart)
            recording = replace(recording, records=without_failed_phases(recording.records))
            return bodies_in(spans, parts[rank].facts.phases, recording, self.names, paused_ns)

        kept = SummedCalls(unit=block, passes=parts[0].facts.iterations + 1, unknown=0)
        return Agreed(
            of=found_on,
            phases=(*PHASES, *self.names),
            missing=agreed.why_missing,
            iterations=Attached(summed=kept) if self.unit else None,
        )

    def prepared(self, rank: int) -> tuple[Recording, Pauses]:
        """Return the recording of a rank without the pauses of the recorder."""
        without = without_pauses if self.iterate_at is None else with_pauses_in_calls
        return without(self.recorded(rank))

    def ways(self) -> tuple[Callable[[int], list[Spans]], list[Attached | None]]:
        """Return what finds the spans of each loop on a rank, and what their iterations are."""
        if self.iterate_at is None:
            marked_passes = self.section.parts[0].facts.iterations
            kept = SummedCalls(unit=self.unit, passes=max(marked_passes, 0), unknown=0)
            return (lambda rank: [self.at_marks(rank)]), [
                Attached(summed=kept) if self.unit else None
            ]
        at, every = self.iterate_at
        if at in self.calls:
            said = Attached(iterate_at={"call": at, "calls": every})
            return (lambda rank: [self.at_calls(at, every, rank)]), [said]

        cut, unit = not self.section.whole, self.unit
        until_s = min(self.blocks.of_all("reading", self.last_call_s)) if cut else None
        loops_on = self.blocks.once(partial(self.loops_until, until_s, at))
        communicator, facts = self.blocks.communicator, self.section.parts[0].facts
        own = [loops_on(rank).said() for rank in self.blocks.each("choosing the loop")]
        gathered = communicator.gather(own)

        def choose_loops() -> list[tuple[Chosen, Attached]] | str:
            """Return the loops, or why the whole program is one iteration."""
            try:
                return chosen_loops(
                    (each for part in gathered for each in part),
                    loops_on(0),
                    self.contexts,
                    (at, every),
                    (facts.end_ns - facts.begin_ns) * NS,
                    cut=cut,
                    unit=unit,
                )
            except UnsureError as error:
                if at != FIND:
                    raise
                return str(error)

        found = on_root(communicator, choose_loops)
        if isinstance(found, str):
            until_s = math.inf
            if not self.section.whole:
                until_s = min(self.blocks.of_all("reading", self.known_until_s))
            return (lambda rank: [self.whole_program(until_s, rank)]), [Attached(no_loop=found)]

        def spans_on(rank: int) -> list[Spans]:
            loops = loops_on.take(rank)
            return [loops.spans(chosen) for chosen, _ in found]

        return spans_on, [iterations for _, iterations in found]

    def last_call_s(self, rank: int) -> float:
        """Return when the last call of a rank ended, in seconds of the run; inf if it made none."""
        recording, _ = self.prepared(rank)
        ends = calls_of(recording)[0].end_ns[-1:]
        return float(recording.clock.since_zero(ends)[0]) if ends.size else math.inf

    def known_until_s(self, rank: int) -> float:
        """Return until when all calls of a rank are there, in seconds of the run."""
        recording, _ = self.prepared(rank)
        if recording.lost:
            return self.last_call_s(rank)
        return float(recording.clock.since_zero(np.array([recording.end_ns]))[0])

    def whole_program(self, until_s: float, rank: int) -> Spans:
        """Return one iteration, from MPI_Init to MPI_Finalize, or to the calls at a time."""
        recording, _ = self.prepared(rank)
        begin_ns, end_ns = recording.begin_ns, recording.end_ns
        over_s = float(recording.clock.since_zero(np.array([end_ns]))[0]) - until_s
        if over_s > 0.0:
            calls, _ = calls_until(recording, until_s)
            last_ns = int(calls.end_ns[-1]) if calls.end_ns.size else begin_ns
            end_ns = max(last_ns, end_ns - round(over_s / NS), begin_ns)
        return Spans.between(np.array([begin_ns, end_ns]))

    def loops_until(self, until_s: float | None, wanted: str, rank: int) -> RankLoops:
        """Return the loops of a rank, by its calls until a time of the run."""
        recording, _ = self.prepared(rank)
        calls, end_ns = calls_until(recording, until_s, summed=self.unit > 0)
        begin_ns = recording.begin_ns
        del recording  # it is large
        return RankLoops.of(calls, (end_ns - begin_ns) * NS, self.contexts, least_share(wanted))

    @property
    def unit(self) -> int:
        """Passes of the loop with common sums on some rank; 0 if all calls are there."""
        return max(part.facts.unit for part in self.section.parts)

    def at_marks(self, rank: int) -> Spans:
        """Return the marks of a rank, as many iterations apart as have their sums together."""
        marks = marked(self.prepared(rank)[0].marks, ord(MONITOR))
        return Spans.between(marks["begin_ns"][marks["end_ns"] % max(self.unit, 1) == 0])

    def at_calls(self, call: str, every: int, rank: int) -> Spans:
        """Return the ends of the calls at which iterations end."""
        return Spans.between(borders_at_call(self.prepared(rank)[0], self.calls, call, every))

    def agreed_on(
        self,
        counts: EntriesOfRanks,
        spans: Callable[[int], Spans],
        iterations: Attached | None,
        *,
        worked: bool,
    ) -> Agreed:
        """Return how the iterations of each rank are found, by what all ranks have.

        Parameters
        ----------
        counts : EntriesOfRanks
            Where ranks differ, all entries of each are one.
        worked : bool
            Whether any rank counted work.
        """
        parts, alike, least = self.section.parts, counts.alike, counts.least
        if least < 1:
            return none_of(parts, "some rank has no iteration: it takes two marks")

        def usable(rank: int) -> Spans:
            return spans(rank) if alike else spans(rank).as_one()

        def found_on(rank: int) -> RankBodies:
            recording, paused_ns = self.prepared(rank)
            names, own = self.names, parts[rank].facts.phases
            bodies = bodies_in(usable(rank), own, recording, names, paused_ns)
            if worked:
                amounts = amounts_of(recording.marks, usable(rank), max(self.unit, 1))
                bodies = replace(bodies, work_amount=amounts)
            return bodies.first(least)

        def work_of(rank: int) -> float:
            """Return what a rank counted in the iterations that are kept."""
            marks = self.prepared(rank)[0].marks
            return float(amounts_of(marks, usable(rank), max(self.unit, 1))[:least].sum())

        phases = (*PHASES, *self.names)
        return Agreed(
            of=lambda rank: measured(found_on(rank)),
            phases=(*phases, INJECTED) if self.injecting else phases,
            cut=not alike,
            iterations=iterations,
            work=sum(self.blocks.of_all("summing work", work_of)) if worked else None,
        )


@dataclass(slots=True)
class EntriesOfRanks:
    """How many iterations each entry of a loop has, as far as ranks have to agree on it.

    Attributes
    ----------
    alike : bool
        Whether each entry has as many iterations on all ranks.
    least : int
        Iterations that each rank has, with what lies between entries where ranks differ.
    """

    alike: bool = True
    least: int = 0
    _first: NDArray[np.int64] | None = None
    _fewest: int = 0

    def add(self, spans: Spans) -> None:
        """Add those of another rank of this process."""
        counts = np.bincount(spans.entry)
        as_one = spans.entry.size + max(counts.size - 1, 0)
        if self._first is None:
            self._first, self._fewest = counts, as_one
        self._fewest = min(self._fewest, as_one)
        self.alike &= np.array_equal(self._first, counts)

    def agreed(self, communicator: Any) -> EntriesOfRanks:
        """Return those of the ranks of all processes; collective."""
        assert self._first is not None  # each process has a rank
        first = communicator.bcast(self._first)
        alike = self.alike and np.array_equal(first, self._first)
        alike, fewest = (
            all(communicator.allgather(alike)),
            min(communicator.allgather(self._fewest)),
        )
        return EntriesOfRanks(alike=alike, least=int(first.sum()) if alike else fewest)


def measured(bodies: RankBodies) -> RankBodies:
    """Return the bodies of a loop, whose time is that of its iterations, and what is between them.

    Set-up is not in it, nor how long a rank waited for one that had failed.
    """
    spent_s = float(bodies.duration.sum() + bodies.restart_duration.sum())
    return replace(
        bodies, lead_in_s=0.0, lead_out_s=0.0, solve_time_s=spent_s, injected_outside_s=0.0
    )


def marked(marks: NDArray[np.void], what: int) -> NDArray[np.void]:
    """Return the marks of one kind."""
    found: NDArray[np.void] = marks[marks["what"] == what]
    return found


def bodies_in(
    spans: Spans,
    phases: Sequence[str],
    recording: Recording,
    names: Sequence[str],
    paused_ns: Pauses,
) -> RankBodies:
    """Return the iterations of a loop on a rank.

    Parameters
    ----------
    spans : Spans
    phases : sequence of str
        The program's own phases on this rank, by number.
    names : sequence of str
        Those of all ranks.
    paused_ns : callable
        As `without_pauses` returns it.
    """
    regions, number = regions_of(recording.marks)
    called = [phases[at] if at < len(phases) else "" for at in number.tolist()]
    paused = paused_ns(spans.begin_ns)
    return bodies_of_loop(spans, regions, called, recording, names, paused)


def amounts_of(marks: NDArray[np.void], spans: Spans, unit: int) -> NDArray[np.float64]:
    """Return the work that a program counted in each iteration: float64, shape (body,).

    Parameters
    ----------
    unit : int
        Marked iterations that make one of these.
    """
    places = np.flatnonzero(marks["what"] == WORK)
    made = np.flatnonzero((marks["what"] == ord(MONITOR)) & (marks["end_ns"] % unit == 0))
    bodies = spans.entry.size
    if made.size:  # work that is counted at the very time of a mark is in the order of records
        body = np.searchsorted(made, places) - 1
        inside = (body >= 0) & (body < bodies)
    else:
        instant = marks["begin_ns"][places]
        body = np.searchsorted(spans.begin_ns, instant, side="right") - 1
        inside = (body >= 0) & (instant < spans.end_ns[np.maximum(body, 0)])
    amounts = np.maximum(marks["end_ns"][places[inside]], 0).astype(np.float64)
    return np.bincount(body[inside], weights=amounts, minlength=bodies).astype(np.float64)


def without_pauses(
    recording: Recording,
) -> tuple[Recording, Pauses]:
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
    moved = records if records.flags.writeable else records.copy()
    moved["begin_ns"] -= shift
    moved["end_ns"][records["what"] <= 0] -= shift[records["what"] <= 0]
    paused = np.cumsum(spent)

    def later(instants: NDArray[np.int64]) -> NDArray[np.int64]:
        passed = np.searchsorted(moved["begin_ns"][at], instants, side="right")
        return np.asarray(np.concatenate([[0], paused])[passed], np.int64)

    return replace(recording, records=moved, end_ns=recording.end_ns - int(paused[-1])), later


def with_pauses_in_calls(
    recording: Recording,
) -> tuple[Recording, Pauses]:
    """Return a recording in which a call lasts until the recorder had written what came before.

    Without marks it may write in the middle of an iteration, and other ranks wait for it there. See
    `without_pauses` for what is returned.
    """
    records = recording.records
    at = np.flatnonzero(records["what"] == PAUSE)
    at = at[(at > 0) & (records["what"][at - 1] < 0)]
    records["end_ns"][at - 1] = records["begin_ns"][at]
    return recording, np.zeros_like


def regions_of(marks: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    regions = np.stack([begins["begin_ns"][paired], ends["begin_ns"][paired]], axis=1)
    return regions, number[paired]
