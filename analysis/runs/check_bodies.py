"""Checks of the bodies of a run, read in one pass: drift, outliers and slow stretches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.check_work import WorkCourse, look_at_recurring, whose_drift
from hindmost.analysis.runs.finding import Remark, Topic
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.harness.runfile.reader import Run
from hindmost.models.recurring import excess_of, rules_in
from hindmost.text import percent

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
QUARTERS = 4
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
        relative = relative_to_place(self._run, every)
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


def relative_to_place(run: Run, slowest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slowest rank of every body, relative to the median of its place in the cycle.

    Parameters
    ----------
    slowest : float64 array, shape (iteration,), seconds

    Returns
    -------
    float64 array, shape (iteration,)
    """
    if not slowest.size:
        return slowest
    typical = np.full(slowest.size, np.median(slowest))
    position = run.position if run.restarts else np.zeros(slowest.size, np.int32)
    order = np.argsort(position, kind="stable")
    borders = np.flatnonzero(np.diff(position[order])) + 1
    if 2 * borders.size < slowest.size:  # else there is nothing at a place to compare with
        for members in np.split(order, borders):
            typical[members] = np.median(slowest[members])
    return np.asarray(slowest / np.maximum(typical, np.finfo(float).tiny))


def look_at_bodies(times: BodyTimes, work: WorkCourse | None = None) -> Iterator[Remark]:
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
        yield Remark(
            code="drift",
            severity="error" if abs(drift) > DRIFT_DOMINATES else "note",
            text=f"bodies of the last quarter take {percent(abs(drift), 0)} "
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
        yield Remark(
            code="slow-stretch",
            severity="note",
            text=f"{longest * SLOW_BLOCK} consecutive bodies are over {SLOW_FACTOR} times as slow",
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


def find_outliers(times: BodyTimes) -> Iterator[Remark]:
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
    yield Remark(
        code="outliers",
        severity="error" if share > DOMINATES else "note",
        text=f"{count} bod{'y lasts' if count == 1 else 'ies last'} over {OUTLIER_FACTOR:.0f} "
        f"times the median, {percent(share)} of the time",
        advice=advice_on_outliers(times, early > 0.5),
        doubts=MARKED,
    )


def find_no_baseline(times: BodyTimes) -> Iterator[Remark]:
    """Find runs in which most bodies are slow, so that the median hides how many."""
    fastest = float(np.quantile(times.relative, FASTEST))
    if not float(np.median(times.relative)) > OUTLIER_FACTOR * fastest:
        return
    yield Remark(
        code="no-baseline",
        severity="error" if times.same_work else "note",
        text=f"half of the bodies last over {OUTLIER_FACTOR:.0f} times as long as the fastest "
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
            "the solver does the same work in each of these bodies, so something delayed them: "
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
