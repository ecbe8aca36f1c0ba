"""A run file as models take it, and results of whole runs from one reading of a file in blocks.

A *tally* goes through the bodies of a run block by block and has its result after the last one.
`tallied` returns the result of one. Of those that `read_together` announced, the first one that is
asked for reads the file for all, and each block is read and prepared once. Results are kept as long
as the run is open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.read import incomplete, reduced, why_not_alike
from hindmost.errors import DamagedFileError, DataError, HindmostError, UsageError
from hindmost.harness.runfile.all_ranks import profiles_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run, check_values
from hindmost.harness.runfile.schema import VARIABLE
from hindmost.models.events import EventKind
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.cycle_places import SKEWED
from hindmost.models.noise.times import AllRanks, Digest, Events, SolveTimes
from hindmost.models.simulation.blocks import (
    EventBlock,
    Neighbours,
    absent_ranks,
    cycles_of_unknown,
    whole_bodies,
)
from hindmost.models.simulation.recorded import exchanges_meet


def bodies_s(run: Run) -> NDArray[np.float64]:
    """Return the time of all bodies of every rank: float64, shape (rank,), seconds."""
    if run.reduced:
        return np.asarray(profiles_of(run).sum(axis=(0, 2)))
    between = run.lead_in + run.restart_durations.sum(axis=0) + run.lead_out
    return np.asarray(run.solve_time - between)


def all_ranks_of(run: Run) -> AllRanks:
    """Read the sums and extremes of all ranks of a reduced run.

    Raises
    ------
    DamagedFileError
        Numbers that cannot be of the bodies of all ranks.
    """
    least, most, mean = (run.variable(f"all_{name}") for name in ("least", "most", "mean"))
    count, point, deviation = (
        run.variable(f"all_bin_{name}") for name in ("count", "mean", "deviation")
    )
    fill = run.kind == BodyKind.FILL
    counted = ~fill if not fill.all() else np.ones(run.bodies, np.bool_)
    bodies = int(np.count_nonzero(counted)) * run.header.ranks
    if int(count.sum()) != bodies:
        raise DamagedFileError(
            f"{run.path}: 'all_bin_count' counts {int(count.sum())} iterations; "
            f"{run.header.ranks} ranks have {bodies}."
        )
    if (np.diff(point) < 0.0).any():
        raise DamagedFileError(f"{run.path}: 'all_bin_mean' should ascend.")
    if not (least <= most).all() or least.min() <= 0.0:
        raise DamagedFileError(
            f"{run.path}: 'all_least' should lie above 0 and nowhere above 'all_most'."
        )
    sample = Sample(
        point=point,
        count=count.astype(np.float64),
        variance=np.square(deviation, dtype=np.float64),
        smallest=float(least[counted].min()),
        largest=float(most[counted].max()),
    )
    return AllRanks(
        ranks=run.header.ranks,
        kept=run.kept_ranks,
        total_s=bodies_s(run),
        digest=Digest(fastest=least, slowest=most, middle=mean, sample=sample),
    )


def edges_of_columns(run: Run) -> Edges:
    """Return the halos between the ranks that have columns, by column."""
    edges = run.edges
    if not run.reduced:
        return edges
    column = np.full(run.header.ranks, -1, np.int32)
    column[run.kept_ranks] = np.arange(run.columns, dtype=np.int32)
    source, target = column[edges.source], column[edges.target]
    both = (source >= 0) & (target >= 0)
    return Edges(source=source[both], target=target[both], bytes=edges.bytes[both])


class Block:
    """Some bodies of a run, on the columns that the file has; what is asked for is read once.

    Attributes
    ----------
    run : Run
    rows : slice
    """

    def __init__(self, run: Run, rows: slice) -> None:
        self.run, self.rows = run, rows
        self._read: dict[str, NDArray[Any]] = {}

    def variable(self, name: str) -> NDArray[Any]:
        """Return these rows of a variable; raise a DataError if the run lacks it."""
        if name not in self._read:
            self._read[name] = self.run.variable(name, self.rows)
        return self._read[name]

    @property
    def start(self) -> NDArray[np.float64]:
        """Starts since the barrier: float64, shape (row, rank), seconds."""
        return self.variable("start")

    @property
    def duration(self) -> NDArray[np.float64]:
        """Times of the bodies: float64, shape (row, rank), seconds."""
        return self.variable("duration")

    @property
    def phases(self) -> NDArray[np.floating[Any]]:
        """Times of their phases: float, shape (row, rank, phase), seconds."""
        return self.variable("phase_duration")

    @cached_property
    def work(self) -> NDArray[np.float64]:
        """Own work, see `Run.work_in`: float64, shape (row, rank), seconds."""
        return self.run.own_work(self.phases)

    @cached_property
    def phases_of_ranks(self) -> NDArray[np.float64]:
        """Times of the phases, summed over these bodies: float64, shape (rank, phase), seconds."""
        return np.asarray(self.phases.sum(axis=0, dtype=np.float64))

    def prepare(self) -> None:
        """Read and sum up now what most of those take who go through a run."""
        for name in ("start", "duration", "work", "phases_of_ranks"):
            getattr(self, name)

    @cached_property
    def events(self) -> EventBlock:
        """Their events; those of whole bodies where none were kept."""
        if not self.run.has("event_kind"):
            return whole_bodies(self.work, self.run.header.lag, self.cycle_begins)
        work, duration = self.variable("event_work"), self.variable("event_duration")
        rest = self.duration - work.sum(axis=2, dtype=np.float64)
        rest -= duration.sum(axis=2, dtype=np.float64)
        kind = self.variable("event_kind")
        return EventBlock(
            kind=kind,
            work=work,
            duration=duration,
            rest=np.maximum(rest, 0.0),
            cycle_begins=self.cycle_begins,
            absent=absent_ranks(kind, work, duration),
            group=self.group,
            behind=self.behind,
        )

    @cached_property
    def cycle_begins(self) -> NDArray[np.bool_]:
        """Bodies before which all ranks meet: bool, shape (row,)."""
        begins = np.asarray(self.run.position[self.rows] == 0)
        if not self.run.has("event_kind") or not begins.size:
            return begins
        first = max((self.rows.start or 0) - 1, 0)
        kind = self.run.variable("event_kind", slice(first, self.rows.stop))
        return np.asarray(begins | cycles_of_unknown(kind)[-begins.size :])

    @property
    def behind(self) -> NDArray[np.int32] | None:
        """How far behind the message is that a receipt needs, see `EventBlock`."""
        if not self.run.has("event_behind"):
            return None
        behind = self.variable("event_behind")
        check_values(self.run.path, VARIABLE["event_behind"], behind, self.run.columns)
        return behind

    @property
    def group(self) -> NDArray[np.int32] | None:
        """Whom ranks need at events, see `EventBlock`: compiled loops rely on it."""
        group, needs = None, None
        if self.run.has("event_group"):
            group = self.variable("event_group")
            check_values(self.run.path, VARIABLE["event_group"], group, self.run.columns)
        if self.run.has("event_needs"):
            needs = self.variable("event_needs")
        if group is None or needs is None:
            return needs if group is None else group
        return np.where(self.variable("event_kind")[:, None, :] == EventKind.RECEIVE, needs, group)


def clock_uncertainty(run: Run) -> float:
    """Return the uncertainty of the common clock of two ranks, in seconds."""
    return 2.0 * float(run.variable("clock_uncertainty").max())


MANY = 1 << 20
"""Events of the first bodies of all ranks that show by which rule exchanges end; and bodies of all
ranks from which on tallies go through a run side by side."""


def exchanges_meet_in(run: Run) -> bool:
    """Tell whether receipts of halos in a run file last until the neighbours come to their own.

    See `hindmost.models.simulation.recorded`. The MPI library decides that, so the first bodies
    stand for all.
    """
    if not run.has("event_kind") or not edges_of_columns(run).source.size:
        return False
    block = first_bodies(run)
    return exchanges_meet(block.start, block.events, neighbours_in(run), clock_uncertainty(run))


def neighbours_in(run: Run) -> Neighbours:
    """Return whose halos the columns of a run wait for."""
    edges = edges_of_columns(run)
    return Neighbours.of_edges(run.columns, edges.source, edges.target)


def first_bodies(run: Run) -> Block:
    """Return as many of the first bodies as tell by which rules a run goes."""
    bodies, events = run.shape("event_kind")
    enough = MANY // max(events * run.columns, 1)
    return Block(run, slice(0, min(max(enough, 1), bodies)))


Result = TypeVar("Result")
Given = TypeVar("Given", covariant=True)


class Tally(Protocol[Given]):
    """Goes through the bodies of a run, in their order."""

    def add(self, block: Block) -> None:
        """Take the next bodies."""

    def result(self) -> Given:
        """Return the result, after the last body."""


@dataclass(frozen=True, slots=True)
class Wanted(Generic[Result]):
    """A tally that is wanted of a run: what makes it, from the run and from what it is given.

    Attributes
    ----------
    make : callable
        A class of tallies.
    given : tuple
        Arguments after the run; hashable.
    checked : bool
        Whether the times must be verified.
    large : bool
        Whether the result is large, and kept until another run is read.
    """

    make: Callable[..., Tally[Result]]
    given: tuple[Any, ...] = ()
    checked: bool = True
    large: bool = False


READ: WeakSet[Run] = WeakSet()
"""Runs with results."""


def read_together(run: Run, wanted: Iterable[Wanted[Any]]) -> None:
    """Let the first of these tallies that is asked for read the run for all of them."""
    run.to_read = tuple(wanted)


def tallied(run: Run, wanted: Wanted[Result]) -> Result:
    """Return the result of a tally: known, or read now, together with others.

    Raises
    ------
    DamagedFileError, DataError
        Impossible times, or what the tally raises.
    """
    if wanted not in run.results:
        for other in READ - {run}:
            for each in [result for result in other.results if result.large]:
                del other.results[each]
        READ.add(run)
        if wanted in run.to_read:
            together, run.to_read = run.to_read, ()
            run.results.update(read_once(run, together))
    if wanted not in run.results:
        tally = wanted.make(run, *wanted.given)
        read_blocks(run, tally.add, checked=wanted.checked)
        run.results[wanted] = tally.result()
    return cast(Result, run.results[wanted])


def read_once(run: Run, wanted: Iterable[Wanted[Any]]) -> dict[Wanted[Any], Any]:
    """Read a run for several tallies; those that its bodies do not allow are left out.

    The tallies of a large run go through a block side by side, while the next one is read. Each
    takes the blocks in their order, so that its result is the same on any number of cores.
    """
    tallies: dict[Wanted[Any], Tally[Any]] = {}
    for each in wanted:
        with leaving_out(tallies, each):
            tallies[each] = each.make(run, *each.given)
    checked = any(tally.checked for tally in tallies)

    def add(each: Wanted[Any], block: Block) -> None:
        with leaving_out(tallies, each):
            tallies[each].add(block)

    cores = min(len(os.sched_getaffinity(0)), len(tallies))
    if cores < 2 or run.bodies * run.columns < MANY:

        def add_to_all(block: Block) -> None:
            for each in list(tallies):
                add(each, block)

        read_blocks(run, add_to_all, checked=checked)
    else:
        with ThreadPoolExecutor(cores) as pool:
            under_way: list[Future[None]] = []

            def add_side_by_side(block: Block) -> None:
                block.prepare()
                finish(under_way)
                under_way.extend(
                    pool.submit(copy_context().run, add, tally, block) for tally in list(tallies)
                )

            read_blocks(run, add_side_by_side, checked=checked)
            finish(under_way)
    results: dict[Wanted[Any], Any] = {}
    for each, tally in list(tallies.items()):
        with leaving_out(tallies, each):
            results[each] = tally.result()
    return results


def finish(under_way: list[Future[None]]) -> None:
    """Wait for all that is under way; raise what it raises."""
    while under_way:
        under_way.pop().result()


@contextmanager
def leaving_out(tallies: dict[Wanted[Any], Tally[Any]], wanted: Wanted[Any]) -> Iterator[None]:
    """Leave a tally out that fails: it fails again where its result is asked for."""
    try:
        yield
    except HindmostError:
        tallies.pop(wanted, None)


def read_blocks(run: Run, take: Callable[[Block], None], *, checked: bool = False) -> None:
    """Read the bodies of a run block by block, of which only one is in memory at a time.

    Parameters
    ----------
    take : callable
        Is called with every block.
    checked : bool
        Verify all times on the way, unless they were; see `Run.verify`.
    """
    checked = checked and not run.verified
    for rows in run.blocks():
        block = Block(run, rows)
        if checked:
            run.verify_bodies(block.start, block.duration, block.phases)
        take(block)
        del block  # before the next one is read
    if checked:
        run.verify_rest()


MAX_IN_MEMORY = 8 << 20
"""Bodies of all ranks up to which a run is read at once, and each is looked at; beyond it rows are
read as needed, or some ranks looked at."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a run file, read when they are asked for.

    Attributes
    ----------
    shape : tuple of int
        Of all of them.
    read : callable
        Reads some rows.
    """

    shape: tuple[int, ...]
    read: Callable[[slice], NDArray[Any]]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Read some rows."""
        return self.read(rows)


def rows_of(run: Run, name: str) -> FileRows:
    """Return the rows of a variable."""
    return FileRows(run.shape(name), partial(run.variable, name))


def groups_in(run: Run, rows: slice) -> NDArray[np.int32]:
    """Read whom ranks need at events, of a run that says so."""
    group = Block(run, rows).group
    assert group is not None
    return group


def ranks_meet(run: Run) -> bool:
    """Tell whether the bodies of all ranks sum to the same time, as where each waits for all."""
    every_s = bodies_s(run)
    return bool(every_s.max() <= (1.0 + SKEWED) * every_s.mean())


def solve_times(run: Run, *, some_ranks: bool = False) -> SolveTimes:
    """Turn a run file into what the stochastic models take.

    Parameters
    ----------
    some_ranks : bool
        Take a run with full records of some ranks too, with what it says of all of them.

    Raises
    ------
    DataError
        The run is incomplete, or has full records of some ranks only.
    UsageError
        It is adaptive: its cycles do not do the same.
    """
    if run.header.workload == ADAPTIVE:
        raise UsageError(why_not_alike(run))
    if not run.header.complete:
        raise DataError(incomplete(run))
    if run.reduced and not some_ranks:
        raise DataError(reduced(run))
    run.verify()
    edges = edges_of_columns(run)
    restarts = np.median(run.restart_durations, axis=1)
    between = run.lead_in + run.restart_durations.sum(axis=0) + run.lead_out
    # Where ranks do not wait for each other in every body, the slowest says how long the solve is.
    slowest = np.argmax(run.solve_time - between)
    between_s = np.median(between) if ranks_meet(run) else between[slowest]
    events = None
    if run.has("event_kind"):
        grouped = run.has("event_group") or run.has("event_needs")
        shape = run.shape("event_work")
        events = Events(
            kind=run.variable("event_kind"),
            work=rows_of(run, "event_work"),
            duration=rows_of(run, "event_duration"),
            group=FileRows(shape, partial(groups_in, run)) if grouped else None,
            behind=rows_of(run, "event_behind") if run.has("event_behind") else None,
        )
    large = run.bodies * run.columns > MAX_IN_MEMORY
    return SolveTimes(
        durations=rows_of(run, "duration") if large else run.durations,
        work=FileRows((run.bodies, run.columns), run.work_in) if large else run.work,
        restarts=np.asarray(restarts, np.float64),
        events=events,
        restart=run.header.restart,
        solver_iterations=run.header.iterations,
        drain=run.kind == BodyKind.DRAIN,
        fill=run.kind == BodyKind.FILL,
        position=run.position,
        between_s=float(between_s),
        edge_source=edges.source,
        edge_target=edges.target,
        synchronisation=run.header.synchronisation,
        lag=run.header.lag,
        solve_time_s=run.solve_time_s,
        all_ranks=all_ranks_of(run) if run.reduced else None,
    )
