"""Some bodies of a run file in a row, as those who go through a run block by block take them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.reduced_input import edges_of_columns
from hindmost.harness.runfile.checks import check_values
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.schema import VARIABLE
from hindmost.models.simulation.blocks import (
    EventBlock,
    Neighbours,
    absent_ranks,
    whole_bodies,
)
from hindmost.models.simulation.exchanges import exchanges_meet


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
        cycle_begins = np.asarray(self.run.position[self.rows] == 0)
        if not self.run.has("event_kind"):
            return whole_bodies(self.work, self.run.header.lag, cycle_begins)
        work, duration = self.variable("event_work"), self.variable("event_duration")
        rest = self.duration - work.sum(axis=2, dtype=np.float64)
        rest -= duration.sum(axis=2, dtype=np.float64)
        return EventBlock(
            kind=self.variable("event_kind"),
            work=work,
            duration=duration,
            rest=np.maximum(rest, 0.0),
            cycle_begins=cycle_begins,
            absent=absent_ranks(self.variable("event_kind"), work, duration),
            group=self.group,
        )

    @property
    def group(self) -> NDArray[np.int32] | None:
        """Who stands for those of a collective, see `EventBlock`: compiled loops rely on it."""
        if not self.run.has("event_group"):
            return None
        group = self.variable("event_group")
        check_values(self.run.path, VARIABLE["event_group"], group, self.run.columns)
        return group


def clock_uncertainty(run: Run) -> float:
    """Return the uncertainty of the common clock of two ranks, in seconds."""
    return 2.0 * float(run.variable("clock_uncertainty").max())


ENOUGH_TO_TELL = 1 << 20
"""Events of all ranks, of the first bodies, that show by which rule exchanges end."""


def exchanges_meet_in(run: Run) -> bool:
    """Tell whether receipts of halos in a run file last until the neighbours come to their own.

    See `hindmost.models.simulation.exchanges`. The MPI library decides that, so the first bodies
    stand for all.
    """
    edges = edges_of_columns(run)
    if not run.has("event_kind") or not edges.source.size:
        return False
    bodies, events = run.shape("event_kind")
    enough = ENOUGH_TO_TELL // max(events * run.columns, 1)
    block = Block(run, slice(0, min(max(enough, 1), bodies)))
    neighbours = Neighbours.of_edges(run.columns, edges.source, edges.target)
    return exchanges_meet(block.start, block.events, neighbours, clock_uncertainty(run))
