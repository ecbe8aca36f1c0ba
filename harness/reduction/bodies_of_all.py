"""Sums and extremes of the bodies of all ranks, for models, when only some ranks keep them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.reduction.decide import RankReductions
from hindmost.harness.runfile.bodies import NOT_WORK, BodyKind
from hindmost.harness.runfile.common_events import common_events
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.models.noise.all_ranks import BodyExtremes, EventExtremes
from hindmost.models.ranks.body_extremes import extremes_of_bodies, extremes_of_events
from hindmost.models.simulation.blocks import EventBlock

if TYPE_CHECKING:
    from mpi4py import MPI

OF_BODIES = {each.name: f"all_{each.name}" for each in fields(BodyExtremes)}
"""Variables of a run file by the attributes of `BodyExtremes`."""
OF_EVENTS = {each.name: f"all_event_{each.name}" for each in fields(EventExtremes)}
"""The same of `EventExtremes`."""


def bodies_of_all(
    run: RankRun, edges: Edges, communicator: MPI.Intracomm
) -> dict[str, NDArray[Any]]:
    """Return the variables on the bodies of all ranks, the same on every rank; collective.

    Those of events only where all ranks have the same events in every body; none of an adaptive
    run, whose cycles follow no law.

    Parameters
    ----------
    edges : Edges
        Who sends to whom; on rank 0 those of all ranks.
    """
    if run.cycles is not None:
        return {}
    bodies, reductions = run.bodies, RankReductions(communicator)
    phases = bodies.phase_duration
    own = [at for at, name in enumerate(bodies.phases) if name not in NOT_WORK]
    found = extremes_of_bodies(
        bodies.duration[:, None],
        phases[:, own].astype(np.float64).sum(axis=1, keepdims=True),
        bodies.kind == BodyKind.FILL,
        reductions=reductions,
    )
    values = {variable: getattr(found, name) for name, variable in OF_BODIES.items()}
    events, _ = common_events(bodies, edges, communicator)
    # A sequence that was put in order may be another one among the ranks that are kept.
    if all(communicator.allgather(events is not None and events is bodies.events)) and events:
        block = EventBlock(
            kind=events.kind,
            work=events.work[:, None, :],
            duration=events.duration[:, None, :],
            rest=rest_of(bodies.duration, events.work, events.duration)[:, None],
            cycle_begins=bodies.position == 0,
            group=None if events.group is None else events.group[:, None, :],
        )
        extremes = extremes_of_events(block, reductions=reductions)
        values |= {variable: getattr(extremes, name) for name, variable in OF_EVENTS.items()}
    return values


def rest_of(
    duration: NDArray[np.float64], work: NDArray[np.float32], inside: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the own work after the last event: float64, shape (iteration,), seconds."""
    rest: NDArray[np.float64] = (
        duration - work.sum(axis=1, dtype=np.float64) - inside.sum(axis=1, dtype=np.float64)
    )
    return rest
