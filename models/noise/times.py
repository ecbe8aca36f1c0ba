"""The times of a solve, the input of the models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.sample import Sample
from hindmost.models.simulation.blocks import (
    EventBlock,
    absent_ranks,
    cycles_of_unknown,
    whole_bodies,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A solve as a few numbers per body and one sample of all bodies.

    Attributes
    ----------
    fastest, slowest, middle : float64 array, shape (iteration,), seconds
        Least, greatest and mean time of the ranks, in every body.
    sample : Sample
        The bodies that laws are fitted to: all except those that only fill a pipeline (prologue).
    """

    fastest: NDArray[np.float64]
    slowest: NDArray[np.float64]
    middle: NDArray[np.float64]
    sample: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class AllRanks:
    """What models need of all ranks of a solve of which only some have columns.

    Attributes
    ----------
    ranks : int
    kept : int64 array, shape (column,)
        Numbers of the ranks that have columns, ascending.
    total_s : float64 array, shape (rank,), seconds
        The time of all bodies of every rank.
    digest : Digest
        Of all ranks, reduced before only some of them kept their bodies.
    """

    ranks: int
    kept: NDArray[np.int64]
    total_s: NDArray[np.float64]
    digest: Digest


IterationTimes = NDArray[np.float64]
"""float64 array, shape (iteration, rank), seconds."""

BLOCK_BYTES = 64 << 20
"""Of a block of float64 (iteration, rank)."""


class Rows(Protocol):
    """An array, or an object that reads its rows on demand from a file larger than memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The events of the bodies of a solve, on all ranks.

    Attributes
    ----------
    kind : uint8 array, shape (iteration, event)
        See `hindmost.models.events.EventKind`.
    work : Rows, float, shape (iteration, rank, event), seconds
        Own work before an event.
    duration : Rows, float, shape (iteration, rank, event), seconds
    group, behind : int array, shape (iteration, rank, event), or None
        See `hindmost.models.simulation.blocks.EventBlock`.
    """

    kind: NDArray[np.uint8]
    work: Rows
    duration: Rows
    group: Rows | None = None
    behind: Rows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveTimes:
    """The times of one solve on all ranks.

    Attributes
    ----------
    durations : Rows, float64, shape (iteration, rank), seconds
        Bodies, begin to end, waiting included.
    work : Rows, float64, shape (iteration, rank), seconds
        Bodies without waiting.
    fill : bool array, shape (iteration,)
        Bodies that only fill a pipeline (prologue).
    position : int array, shape (iteration,)
        Place in the restart cycle, from 0.
    between_s : float
        Time outside all bodies: lead-in, restarts and lead-out.
    restarts : float64 array, shape (restart,), seconds
        Time between two cycles, whose sum ``between_s`` includes; may be empty if unknown.
    edge_source, edge_target : int array, shape (edge,)
        Ranks that send halos, and those that receive them.
    synchronisation : str
        ``blocking`` or ``pipelined``.
    lag : int
        Bodies that a rank may begin before it needs the reduction that ended a body.
    solve_time_s : float
        What the models are compared with.
    events : Events or None
        Where in a body ranks depend on others; None if not recorded.
    restart : int
        Length of a restart cycle in iterations of the solver; 0 if it does not restart.
    solver_iterations : int
        Iterations by the solver's own count; 0 for the number of bodies.
    drain : bool array, shape (iteration,), or None
        Bodies that only drain a pipeline (epilogue).
    nodes : int
        Draws of a blocking body in place of one per rank, whose times are nearly constant on a node
        (section 5, P_hat); 0 for the ranks.
    all_ranks : AllRanks or None
        What is known of all ranks, where only some have columns; the edges are then those between
        columns.

    Raises
    ------
    DataError
        Times that are not finite, negative durations, or shapes that do not fit; found at once in
        arrays, and on reading in files.
    """

    durations: Rows
    work: Rows
    fill: NDArray[np.bool_]
    position: NDArray[np.int32]
    between_s: float
    edge_source: NDArray[np.int32]
    edge_target: NDArray[np.int32]
    synchronisation: Literal["blocking", "pipelined"]
    lag: int
    solve_time_s: float
    restarts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    events: Events | None = None
    restart: int = 0
    solver_iterations: int = 0
    drain: NDArray[np.bool_] | None = None
    nodes: int = 0
    all_ranks: AllRanks | None = None

    def __post_init__(self) -> None:
        """Refuse unusable times."""
        shape = self.durations.shape
        if len(shape) != 2 or 0 in shape:
            raise DataError(
                f"Iteration times of shape {shape}; "
                "they must be (iteration, rank), with at least one of each."
            )
        if self.work.shape != shape:
            raise DataError(f"Work of shape {self.work.shape}; durations have shape {shape}.")
        if isinstance(self.durations, np.ndarray) and isinstance(self.work, np.ndarray):
            refuse_impossible(self.durations)
            refuse_unknown("work", self.work)

    @property
    def iterations(self) -> int:
        """Number of bodies."""
        return int(self.durations.shape[0])

    @property
    def columns(self) -> int:
        """Number of ranks that have columns."""
        return int(self.durations.shape[1])

    @property
    def ranks(self) -> int:
        """Number of ranks, P; all of them have columns unless ``all_ranks`` says otherwise."""
        return self.columns if self.all_ranks is None else self.all_ranks.ranks

    @property
    def pipelined(self) -> bool:
        """Whether reductions overlap with work."""
        return self.synchronisation == "pipelined"

    @property
    def draws(self) -> int:
        """P of the models of whole bodies: 1 for pipelined solvers, which may not wait in each."""
        return 1 if self.pipelined else self.nodes or self.ranks

    @property
    def cycle_begins(self) -> NDArray[np.bool_]:
        """Bodies at which a restart cycle begins: bool, shape (iteration,)."""
        return np.asarray(self.position == 0)

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of blocks whose float64 (iteration, rank) has at most `BLOCK_BYTES`."""
        rows = max(1, BLOCK_BYTES // (8 * self.columns))
        for first in range(0, self.iterations, rows):
            yield slice(first, min(first + rows, self.iterations))

    def durations_in(self, rows: slice) -> IterationTimes:
        """Return the durations of some bodies; raise a DataError if they are impossible."""
        durations = self.durations[rows]
        if not isinstance(self.durations, np.ndarray):
            refuse_impossible(durations)
        return durations

    def work_in(self, rows: slice) -> IterationTimes:
        """Return the work of some bodies; raise a DataError if it is not a number."""
        work = self.work[rows]
        if not isinstance(self.work, np.ndarray):
            refuse_unknown("work", work)
        return work

    @property
    def fitted(self) -> IterationTimes:
        """The bodies that laws are fitted to: all except those that only fill a pipeline."""
        return self.durations[:][~self.fill]

    def digest(self) -> Digest:
        """Read the solve once; return the statistics that models of whole bodies need.

        Raises
        ------
        DataError
            All bodies only fill a pipeline.
        """
        if self.fill.all():
            raise DataError(f"All {self.iterations} iterations only fill a pipeline; record more.")
        if self.all_ranks is not None:
            return self.all_ranks.digest
        fastest, slowest, middle = np.empty((3, self.iterations))

        def fitted() -> Iterator[IterationTimes]:
            for rows in self.blocks():
                block = self.durations_in(rows)
                block.min(axis=1, out=fastest[rows])
                block.max(axis=1, out=slowest[rows])
                block.mean(axis=1, out=middle[rows])
                fill = self.fill[rows]
                yield block if not fill.any() else block[~fill]

        sample = Sample.from_blocks(fitted())
        return Digest(fastest=fastest, slowest=slowest, middle=middle, sample=sample)

    def event_block(self, rows: slice) -> EventBlock:
        """Return the events of some bodies; those of whole bodies if none were recorded."""
        if self.events is None:
            return whole_bodies(self.work_in(rows), self.lag, self.cycle_begins[rows])
        before, inside = self.events.work[rows], self.events.duration[rows]
        rest = self.durations_in(rows) - before.sum(axis=2, dtype=np.float64)
        rest -= inside.sum(axis=2, dtype=np.float64)
        return EventBlock(
            kind=self.events.kind[rows],
            work=before,
            duration=inside,
            rest=rest,
            cycle_begins=self.cycle_begins[rows] | cycles_of_unknown(self.events.kind)[rows],
            absent=absent_ranks(self.events.kind[rows], before, inside),
            group=None if self.events.group is None else self.events.group[rows],
            behind=None if self.events.behind is None else self.events.behind[rows],
        )


def refuse_impossible(durations: IterationTimes) -> None:
    """Raise a DataError if durations are not numbers, or not above 0."""
    refuse_unknown("duration", durations)
    if durations.min() <= 0.0:
        raise DataError(f"An iteration lasts {durations.min()} s; each must last longer than 0 s.")


def refuse_unknown(what: str, values: IterationTimes) -> None:
    """Raise a DataError if times are not numbers."""
    if not np.isfinite(values).all():
        raise DataError(f"A {what} is not a number; the run is damaged or incomplete.")
