"""Slow transfers of halos, where every process holds one rank and neighbours tell when they sent.

What `hindmost.models.ranks.transfers` finds in a whole run, before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.common_events import EventsSeen, common_events
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.writer import gather_edges
from hindmost.models.ranks.reductions import Reductions
from hindmost.models.ranks.transfers import beyond_the_quickest
from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.recorded import (
    Exchanges,
    Receipts,
    count_meetings,
    tells_meeting,
)

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
    seen = EventsSeen.of([bodies])
    common, _ = common_events(lambda: [bodies], seen, edges, communicator)
    if common is None or bodies.events is None or "behind" in common.known:
        return None
    events = common.of(0, bodies.events)
    block = EventBlock(
        kind=events.kind,
        work=events.work[:, None, :],
        duration=events.duration[:, None, :],
        rest=np.zeros((len(events.kind), 1)),
        cycle_begins=bodies.position == 0,
        group=events.group[:, None, :] if "group" in common.known else None,
    )
    first_s = reductions.least(bodies.start)
    receipts = Exchanges(1).advance(bodies.start[:, None], block, first_s)
    uncertain = 2.0 * float(reductions.most(np.array([run.clock_uncertainty_s]))[0])
    sent, met = until_neighbours(receipts, run.incoming.source, communicator)
    meets = reductions.total(count_meetings(receipts, sent, met, uncertain))
    latest = met if tells_meeting(meets) else sent
    slow = beyond_the_quickest(receipts.come, latest, receipts.spent, uncertain, reductions)
    found = np.zeros((bodies.duration.size, 1))
    np.add.at(found, receipts.body, slow)
    return found


def until_neighbours(
    receipts: Receipts, sources: NDArray[np.int32], communicator: MPI.Intracomm
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return until when neighbours keep this rank in its receipts, by both rules; collective.

    Returns
    -------
    sent, met : float64 arrays, shape (receipt, 1), seconds
        Minus infinity where no rank sends here.
    """
    neighbours = np.unique(sources).tolist()
    count = len(neighbours)
    graph = communicator.Create_dist_graph(
        neighbours, [1] * count, [communicator.rank] * count, reorder=False
    )
    own = np.stack([receipts.come[:, 0], receipts.sent[:, 0], receipts.left[:, 0]])
    try:
        received = np.empty((count, *own.shape))
        graph.Neighbor_allgather(own, received)
    finally:
        graph.Free()
    come, sent, left = np.moveaxis(received, 1, 0)  # each of shape (neighbour, receipt)
    met = np.where(receipts.sent[:, 0] > left, come, sent)
    return (
        sent.max(axis=0, initial=-np.inf)[:, None],
        met.max(axis=0, initial=-np.inf)[:, None],
    )
