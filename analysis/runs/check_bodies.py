"""Checks of the bodies of a run and of its ranks' own work, each read in one pass.

Drift, outliers and slow stretches; iterations that come back longer, and growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.efficiency.withheld import mpi_unseen
from hindmost.analysis.runs.finding import Finding, Topic
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.harness.runfile.all_ranks import columns_of
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.models.recurring import (
    Recurring,
    as_by_clock,
    excess_of,
    find_recurring,
    places_of_rules,
    rules_in,
)
from hindmost.text import counted, percent, seconds

MOST_VALUES = 1 << 22
"""Work of all ranks up to which every rank is looked at; beyond, some, evenly spread."""
QUARTERS = 4
GROWS = 0.05
"""Change of a rank's work, as a share, from which on it is named."""
MOST_NAMED = 4
COSTS = 0.01
"""Share of the time from which on recurring iterations are a finding."""
EXPLAINS = 0.5
"""Part of a drift from which on the own work that changed explains it."""
INSTRUCTIONS = "instructions"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCourse:
    """The own work of the ranks over a run.

    Attributes
    ----------
    ranks : int array, shape (rank,)
        Those that were looked at.
    quarters_s : float64 array, shape (2, rank), seconds
        The median work of an iteration in the first and in the last quarter.
    growth : float64 array, shape (rank,)
        The change of the median work from the first quarter to the last, relative to its place in
        the restart cycle, as a share.
    instructions : float64 array, shape (rank,), or None
        The same of the instructions, if they were counted.
    recurring : tuple of Recurring
        Columns are those of ``ranks``.
    clocks_s : tuple of float or None
        The period of a clock that would explain each of these as well.
    """

    ranks: NDArray[np.intp]
    quarters_s: NDArray[np.float64]
    growth: NDArray[np.float64]
    instructions: NDArray[np.float64] | None = None
    recurring: tuple[Recurring, ...] = ()
    clocks_s: tuple[float | None, ...] = ()

    def places(self, iterations: int) -> NDArray[np.intp]:
        """Return a number for each iteration, 0 for those that do not recur."""
        return places_of_rules([each.rule for each in self.recurring], iterations)


def read_work_course(run: Run) -> WorkCourse | None:
    """Read the own work of a run block by block; None if waiting cannot be told from it."""
    return None if mpi_unseen(run) else tallied(run, work_course())


def work_course() -> Wanted[WorkCourse]:
    """Return what `read_work_course` reads, to be read together with other results."""
    return Wanted(WorkCourseTally, checked=False)


class WorkCourseTally:
    """The own work of some ranks, without injected noise."""

    def __init__(self, run: Run) -> None:
        self._run = run
        most = max(MOST_VALUES // max(run.bodies, 1), 1)
        spread = np.linspace(0, run.columns - 1, min(run.columns, most))
        self._columns = np.unique(spread.astype(np.intp))
        self._counts = run.has(INSTRUCTIONS) and run.shape(INSTRUCTIONS) == (
            run.bodies,
            run.columns,
        )
        self._work: list[NDArray[np.float64]] = []
        self._instructions: list[NDArray[np.float64]] = []

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        work = block.work[:, self._columns]
        if self._run.has(INJECTED):
            work = np.maximum(work - block.variable(INJECTED)[:, self._columns], 0.0)
        self._work.append(np.array(work, np.float64))
        if self._counts:
            self._instructions.append(
                np.array(block.variable(INSTRUCTIONS)[:, self._columns], np.float64)
            )

    def result(self) -> WorkCourse:
        """Return the course of the work."""
        run = self._run
        numbers = run.variable("kept_rank") if run.reduced else np.arange(run.columns)
        ranks = np.asarray(numbers, np.intp)[self._columns]
        if not self._work:
            nothing = np.zeros((2, ranks.size))
            return WorkCourse(ranks=ranks, quarters_s=nothing, growth=nothing[0])
        work = np.concatenate(self._work)
        place = places_of(run)
        found = find_recurring(work, place)
        start = columns_of(run, "start", self._columns[:1])[:, 0] if found else np.empty(0)
        quarter = max(len(work) // QUARTERS, 1)
        return WorkCourse(
            ranks=ranks,
            quarters_s=np.array(
                [np.median(part, axis=0) for part in (work[:quarter], work[-quarter:])]
            ),
            growth=growth_of(work, place),
            instructions=growth_of(np.concatenate(self._instructions), place)
            if self._counts
            else None,
            recurring=found,
            clocks_s=tuple(as_by_clock(start, each.rule) for each in found),
        )


def places_of(run: Run) -> NDArray[np.integer[Any]]:
    """Return the place of every iteration in the restart cycle; all 0 without restarts."""
    return run.position if run.restarts else np.zeros(run.bodies, np.int32)


def growth_of(values: NDArray[np.float64], place: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the change from the first quarter to the last: float64, shape (rank,), a share.

    Parameters
    ----------
    values : float64 array, shape (iteration, rank)
    place : int array, shape (iteration,)
        In the restart cycle.
    """
    relative = relative_to_place(values, place)
    quarter = max(len(values) // QUARTERS, 1)
    before, after = (np.median(part, axis=0) for part in (relative[:quarter], relative[-quarter:]))
    return np.asarray(after / np.maximum(before, np.finfo(float).tiny) - 1.0)


def look_at_recurring(work: WorkCourse, iterations: int, whole_s: float) -> Iterator[Finding]:
    """Say which iterations come back longer, and what they cost.

    Parameters
    ----------
    whole_s : float
        Time of all iterations.
    """
    for each, clock_s in zip(work.recurring, work.clocks_s, strict=True):
        share = each.cost_s / whole_s if whole_s > 0.0 else 0.0
        if share < COSTS:
            continue
        words = each.rule.explain(iterations)
        least, most = seconds(min(each.longer_s)), seconds(max(each.longer_s))
        longer = most if least == most else f"{least} to {most}"
        doubt = (
            f" (the iterations are so even that a clock of {seconds(clock_s)} explains it as well)"
            if clock_s is not None
            else ""
        )
        yield Finding(
            code="recurring",
            severity="note",
            text=f"{words} is {longer} longer on {named(work.ranks[list(each.columns)])}: "
            f"{seconds(each.cost_s)}, {percent(share)} of the time{doubt}",
            advice="the program does this itself, for example as output or a checkpoint: do it "
            "less often, or asynchronously; no other number counts it as noise or as outliers",
            doubts=(Topic.MODELS,),
        )


def whose_drift(work: WorkCourse | None, drift_s: float) -> tuple[str, str]:
    """Say whose work drifts, and return that and the advice; both empty where nothing is known.

    Parameters
    ----------
    drift_s : float
        Change of the time of an iteration from the first quarter to the last.
    """
    if work is None or not work.ranks.size:
        return "", ""
    changed = np.flatnonzero(np.sign(drift_s) * work.growth > GROWS)
    verb = "grew" if drift_s > 0.0 else "fell"
    if not changed.size:
        return (
            f"; no rank's own work {verb} by over {percent(GROWS, 0)}, so waiting or transfers did",
            "look at the time in MPI: other programs on the machine or the network, or messages "
            "that grow",
        )
    order = changed[np.argsort(-np.abs(work.growth[changed]), kind="stable")]
    each = ", ".join(
        f"rank {work.ranks[at]} by {percent(abs(float(work.growth[at])), 0)} "
        f"({seconds(float(work.quarters_s[0, at]))} to {seconds(float(work.quarters_s[1, at]))})"
        for at in order[:MOST_NAMED]
    )
    more = f" and {changed.size - MOST_NAMED} more" if changed.size > MOST_NAMED else ""
    said = f"; own work {verb} on {each}{more}"
    part = float(np.ptp(work.quarters_s[:, changed], axis=0).max()) / abs(drift_s)
    if part < EXPLAINS:
        said += f" ({percent(part, 0)} of the change; the rest is in MPI)"
    others = work.ranks.size - changed.size
    if not others:
        return said, ""
    said += f", not on the other{f' {others}' if others > 1 else ''}"
    return said, f"{cause_of_growth(work, order, drift_s)}; on other ranks it stays"


def cause_of_growth(work: WorkCourse, changed: NDArray[np.intp], drift_s: float) -> str:
    """Say what may make the work of some ranks alone change."""
    ranks = named(work.ranks[changed])
    cores = f"the core{'s' if changed.size > 1 else ''} of {ranks}"
    if drift_s < 0.0:
        program, core = "has less to do (a domain or a list that shrinks)", "became faster"
    else:
        program, core = "has more to do (a domain or a list that grows)", "became slower"
    if work.instructions is None:
        return (
            f"on {ranks} the program {program}, or {cores} {core}: instructions per iteration, "
            "if they are counted, show which"
        )
    change = work.instructions[changed]
    followed = float(np.median(change / work.growth[changed]))
    told = f"instructions per iteration change by {percent(float(np.median(change)), 0)}"
    if followed > 0.5:
        return f"on {ranks} the program {program}: {told}"
    return f"{cores} {core}, by frequency or other programs: {told}"


def named(ranks: NDArray[np.intp]) -> str:
    """Write ranks: ``rank 0``, ``ranks 0, 1``, ``32 ranks (0, 1, 2, 3, …)``."""
    listed = ", ".join(str(each) for each in ranks[:MOST_NAMED])
    if ranks.size == 1:
        return f"rank {listed}"
    if ranks.size <= MOST_NAMED:
        return f"ranks {listed}"
    return f"{counted(ranks.size, 'rank')} ({listed}, …)"


LEAST_BODIES = 100
DRIFT, DRIFT_DOMINATES = 0.05, 0.20
OUTLIER_FACTOR = 3.0
OUTLIER_SHARE = 0.02
DOMINATES = 0.10
"""Share of the time above which outliers are an error: without them the solve would be shorter by
more than repeats may differ, so means and comparisons are meaningless."""
FASTEST = 0.1
SLOW_FACTOR = 1.25
SLOW_BLOCK = 30
SLOW_BLOCKS = 3
MOST_SAMPLES = 1 << 23
"""Bodies of all ranks up to which medians of quarters use every body; beyond, every nth."""
FIRST = 3
"""First bodies, which may do one-time work."""
MARKED = (Topic.TIMES, Topic.MODELS, Topic.COMPARISON)
Some = tuple[NDArray[np.intp], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyTimes:
    """The bodies of a run, reduced.

    Attributes
    ----------
    slowest : float64 array, shape (iteration,), seconds
        Of the slowest rank of every body.
    relative : float64 array, shape (iteration,)
        The same over the median of its place in the restart cycle.
    rank_s : float64 array, shape (rank,), seconds
        The sum of every rank's bodies.
    same_work : bool
        Whether all bodies of a place do the same, as those of a solver.
    rank_quarters : float64 array, shape (2, rank)
        Every rank's median body in the first and in the last quarter, relative to its place.
    """

    slowest: NDArray[np.float64]
    relative: NDArray[np.float64]
    rank_s: NDArray[np.float64]
    same_work: bool
    rank_quarters: NDArray[np.float64]

    @property
    def drift(self) -> float:
        """Change of the median body from the first quarter to the last, as a share.

        A few slow bodies on each of several ranks make many of the slowest of a body, and a rank
        whose work alternates has no typical body: what both views show is drift.
        """
        quarter = self.relative.size // QUARTERS
        slowest = float(np.median(self.relative[-quarter:]) / np.median(self.relative[:quarter]))
        before, after = self.rank_quarters.max(axis=1)
        seen = (slowest - 1.0, float(after / before) - 1.0)
        return min(seen, key=abs) if seen[0] * seen[1] > 0.0 else 0.0


def look_at_work(times: BodyTimes) -> bool:
    """Tell whether the ranks' own work may explain the times: they drift, or long ones recur."""
    return times.slowest.size >= LEAST_BODIES and (abs(times.drift) > DRIFT or recurs(times))


def recurs(times: BodyTimes) -> bool:
    """Tell whether the slowest rank's time is longer after every so many iterations."""
    if times.slowest.size < LEAST_BODIES:
        return False
    return bool(rules_in(excess_of(times.relative, np.zeros(times.slowest.size, np.int32))))


def read_body_times(run: Run, *, same_work: bool) -> BodyTimes:
    """Read the bodies of a run block by block, once."""
    return tallied(run, Wanted(BodyTimesTally, (same_work,), checked=False))


class BodyTimesTally:
    """The bodies of a run, reduced block by block."""

    def __init__(self, run: Run, same_work: bool) -> None:
        self._run, self._same_work = run, same_work
        self._slowest, self._rank_s = [np.empty(0)], np.zeros(run.columns)
        self._stride = -(-run.bodies * run.columns // MOST_SAMPLES) or 1
        self._quarter = run.bodies // QUARTERS
        # Bodies of the first and of the last quarter: their numbers and times.
        self._parts: tuple[list[Some], list[Some]] = ([], [])

    def add(self, block: Block) -> None:
        """Take the next bodies."""
        durations = block.duration
        self._slowest.append(durations.max(axis=1))
        self._rank_s += durations.sum(axis=0)
        body = block.rows.start + np.arange(len(durations))
        early, late = body < self._quarter, body >= self._run.bodies - self._quarter
        for part, inside in zip(self._parts, (early, late), strict=True):
            chosen = inside & (body % self._stride == 0)
            part.append((body[chosen], durations[chosen]))

    def result(self) -> BodyTimes:
        """Return the bodies, reduced."""
        every = np.concatenate(self._slowest)
        relative = relative_to_place(every, places_of(self._run))
        typical = every / np.maximum(relative, np.finfo(float).tiny)
        quarters = np.ones((2, self._run.columns))
        if self._run.bodies >= LEAST_BODIES:
            for at, part in enumerate(self._parts):
                bodies = np.concatenate([each for each, _ in part])
                durations = np.concatenate([each for _, each in part])
                if bodies.size:
                    quarters[at] = np.median(durations / typical[bodies, None], axis=0)
        return BodyTimes(
            slowest=every,
            relative=relative,
            rank_s=self._rank_s,
            same_work=self._same_work,
            rank_quarters=quarters,
        )


def relative_to_place(
    values: NDArray[np.float64], place: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """Return values relative to the median of their place in the restart cycle.

    Parameters
    ----------
    values : float64 array, shape (iteration,) or (iteration, rank)
    place : int array, shape (iteration,)

    Returns
    -------
    float64 array, shape of values
    """
    if not values.size:
        return values
    typical = np.empty_like(values)
    typical[:] = np.median(values, axis=0)
    order = np.argsort(place, kind="stable")
    borders = np.flatnonzero(np.diff(place[order])) + 1
    if 2 * borders.size < len(values):  # else there is nothing at a place to compare with
        for members in np.split(order, borders):
            typical[members] = np.median(values[members], axis=0)
    return np.asarray(values / np.maximum(typical, np.finfo(float).tiny))


def look_at_bodies(times: BodyTimes, work: WorkCourse | None = None) -> Iterator[Finding]:
    """Find recurring iterations, drift, outliers and slow stretches.

    Parameters
    ----------
    work : WorkCourse or None
        Own work of the ranks, if it is known.
    """
    if work is not None:
        yield from look_at_recurring(work, times.slowest.size, float(times.rank_s.max()))
        times = apart_from_recurring(times, work)
    yield from find_outliers(times)
    if times.slowest.size < LEAST_BODIES:
        return
    yield from find_no_baseline(times)
    relative = times.relative
    drift = times.drift
    if abs(drift) > DRIFT:
        cause = "" if times.same_work else ", and whether iterations do more work later"
        whose, lead = whose_drift(work, drift * float(np.median(times.slowest)))
        yield Finding(
            code="drift",
            severity="error" if abs(drift) > DRIFT_DOMINATES else "note",
            text=f"iterations of the last quarter take {percent(abs(drift), 0)} "
            f"{'more' if drift > 0.0 else 'less'} time than those of the first (medians){whose}",
            advice=lead or "warm up longer, and check frequency and temperature" + cause,
            doubts=MARKED,
        )
    whole = relative[: relative.size // SLOW_BLOCK * SLOW_BLOCK]
    slow = np.median(whole.reshape(-1, SLOW_BLOCK), axis=1) > SLOW_FACTOR
    longest = longest_stretch(slow)
    if longest >= SLOW_BLOCKS:
        cause = (
            "something else used the machine, or its frequency fell"
            if times.same_work
            else "something else used the machine, or these iterations do more work"
        )
        yield Finding(
            code="slow-stretch",
            severity="note",
            text=f"{longest * SLOW_BLOCK} consecutive iterations are over {SLOW_FACTOR} "
            "times as slow",
            advice=f"{cause}: leave the run out, or model the stretch separately",
            doubts=MARKED,
        )


def apart_from_recurring(times: BodyTimes, work: WorkCourse) -> BodyTimes:
    """Return the bodies with those that recur compared with each other."""
    places = work.places(times.slowest.size)
    relative = times.relative.copy()
    for each in np.unique(places[places > 0]):
        rows = np.flatnonzero(places == each)
        relative[rows] /= max(float(np.median(relative[rows])), 1.0)
    return replace(times, relative=relative)


def find_outliers(times: BodyTimes) -> Iterator[Finding]:
    """Find bodies far slower than others at their place in the cycle, and their share of time."""
    relative, slowest = times.relative, times.slowest
    outliers = relative > OUTLIER_FACTOR
    count = int(np.count_nonzero(outliers))
    if not count:
        return
    excess = slowest[outliers] * (1.0 - 1.0 / relative[outliers])
    share = float(excess.sum() / slowest.sum())
    if share <= OUTLIER_SHARE:
        return
    early = float(excess[np.flatnonzero(outliers) < FIRST].sum() / excess.sum())
    yield Finding(
        code="outliers",
        severity="error" if share > DOMINATES else "note",
        text=f"{counted(count, 'iteration')} last{'s' if count == 1 else ''} over "
        f"{OUTLIER_FACTOR:.0f} times the median, {percent(share)} of the time",
        advice=advice_on_outliers(times, early > 0.5),
        doubts=MARKED,
    )


def find_no_baseline(times: BodyTimes) -> Iterator[Finding]:
    """Find runs in which most bodies are slow, so that the median hides how many."""
    fastest = float(np.quantile(times.relative, FASTEST))
    if not float(np.median(times.relative)) > OUTLIER_FACTOR * fastest:
        return
    yield Finding(
        code="no-baseline",
        severity="error" if times.same_work else "note",
        text=f"half of the iterations last over {OUTLIER_FACTOR:.0f} times as long as the fastest "
        "tenth",
        advice="most of them were disturbed, so the median is no baseline and outliers count "
        "against a slow one: repeat on a quiet machine"
        if times.same_work
        else "iterations do different work, or most were disturbed: then the median is no "
        "baseline, and outliers count against a slow one",
        doubts=MARKED,
    )


def advice_on_outliers(times: BodyTimes, early: bool) -> str:
    """Return the advice on outliers, which depends on their place and on what a body does."""
    if early:
        return "the first iterations do one-time work (compile, allocate, connect): " + (
            "warm up longer (--warmup 2)" if times.same_work else "start recording at a later one"
        )
    if times.same_work:
        return (
            "the solver does the same work in each of these iterations, so something delayed them: "
            "'hindmost plot' shows when and where"
        )
    return (
        "something else used the machine, or these iterations do more (output, a checkpoint): "
        "'hindmost plot' shows when and where"
    )


def longest_stretch(flags: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of true values."""
    borders = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return int((borders[1::2] - borders[::2]).max(initial=0))
