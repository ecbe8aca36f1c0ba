"""Slow transfers of halos, where every process holds some ranks and neighbours tell when they sent.

What `hindmost.models.ranks.transfers` finds in a whole run, before anything is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.common_events import common_events
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.message_matches import exchanged, sources_here
from hindmost.harness.runfile.writer import Blocks, RunsSeen, gather_edges, runs_of
from hindmost.models.ranks.reductions import Reductions
from hindmost.models.ranks.transfers import beyond_the_quickest
from hindmost.models.simulation.blocks import EventBlock
from hindmost.models.simulation.recorded import (
    Exchanges,
    Receipts,
    count_meetings,
    tells_meeting,
)


def slow_transfers(
    blocks: Blocks, seen: RunsSeen, communicator: Any, reductions: Reductions
) -> NDArray[np.float64] | None:
    """Return what slow transfers took each rank: float64, shape (iteration, rank), s; collective.

    None on all ranks where there are no events of all in one sequence.
    """
    edges = gather_edges(Edges.together(seen.edges), communicator)
    common, _ = common_events(
        lambda: (run.bodies for run in runs_of(blocks)), seen.events, edges, communicator
    )
    if common is None or "behind" in common.known:
        return None
    receipts: list[Receipts] = []
    uncertain_s, bodies = 0.0, 0
    first_s = reductions.least(np.min([run.bodies.start for run in runs_of(blocks)], axis=0))
    for at, run in enumerate(runs_of(blocks)):
        own, uncertain_s = run.bodies, max(uncertain_s, run.clock_uncertainty_s)
        bodies = own.duration.size
        assert own.events is not None  # or there were none in common
        events = common.of(at, own.events)
        block = EventBlock(
            kind=events.kind,
            work=events.work[:, None, :],
            duration=events.duration[:, None, :],
            rest=np.zeros((bodies, 1)),
            cycle_begins=own.position == 0,
            group=events.group[:, None, :] if "group" in common.known else None,
        )
        receipts.append(Exchanges(1).advance(own.start[:, None], block, first_s))
    come, sent, left, spent = (
        np.concatenate([getattr(of_rank, name) for of_rank in receipts], axis=1)
        for name in ("come", "sent", "left", "spent")
    )
    at_least, met = until_neighbours(come, sent, left, edges, communicator)
    uncertain_s = 2.0 * float(reductions.most(np.array([uncertain_s]))[0])
    counts = np.sum(
        [
            count_meetings(of_rank, at_least[:, [at]], met[:, [at]], uncertain_s)
            for at, of_rank in enumerate(receipts)
        ],
        axis=0,
    )
    latest = met if tells_meeting(reductions.total(counts)) else at_least
    slow = beyond_the_quickest(come, latest, spent, uncertain_s, reductions)
    found = np.zeros((bodies, len(receipts)))
    np.add.at(found, receipts[0].body, slow)
    return found


def until_neighbours(
    come: NDArray[np.float64],
    sent: NDArray[np.float64],
    left: NDArray[np.float64],
    edges: Edges,
    communicator: Any,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return until when neighbours keep each rank in its receipts, by both rules; collective.

    Parameters
    ----------
    come, sent, left : float64 array, shape (receipt, rank), seconds
        Of the ranks of this process.
    edges : Edges
        Who sends to whom; on rank 0 those of all ranks.

    Returns
    -------
    sent, met : float64 arrays, shape (receipt, rank), seconds
        Minus infinity where no rank sends here.
    """
    counts = communicator.allgather(come.shape[1])
    sources = sources_here(counts, edges, communicator)
    wanted = [{source: np.empty(0) for source in of_rank} for of_rank in sources]
    asked = exchanged(wanted, counts, communicator)
    given = [
        dict.fromkeys(askers, np.stack([come[:, at], sent[:, at], left[:, at]]))
        for at, askers in enumerate(asked)
    ]
    until, met = np.full((2, *come.shape), -np.inf)
    for at, received in enumerate(exchanged(given, counts, communicator)):
        for there_come, there_sent, there_left in received.values():
            meets = np.where(sent[:, at] > there_left, there_come, there_sent)
            until[:, at] = np.maximum(until[:, at], there_sent)
            met[:, at] = np.maximum(met[:, at], meets)
    return until, met
