"""A recorded solve with more or fewer iterations.

Its bodies are recorded ones, with their noise. Every recorded cycle is replayed once, and counts as
often as the new solve has cycles per recorded one; ranks meet between cycles, so a solve of any
length costs no more than the recorded one. A solver that does not restart goes on as in its second
half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import EventBlock

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveShape:
    """What a solve consists of, or several by one solver.

    Attributes
    ----------
    solver : str
    iterations : int
        By the solver's own count, of all solves.
    restart : int
        Length of a cycle in iterations; 0 for solvers that do not restart.
    drain : bool array, shape (iteration,)
        Bodies that only drain a pipeline (epilogue).
    extra : int
        Bodies of a cycle beyond its iterations; a pipelined solver fills its pipeline (prologue).
    preconditioner : float
        Vectors that the preconditioner reads and writes; 0 if not known.
    solves : int
        Each begins a cycle, and may end within one.
    """

    solver: str
    iterations: int
    restart: int
    drain: NDArray[np.bool_]
    extra: int = 0
    preconditioner: float = 0.0
    solves: int = 1

    @property
    def cycle(self) -> str:
        """What its places are places of, in words; empty if no iteration comes again."""
        return "restart cycle" if self.restart else "solve" if self.solves > 1 else ""


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


def checked(shape: SolveShape | None, iterations: int | None) -> SolveShape:
    """Return the shape of a solve of another length.

    Raises
    ------
    UsageError
        No iteration, or no solve.
    """
    if shape is None or shape.solves > 1:
        raise UsageError("This run is not of one solve, so no other length can be replayed.")
    count = shape.iterations if iterations is None else iterations
    if count < 1:
        raise UsageError(f"{count} iterations; a solve has at least 1.")
    return replace(shape, iterations=count)


Parts = tuple[list[NDArray[np.intp]], Times, CycleCounts]
"""The rows of every cycle, the time before each, and how often they count."""


def choose_bodies(block: EventBlock, between: Times, shape: SolveShape, iterations: int) -> Parts:
    """Choose recorded bodies for a solve of another length.

    Parameters
    ----------
    block : EventBlock
        As recorded.
    between : float64 array, shape (cycle, rank), seconds
        See `hindmost.models.simulation.program.Program`.
    shape : SolveShape
        Of the recorded solve.
    iterations : int
        Of the other one.
    """
    choose = choose_cycles if shape.restart else choose_without_cycles
    return choose(block, between, shape, iterations)


def begins_of(parts: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
    """Return the bodies that begin a cycle, of cycles put together: bool, shape (iteration,)."""
    return np.concatenate([np.arange(part.size) == 0 for part in parts])


def choose_without_cycles(
    block: EventBlock, between: Times, shape: SolveShape, iterations: int
) -> Parts:
    """Choose the first bodies of a solver without restarts, or more of its second half."""
    regular, drains = np.flatnonzero(~shape.drain), np.flatnonzero(shape.drain)
    count = iterations + (len(block.kind) - shape.iterations) - drains.size
    if count <= regular.size:
        parts, times = [np.concatenate([regular[: max(count, 1)], drains])], [1.0]
    else:
        half = regular[regular.size // 2 :]
        # The repeated part comes first, so that the recorded end stays the end.
        parts = [half, np.concatenate([regular, drains])]
        times = [(count - regular.size) / half.size, 1.0]
    before = np.zeros((len(parts), between.shape[1]))
    before[-1] = between[0]
    return parts, before, CycleCounts(times=np.array(times), before=np.eye(len(parts))[-1])


def choose_cycles(block: EventBlock, between: Times, shape: SolveShape, iterations: int) -> Parts:
    """Choose the longest recorded cycles, and their begins for a last cycle that is shorter."""
    cycles = [np.arange(rows.start, rows.stop) for rows in block.cycles()]
    longest = max(cycle.size for cycle in cycles)
    whole = [at for at, cycle in enumerate(cycles) if cycle.size == longest]
    full, left = divmod(iterations, shape.restart)
    plan = [(at, shape.restart, full / len(whole)) for at in whole if full]
    plan += [(at, left, 1.0 / len(whole)) for at in whole if left]
    parts = [
        cycle_of_length(cycles[at], shape.drain, length + shape.extra) for at, length, _ in plan
    ]
    # The lead-in comes before the first; restarts are added as a time. One that was never recorded
    # is a residual, which costs as much as a typical first body of a cycle.
    firsts = [cycle[0] for cycle in cycles]
    pause_s = float(np.median((block.work[firsts].sum(axis=2) + block.rest[firsts]).mean(axis=1)))
    if len(cycles) > 1:
        pause_s = float(between[1:].min(axis=1).mean())
    pauses = full + (left > 0) - 1
    counts = CycleCounts(
        times=np.array([times for _, _, times in plan]),
        before=np.zeros(len(plan)),
        more_s=float(between[0].min()) + pauses * pause_s,
    )
    return parts, np.stack([between[at] - between[at].min() for at, _, _ in plan]), counts


def cycle_of_length(
    cycle: NDArray[np.intp], drain: NDArray[np.bool_], bodies: int
) -> NDArray[np.intp]:
    """Return the rows of a cycle with a number of bodies.

    If no cycle has as many, its last third comes again.
    """
    regular, drains = cycle[~drain[cycle]], cycle[drain[cycle]]
    count = max(bodies - drains.size, 1)
    late = regular[regular.size - max(regular.size // 3, 1) :]
    beyond = np.resize(late, max(count - regular.size, 0))
    return np.concatenate([regular[:count], beyond, drains])
