"""A run file as the noise models take it: times, work and events, read as they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.read import incomplete, reduced, why_not_alike
from hindmost.analysis.runs.tallies import (
    Block,
    all_ranks_of,
    bodies_s,
    edges_of_columns,
)
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.cycle_places import SKEWED
from hindmost.models.noise.times import Events, SolveTimes

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
