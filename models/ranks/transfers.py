"""Time in halo exchanges, divided into late neighbours and slow transfers.

A rank that receives a halo waits until its neighbours have sent it, and until it has arrived. The
common clock separates the two: the time before the last neighbour's send is that neighbour's
lateness, and the time after it is the transfer. Every transfer costs something, so only the part
beyond the fastest one of the same exchange, and beyond the uncertainty of the clocks, is *slow*.
Where exchanges meet (`hindmost.models.simulation.recorded`), the time until the neighbour comes to
its own receipt is lateness too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions
from hindmost.models.simulation.blocks import RESOLUTION_S, EventBlock, Neighbours, slabs
from hindmost.models.simulation.recorded import Exchanges, latest_of_neighbours


class SlowTransfers:
    """Slow transfers of a run whose ranks are all here, block by block.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo.
    clock_s : float
        Uncertainty of the common clock, in seconds.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to their own.
    """

    def __init__(
        self,
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        clock_s: float = 0.0,
        *,
        exchanges_meet: bool = False,
    ) -> None:
        self._neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._exchanges = Exchanges(ranks)
        self._clock_s = clock_s
        self._exchanges_meet = exchanges_meet

    def add(self, start: NDArray[np.float64], block: EventBlock) -> NDArray[np.float64]:
        """Return the time in slow transfers: float64, shape (iteration, rank), seconds."""
        found = np.zeros(start.shape)
        if not self._neighbours.source.size:
            return found
        events = start.shape[1] * block.kind.shape[1]
        for rows in slabs(len(start), max(self._neighbours.source.size, 2 * events)):
            some = self._exchanges.advance(start[rows], block.part(rows))
            latest = latest_of_neighbours(
                some, self._neighbours, exchanges_meet=self._exchanges_meet
            )
            slow = beyond_the_quickest(some.come, latest, some.spent, self._clock_s)
            np.add.at(found, some.body + rows.start, slow)
        return found


def beyond_the_quickest(
    come: NDArray[np.float64],
    latest: NDArray[np.float64],
    spent: NDArray[np.float64],
    clock_s: float = 0.0,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.float64]:
    """Return the time of transfers beyond the fastest of the same exchange; collective.

    Parameters
    ----------
    come, spent : float64 array, shape (exchange, rank), seconds
        See `hindmost.models.simulation.recorded.Receipts`.
    latest : float64 array, shape (exchange, rank), seconds
        Until when neighbours kept a rank; minus infinity for ranks that receive nothing.
        Ranks that spend no time do not receive either.
    clock_s : float
        Uncertainty of the common clock, in seconds.
    """
    receives = (latest > -np.inf) & (spent > 0.0)
    transfer = spent - np.clip(np.where(receives, latest, 0.0) - come, 0.0, spent)
    quickest = reductions.least(np.where(receives, transfer, np.inf).min(axis=1, initial=np.inf))
    slow = transfer - quickest[:, None] - clock_s
    result: NDArray[np.float64] = np.where(receives & (slow > RESOLUTION_S), slow, 0.0)
    return result
