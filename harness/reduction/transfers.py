"""Slow transfers of halos, where every process holds one rank and neighbours tell when they sent.

What `hindmost.models.ranks.transfers` finds in a whole run, before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.common_events import common_events
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.gathering import gather_edges
from hindmost.models.ranks.reductions import Reductions
from hindmost.models.ranks.transfers import Exchanges, beyond_the_quickest
from hindmost.models.simulation.blocks import EventBlock

if TYPE_CHECKING:
    from mpi4py import MPI


def slow_transfers(
    run: RankRun, communicator: MPI.Intracomm, reductions: Reductions
) -> NDArray[np.float64] | None:
    """Return what slow transfers took this rank: float64, shape (iteration, 1), s; collective.

    None on all ranks where there are no events of all in one sequence.
    """
    bodies = run.bodies
    edges = gather_edges(run.incoming, communicator)
    events, _ = common_events(bodies, edges, communicator)
    if events is None:
        return None
    block = EventBlock(
        kind=events.kind,
        work=events.work[:, None, :],
        duration=events.duration[:, None, :],
        rest=np.zeros((len(events.kind), 1)),
        cycle_begins=bodies.position == 0,
    )
    come, sent, spent, body = Exchanges(1).advance(bodies.start[:, None], block)
    latest = latest_of_neighbours(sent[:, 0], run.incoming.source, communicator)
    uncertain = 2.0 * reductions.most(np.array([run.clock_uncertainty_s]))[0]
    slow = beyond_the_quickest(come, latest[:, None], spent, float(uncertain), reductions)
    found = np.zeros((bodies.duration.size, 1))
    np.add.at(found, body, slow)
    return found


def latest_of_neighbours(
    sent: NDArray[np.float64], sources: NDArray[np.int32], communicator: MPI.Intracomm
) -> NDArray[np.float64]:
    """Return when the last of the ranks that send here had sent: (exchange,), seconds; collective.

    Minus infinity where none does.
    """
    neighbours = np.unique(sources).tolist()
    count = len(neighbours)
    graph = communicator.Create_dist_graph(
        neighbours, [1] * count, [communicator.rank] * count, reorder=False
    )
    try:
        received = np.empty((count, sent.size))
        graph.Neighbor_allgather(np.ascontiguousarray(sent), received)
    finally:
        graph.Free()
    latest: NDArray[np.float64] = received.max(axis=0, initial=-np.inf)
    return latest
