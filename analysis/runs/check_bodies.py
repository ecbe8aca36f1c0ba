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
from hindmost.analysis.runs.finding import SPOILS, WORTH_SAYING, Finding, Topic
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY, Block, Wanted, tallied
from hindmost.analysis.show.phrases import longer_words
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.models.inference import MATTERS
from hindmost.models.ranks.growth import WorkGrowth
from hindmost.models.recurring import (
    Recurring,
    excess_of,
    find_recurring,
    places_of_rules,
    rules_in,
)
from hindmost.text import counted, percent, seconds

MAX_NAMED = 4
"""Ranks that a sentence names."""
MIN_BODIES = 100
"""Iterations that medians and laws need."""
LONG = 3.0
"""Times the median at its place in the restart cycle, from which on an iteration is an outlier."""
SLOW, SLOW_BLOCK = 1.25, 90
"""Times the median, from which on so many consecutive iterations are a slow stretch."""
MARKED = (Topic.TIMES, Topic.MODELS, Topic.COMPARISON)
Some = tuple[NDArray[np.intp], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCourse:
    """The own work of the ranks over a run.

    Attributes
    ----------
    ranks : int array, shape (rank,)
        Those that were looked at.
    change : float64 array, shape (rank,)
        That of the median work from the first quarter to the last, relative to its place in the
        restart cycle, as a share.
    growth : WorkGrowth or None
    recurring : tuple of Recurring
        Columns are numbers of ranks.
    """

    ranks: NDArray[np.intp]
    change: NDArray[np.float64]
    growth: WorkGrowth | None = None
    recurring: tuple[Recurring, ...] = ()


def read_work_course(run: Run) -> WorkCourse | None:
    """Read the own work of a run block by block; None if waiting cannot be told from it."""
    return None if mpi_unseen(run) else tallied(run, Wanted(WorkCourseTally, checked=False))


class WorkCourseTally:
    """The own work of some ranks, without injected noise."""

    def __init__(self, run: Run) -> None:
        self._run = run
        most = max(MAX_IN_MEMORY // max(run.bodies, 1), 1)
        spread = np.linspace(0, run.columns - 1, min(run.columns, most))
        self._columns = np.unique(spread.astype(np.intp))
        self._work: list[NDArray[np.float64]] = []

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        work = block.work[:, self._columns]
        if self._run.has(INJECTED):
            work = np.maximum(work - block.variable(INJECTED)[:, self._columns], 0.0)
        self._work.append(np.array(work, np.float64))

    def result(self) -> WorkCourse:
        """Return the course of the work."""
        ranks = np.asarray(self._run.kept_ranks, np.intp)[self._columns]
        if not self._work:
            return WorkCourse(ranks=ranks, change=np.zeros(ranks.size))
        work, place = np.concatenate(self._work), places_of(self._run)
        return WorkCourse(
            ranks=ranks,
            change=change_of(work, place),
            growth=WorkGrowth.of(work, np.arange(len(work))),
            recurring=tuple(
                replace(each, columns=tuple(ranks[list(each.columns)].tolist()))
                for each in find_recurring(work, place)
            ),
        )


def recurring_of(run: Run) -> tuple[Recurring, ...]:
    """Return which whole iterations of a run come back longer; columns are numbers of ranks."""
    if not (run.has(INJECTED) or recurs(read_body_times(run))):
        return ()
    course = read_work_course(run)
    return () if course is None else course.recurring


def places_of(run: Run) -> NDArray[np.integer[Any]]:
    """Return the place of every iteration in the restart cycle; all 0 without restarts."""
    return run.position if run.restarts else np.zeros(run.bodies, np.int32)


def quarters_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return medians of the first and last quarter: (iteration, ...) to float64 (2, ...)."""
    quarter = max(len(values) // 4, 1)
    return np.array([np.median(part, axis=0) for part in (values[:quarter], values[-quarter:])])


def change_of(values: NDArray[np.float64], place: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the change from the first quarter to the last: float64, shape (rank,), a share.

    Parameters
    ----------
    values : float64 array, shape (iteration, rank)
    place : int array, shape (iteration,)
        In the restart cycle.
    """
    before, after = quarters_of(relative_to_place(values, place))
    return np.asarray(after / np.maximum(before, np.finfo(float).tiny) - 1.0)


def check_recurring(work: WorkCourse, iterations: int, whole_s: float) -> Iterator[Finding]:
    """Say which iterations come back longer, and what they cost.

    Parameters
    ----------
    whole_s : float
        Time of all iterations.
    """
    for each in work.recurring:
        share = each.cost_s / whole_s if whole_s > 0.0 else 0.0
        if share < WORTH_SAYING:
            continue
        yield Finding(
            code="recurring",
            severity="note",
            text=f"{each.rule.explain(iterations)} is {longer_words(each)} longer on "
            f"{named(np.array(each.columns))}: {seconds(each.cost_s)}, "
            f"{percent(share)} of the time",
            advice="if the program does this itself, as output or a checkpoint: do it less often, "
            "or asynchronously; no other number counts it as noise or as outliers",
            doubts=(Topic.MODELS,),
        )


def whose_drift(work: WorkCourse | None, drift: float) -> str:
    """Say whose own work drifts; empty where that is not known.

    Parameters
    ----------
    drift : float
        Change of the time of an iteration from the first quarter to the last.
    """
    if work is None or not work.ranks.size:
        return ""
    changed = np.flatnonzero(np.sign(drift) * work.change > MATTERS)
    verb = "grew" if drift > 0.0 else "fell"
    if not changed.size:
        return f"; no rank's own work {verb} by over {percent(MATTERS, 0)}, so time in MPI did"
    if changed.size == work.ranks.size > MAX_NAMED:
        change = percent(abs(float(np.median(work.change))), 0)
        return f"; own work {verb} on all {changed.size} ranks by {change} (median)"
    order = changed[np.argsort(-np.abs(work.change[changed]), kind="stable")]
    each = ", ".join(
        f"rank {work.ranks[at]} by {percent(abs(float(work.change[at])), 0)}"
        for at in order[:MAX_NAMED]
    )
    more = f" and {changed.size - MAX_NAMED} more" if changed.size > MAX_NAMED else ""
    return f"; own work {verb} on {each}{more}, of {counted(work.ranks.size, 'rank')}"


def named(ranks: NDArray[np.intp]) -> str:
    """Write ranks: ``rank 0``, ``ranks 0, 1``, ``32 ranks (0, 1, 2, 3, …)``."""
    listed = ", ".join(str(rank) for rank in ranks[:MAX_NAMED])
    if ranks.size == 1:
        return f"rank {listed}"
    if ranks.size <= MAX_NAMED:
        return f"ranks {listed}"
    return f"{counted(ranks.size, 'rank')} ({listed}, …)"


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
    rank_quarters : float64 array, shape (2, rank)
        Every rank's median body in the first and in the last quarter, relative to its place.
    """

    slowest: NDArray[np.float64]
    relative: NDArray[np.float64]
    rank_s: NDArray[np.float64]
    rank_quarters: NDArray[np.float64]

    @property
    def drift(self) -> float:
        """Change of the median body from the first quarter to the last, as a share.

        A few slow bodies on each of several ranks make many of the slowest of a body, and a rank
        whose work alternates has no typical body: what both views show is drift.
        """
        first, last = quarters_of(self.relative)
        before, after = self.rank_quarters.max(axis=1)
        seen = (float(last / first) - 1.0, float(after / before) - 1.0)
        return min(seen, key=abs) if seen[0] * seen[1] > 0.0 else 0.0


def check_work(times: BodyTimes) -> bool:
    """Tell whether the ranks' own work may explain the times: they drift, or long ones recur."""
    return times.slowest.size >= MIN_BODIES and (abs(times.drift) > MATTERS or recurs(times))


def recurs(times: BodyTimes) -> bool:
    """Tell whether the slowest rank's time is longer after every so many iterations."""
    if times.slowest.size < MIN_BODIES:
        return False
    return bool(rules_in(excess_of(times.relative, np.zeros(times.slowest.size, np.int32))))


def read_body_times(run: Run) -> BodyTimes:
    """Read the bodies of a run block by block, once."""
    return tallied(run, Wanted(BodyTimesTally, checked=False))


class BodyTimesTally:
    """The bodies of a run, reduced block by block."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._slowest, self._rank_s = [np.empty(0)], np.zeros(run.columns)
        self._stride = -(-run.bodies * run.columns // MAX_IN_MEMORY) or 1
        self._quarter = run.bodies // 4
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
        if self._run.bodies >= MIN_BODIES:
            for at, part in enumerate(self._parts):
                bodies = np.concatenate([each for each, _ in part])
                durations = np.concatenate([each for _, each in part])
                if bodies.size:
                    quarters[at] = np.median(durations / typical[bodies, None], axis=0)
        return BodyTimes(
            slowest=every, relative=relative, rank_s=self._rank_s, rank_quarters=quarters
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


def check_bodies(times: BodyTimes, work: WorkCourse | None = None) -> Iterator[Finding]:
    """Find recurring iterations, drift, outliers and slow stretches.

    Parameters
    ----------
    work : WorkCourse or None
        Own work of the ranks, if it is known.
    """
    if work is not None:
        yield from check_recurring(work, times.slowest.size, float(times.rank_s.max()))
        times = apart_from_recurring(times, work)
    yield from find_outliers(times)
    if times.slowest.size < MIN_BODIES:
        return
    relative, drift = times.relative, times.drift
    if abs(drift) > MATTERS:
        yield Finding(
            code="drift",
            severity="error" if abs(drift) > SPOILS else "note",
            text=f"iterations of the last quarter take {percent(abs(drift), 0)} "
            f"{'more' if drift > 0.0 else 'less'} time than those of the first (medians)"
            f"{whose_drift(work, drift)}",
            advice="find out whether the program does other work later (a domain, a list, messages "
            "that grow; instructions per iteration tell), or the machine changed (frequency, other "
            "programs): then warm up longer, or repeat",
            doubts=MARKED,
        )
    whole = relative[: relative.size // SLOW_BLOCK * SLOW_BLOCK]
    slow = np.median(whole.reshape(-1, SLOW_BLOCK), axis=1) > SLOW
    if slow.any():
        yield Finding(
            code="slow-stretch",
            severity="note",
            text=f"{SLOW_BLOCK * int(slow.sum())} iterations, at least {SLOW_BLOCK} in a row, are "
            f"over {SLOW} times as slow, the first of them from iteration "
            f"{SLOW_BLOCK * int(slow.argmax())} on",
            advice="something else used the machine, its frequency fell, or these iterations do "
            "more: leave the run out, or model the stretch separately",
            doubts=MARKED,
        )


def apart_from_recurring(times: BodyTimes, work: WorkCourse) -> BodyTimes:
    """Return the bodies with those that recur compared with each other."""
    places = places_of_rules([each.rule for each in work.recurring], times.slowest.size)
    relative = times.relative.copy()
    for each in np.unique(places[places > 0]):
        rows = np.flatnonzero(places == each)
        relative[rows] /= max(float(np.median(relative[rows])), 1.0)
    return replace(times, relative=relative)


def find_outliers(times: BodyTimes) -> Iterator[Finding]:
    """Find bodies far slower than others at their place in the cycle, and their share of time.

    Above `SPOILS` they are an error: without them the solve would be shorter by more than repeats
    may differ, so means and comparisons are meaningless.
    """
    relative, slowest = times.relative, times.slowest
    outliers = relative > LONG
    count = int(np.count_nonzero(outliers))
    if not count:
        return
    excess = slowest[outliers] * (1.0 - 1.0 / relative[outliers])
    share = float(excess.sum() / slowest.sum())
    if share <= WORTH_SAYING:
        return
    yield Finding(
        code="outliers",
        severity="error" if share > SPOILS else "note",
        text=f"{counted(count, 'iteration')} last{'s' if count == 1 else ''} over "
        f"{LONG:.0f} times the median; what exceeds the median is {percent(share)} of the time",
        advice="something delayed them, or they do more (one-time work at first, output, a "
        "checkpoint): 'hindmost plot' shows when and where; warm up longer, or repeat on an idle "
        "machine",
        doubts=MARKED,
    )
