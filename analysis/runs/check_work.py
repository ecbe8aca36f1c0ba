"""The own work of the ranks, read in one pass: iterations that come back longer, and growth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.efficiency.withheld import mpi_unseen
from hindmost.analysis.runs.finding import Remark, Topic
from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.harness.runfile.all_ranks import columns_of
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.models.recurring import Recurring, as_by_clock, find_recurring, places_of_rules
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
        place = run.position if run.restarts else np.zeros(len(work), np.int32)
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


def growth_of(values: NDArray[np.float64], place: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the change from the first quarter to the last: float64, shape (rank,), a share.

    Parameters
    ----------
    values : float64 array, shape (iteration, rank)
    place : int array, shape (iteration,)
        In the restart cycle.
    """
    relative = values / np.maximum(np.median(values, axis=0), np.finfo(float).tiny)
    _, which, counts = np.unique(place, return_inverse=True, return_counts=True)
    if counts.size > 1 and 2 * counts.size < len(values):
        order = np.argsort(which, kind="stable")
        for rows in np.split(order, np.cumsum(counts)[:-1]):
            usual = np.median(values[rows], axis=0)
            relative[rows] = values[rows] / np.maximum(usual, np.finfo(float).tiny)
    quarter = max(len(values) // QUARTERS, 1)
    before, after = (np.median(part, axis=0) for part in (relative[:quarter], relative[-quarter:]))
    return np.asarray(after / np.maximum(before, np.finfo(float).tiny) - 1.0)


def look_at_recurring(work: WorkCourse, iterations: int, whole_s: float) -> Iterator[Remark]:
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
        yield Remark(
            code="recurring",
            severity="note",
            text=f"{words} is {longer} longer on {named(work.ranks[list(each.columns)])}: "
            f"{seconds(each.cost_s)}, {percent(share)} of the time{doubt}",
            advice="the program does this itself, as output or a checkpoint: do it less often, or "
            "asynchronously; no other number counts it as noise or as outliers",
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
            "if they are counted, tell which"
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
