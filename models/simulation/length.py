"""A recorded solve with more or fewer iterations, or restart cycles of another length.

Its bodies are recorded ones, with their noise. Every recorded cycle is replayed once, cut or
continued to the new length, and counts as often as the new solve has cycles per recorded one; ranks
meet between cycles, so a solve of any length costs no more than the recorded one. Places that no
cycle reached are bodies of the last recorded places, with the growth of work over the places. A
restart is an update of the solution, in proportion to the cycle, and a residual, which costs as
much as a first body. A solver that does not restart goes on as in its second half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.memory import MemoryLevels, VectorGrowth

Times = NDArray[np.float64]

MOST_VALUES = 1 << 23
"""Events of all ranks in all continued cycles that are held in memory, with some copies."""
MOST_ENDS = 16
"""Cycles that stand for the last one, which is shorter."""
FEWEST_PLACES = 3
"""Places that a line needs."""
UPPER = 3
"""The line goes through the last of as many parts of the places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveShape:
    """What a solve consists of.

    Attributes
    ----------
    solver : str
    iterations : int
        By the solver's own count.
    restart : int
        Length of a cycle in iterations; 0 for solvers that do not restart.
    drain : bool array, shape (iteration,)
        Bodies that only drain a pipeline (epilogue).
    extra : int
        Bodies of a cycle beyond its iterations; a pipelined solver fills its pipeline (prologue).
    unknowns : int
        Of the system; 0 if not known.
    vector_bytes : float
        Of a vector on a rank; 0 if not known.
    preconditioner : float
        Vectors that the preconditioner reads and writes; 0 if not known.
    memory : MemoryLevels or None
        Of the machine; None if not probed.
    matrix : float
        Vectors that take as much memory as the matrix; 0 if not known.
    """

    solver: str
    iterations: int
    restart: int
    drain: NDArray[np.bool_]
    extra: int = 0
    unknowns: int = 0
    vector_bytes: float = 0.0
    preconditioner: float = 0.0
    memory: MemoryLevels | None = None
    matrix: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleCounts:
    """How often the cycles of a program count.

    Attributes
    ----------
    times : float64 array, shape (cycle,)
        Of the cycle itself.
    before : float64 array, shape (cycle,)
        Of the time before it.
    more_s : float
        Time of the solve that no cycle has, in seconds: restarts.
    """

    times: NDArray[np.float64]
    before: NDArray[np.float64]
    more_s: float = 0.0

    @classmethod
    def once(cls, cycles: int) -> CycleCounts:
        """Return the counts of the recorded solve."""
        return cls(times=np.ones(cycles), before=np.ones(cycles))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The bodies of a solve of another length.

    Attributes
    ----------
    rows : int array, shape (iteration,)
        Recorded bodies, one after the other.
    place : int array, shape (iteration,)
        The place in the cycle that each stands for.
    cycle_begins : bool array, shape (iteration,)
    between : float64 array, shape (cycle, rank), seconds
        See `hindmost.models.simulation.program.Program`.
    counts : CycleCounts
    """

    rows: NDArray[np.intp]
    place: NDArray[np.int32]
    cycle_begins: NDArray[np.bool_]
    between: Times
    counts: CycleCounts

    def block(
        self,
        recorded: EventBlock,
        position: NDArray[np.int32],
        drain: NDArray[np.bool_],
        growth: Growth,
    ) -> EventBlock:
        """Return the events of these bodies.

        Parameters
        ----------
        recorded : EventBlock
        position, drain : array, shape (recorded iteration,)
        growth : Growth
        """
        rows = self.rows
        work, rest = recorded.work[rows], recorded.rest[rows]
        new = np.flatnonzero((self.place > position[rows]) & ~drain[rows])
        if new.size:
            was, now = position[rows[new]], self.place[new]
            more = growth.work(now) - growth.work(was)
            work, rest = np.array(work, np.float64), np.array(rest, np.float64)
            # Noise is kept, and no body takes less than nothing.
            work[new] = np.maximum(work[new] + more, 0.0)
            rest[new] = np.maximum(rest[new] + growth.rest(now) - growth.rest(was), 0.0)
        return EventBlock(
            kind=recorded.kind[rows],
            work=work,
            duration=recorded.duration[rows],
            rest=rest,
            cycle_begins=self.cycle_begins,
            absent=None if recorded.absent is None else recorded.absent[rows],
            group=None if recorded.group is None else recorded.group[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How work grows over the places of a cycle, on every rank.

    Attributes
    ----------
    level_work, slope_work : float64 array, shape (rank, event), seconds
    level_rest, slope_rest : float64 array, shape (rank,), seconds
    scale : callable
        What work is in proportion to, at places of float64, shape (place,): the places themselves
        for a line, more than these where vectors leave a cache.
    """

    level_work: Times
    slope_work: Times
    level_rest: Times
    slope_rest: Times
    scale: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def work(self, place: NDArray[np.int32]) -> Times:
        """Return the work at some places: float64, shape (place, rank, event), seconds."""
        at = self.scale(np.asarray(place, np.float64))
        return np.asarray(self.level_work + self.slope_work * at[:, None, None])

    def rest(self, place: NDArray[np.int32]) -> Times:
        """Return the rest of the bodies there: float64, shape (place, rank), seconds."""
        at = self.scale(np.asarray(place, np.float64))
        return np.asarray(self.level_rest + self.slope_rest * at[:, None])


def growth_of_vectors(shape: SolveShape, position: NDArray[np.int32]) -> VectorGrowth | None:
    """Return how vectors cost more at further places; None if the memory was not probed."""
    if shape.memory is None or not shape.vector_bytes or not shape.restart:
        return None
    last = float(position[~shape.drain].max(initial=0))
    return VectorGrowth(levels=shape.memory, vector_bytes=shape.vector_bytes, last=last)


def fit_growth(
    block: EventBlock,
    position: NDArray[np.int32],
    drain: NDArray[np.bool_],
    scale: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> Growth:
    """Fit the growth of work to the medians of the last third of the places.

    Parameters
    ----------
    scale : callable, optional
        See `Growth`; a line if not given.
    """
    last = int(position[~drain].max(initial=0))
    alike = np.flatnonzero(~drain & np.all(block.kind == last_kind(block, position, drain), axis=1))
    places = np.unique(position[alike])
    places = places[places >= last + 1 - max(last // UPPER, 2)]
    work = np.stack([np.median(block.work[alike[position[alike] == at]], axis=0) for at in places])
    rest = np.stack([np.median(block.rest[alike[position[alike] == at]], axis=0) for at in places])
    at = places.astype(np.float64) if scale is None else scale(places.astype(np.float64))
    level_work, slope_work = line(at, work)
    level_rest, slope_rest = line(at, rest)
    return Growth(
        level_work=level_work,
        slope_work=slope_work,
        level_rest=level_rest,
        slope_rest=slope_rest,
        scale=scale or np.asarray,
    )


def last_kind(
    block: EventBlock, position: NDArray[np.int32], drain: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Return the events of the last place of a cycle: uint8, shape (event,)."""
    at = np.flatnonzero(~drain & (position == position[~drain].max(initial=0)))
    return np.asarray(block.kind[at[0]])


def line(at: NDArray[np.float64], values: Times) -> tuple[Times, Times]:
    """Return level and slope of lines through values: shape (place, ...); none falls.

    More vectors are never less work: a falling line is noise.
    """
    mean = values.mean(axis=0)
    away = at - at.mean()
    square = float((away**2).sum())
    if at.size < FEWEST_PLACES or square <= 0.0:
        return mean, np.zeros_like(mean)
    slope = np.tensordot(away, values, axes=1) / square
    slope = np.maximum(slope, 0.0)
    return np.asarray(mean - slope * at.mean()), np.asarray(slope)


def checked(shape: SolveShape | None, iterations: int | None, restart: int | None) -> SolveShape:
    """Return the shape of a solve of another length.

    Raises
    ------
    UsageError
        Less than one of either, a restart length for a solver that does not restart, or no solve.
    """
    if shape is None:
        raise UsageError("This run is not of one solve, so no other length can be replayed.")
    count = shape.iterations if iterations is None else iterations
    length = shape.restart if restart is None else restart
    if count < 1 or (shape.restart and length < 1):
        raise UsageError(f"{count} iterations in cycles of {length}; both must be at least 1.")
    if length and not shape.restart:
        raise UsageError("This solver does not restart, so it has no restart length.")
    return replace(shape, iterations=count, restart=length)


def choose_bodies(
    block: EventBlock,
    position: NDArray[np.int32],
    between: Times,
    shape: SolveShape,
    wanted: SolveShape,
) -> Chosen:
    """Choose recorded bodies for a solve of another length.

    Parameters
    ----------
    block : EventBlock
        As recorded.
    position : int array, shape (iteration,)
    between : float64 array, shape (cycle, rank), seconds
    shape, wanted : SolveShape
        Of the recorded solve and the other.
    """
    if not shape.restart:
        return choose_without_cycles(block, position, between, shape, wanted)
    return choose_cycles(block, position, between, shape, wanted)


def choose_without_cycles(
    block: EventBlock,
    position: NDArray[np.int32],
    between: Times,
    shape: SolveShape,
    wanted: SolveShape,
) -> Chosen:
    """Choose the first bodies of a solver without restarts, or more of its second half."""
    bodies = len(block.kind)
    regular, drains = np.flatnonzero(~shape.drain), np.flatnonzero(shape.drain)
    count = wanted.iterations + (bodies - shape.iterations) - drains.size
    if count <= regular.size:
        parts, times = [np.concatenate([regular[: max(count, 1)], drains])], [1.0]
    else:
        half = regular[regular.size // 2 :]
        # The repeated part comes first, so that the recorded end stays the end.
        parts = [half, np.concatenate([regular, drains])]
        times = [(count - regular.size) / half.size, 1.0]
    rows = np.concatenate(parts)
    before = np.zeros((len(parts), between.shape[1]))
    before[-1] = between[0]
    return Chosen(
        rows=rows,
        place=np.asarray(position[rows], np.int32),
        cycle_begins=begins_of([part.size for part in parts]),
        between=before,
        counts=CycleCounts(times=np.array(times), before=np.eye(len(parts))[-1]),
    )


def choose_cycles(
    block: EventBlock,
    position: NDArray[np.int32],
    between: Times,
    shape: SolveShape,
    wanted: SolveShape,
) -> Chosen:
    """Choose and continue the longest recorded cycles."""
    cycles = [np.arange(rows.start, rows.stop) for rows in block.cycles()]
    extra = shape.extra
    longest = max(cycle.size for cycle in cycles)
    whole = [at for at, cycle in enumerate(cycles) if cycle.size == longest]
    full, left = divmod(wanted.iterations, wanted.restart)
    bodies = wanted.restart + extra
    values = block.work.size // len(block.kind)
    room = max(MOST_VALUES // values, longest)
    used = spread(whole, min(room // max(bodies, 1), len(whole)))
    if not used:
        raise UsageError(
            f"Cycles of {wanted.restart:,} iterations are too long to replay; the most is "
            f"{room - extra:,}."
        )
    ends = spread(whole, min(MOST_ENDS, len(used)))
    plan = [(at, wanted.restart, full / len(used)) for at in used if full]
    plan += [(at, left, 1.0 / len(ends)) for at in ends if left]
    parts = [cycle_of_length(cycles[at], shape.drain, length + extra) for at, length, _ in plan]
    pauses = full + (left > 0) - 1
    # The lead-in comes before the first; restarts are added as a time.
    before = np.stack([between[at] - between[at].min() for at, _, _ in plan])
    # The typical first body of a cycle: that of the solve may find cold caches.
    firsts = [cycle[0] for cycle in cycles]
    first_s = float(np.median((block.work[firsts].sum(axis=2) + block.rest[firsts]).mean(axis=1)))
    pause_s = first_s
    if len(cycles) > 1:
        recorded_s = float(between[1:].min(axis=1).mean())
        residual_s = min(first_s, recorded_s)
        pause_s = residual_s + (recorded_s - residual_s) * wanted.restart / shape.restart
    rows = np.concatenate([part for part, _ in parts])
    return Chosen(
        rows=rows,
        place=np.concatenate([place for _, place in parts]),
        cycle_begins=begins_of([part.size for part, _ in parts]),
        between=before,
        counts=CycleCounts(
            times=np.array([times for _, _, times in plan]),
            before=np.zeros(len(plan)),
            more_s=float(between[0].min()) + pauses * pause_s,
        ),
    )


def spread(values: list[int], count: int) -> list[int]:
    """Return some values, evenly spread."""
    if count >= len(values):
        return values
    return [values[at] for at in np.linspace(0, len(values) - 1, count).astype(int)]


def cycle_of_length(
    cycle: NDArray[np.intp], drain: NDArray[np.bool_], bodies: int
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return the rows of a cycle with a number of bodies, and the places that they stand for."""
    regular, drains = cycle[~drain[cycle]], cycle[drain[cycle]]
    count = max(bodies - drains.size, 1)
    known = regular[:count]
    # Further places are those of the last third, again and again.
    few = regular[regular.size - max(regular.size // UPPER, 1) :]
    beyond = np.resize(few, max(count - regular.size, 0))
    rows = np.concatenate([known, beyond, drains])
    return rows, np.arange(rows.size, dtype=np.int32)


def begins_of(sizes: list[int]) -> NDArray[np.bool_]:
    """Return where parts of some sizes begin: bool, shape (iteration,)."""
    begins = np.zeros(sum(sizes), np.bool_)
    begins[np.cumsum([0, *sizes[:-1]])] = True
    return begins
