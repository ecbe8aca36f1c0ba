"""Time in halo exchanges, divided into late neighbours and slow transfers.

A rank that receives a halo waits until its neighbours have sent it, and until it has arrived. The
common clock separates the two: the time before the last neighbour's send is that neighbour's
lateness, and the time after it is the transfer. Every transfer costs something, so only the part
beyond the fastest one of the same exchange, and beyond the uncertainty of the clocks, is *slow*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions
from hindmost.models.simulation.blocks import RECEIVE, SEND, EventBlock, slabs
from hindmost.models.simulation.recorded import moments

RESOLUTION_S = 1e-9
"""Of recorded times."""


class Exchanges:
    """The halo exchanges of ranks, body after body.

    Parameters
    ----------
    ranks : int
        Of this process.
    """

    def __init__(self, ranks: int) -> None:
        self._sent = np.zeros(ranks)
        self._fresh = False  # whether anything was sent since the last receipt

    def advance(
        self, start: NDArray[np.float64], block: EventBlock
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Go through the next bodies.

        Parameters
        ----------
        start : float64 array, shape (iteration, rank), seconds
            On the common clock.
        block : EventBlock
            Of the same bodies and ranks.

        Returns
        -------
        come, sent, spent : float64 array, shape (exchange, rank), seconds
            When a rank is ready to receive, when it has sent itself, and how long it receives. A
            call that sends and receives in one has sent when it is ready. A rank that takes no
            part in an exchange spends no time in it, and has no work before the send either.
        body : int64 array, shape (exchange,)
        """
        come, leave = moments(start, block)
        body, event = np.nonzero(block.recorded & (block.kind == RECEIVE))
        send_body, send_event = np.nonzero(block.recorded & (block.kind == SEND))
        # A send may take no time (a call that sends and receives in one). Only an event with
        # neither work before it nor time inside it is that of another rank.
        own = (block.work[send_body, :, send_event] > 0.0) | (
            block.duration[send_body, :, send_event] > 0.0
        )
        # After k sends, every rank sent last in the latest of them that is its own.
        sent = np.concatenate([self._sent[None, :], leave[send_body, send_event]])
        latest = np.maximum.accumulate(own * np.arange(1, len(sent))[:, None], axis=0)
        sent[1:] = np.take_along_axis(sent, latest, axis=0)
        # A receipt belongs to the sends since the receipt before; without any it sends as well.
        events = block.kind.shape[1]
        before = np.searchsorted(send_body * events + send_event, body * events + event)
        fresh = np.diff(before, prepend=-1 if self._fresh else 0) > 0
        self._fresh = bool(len(own) > before[-1] if before.size else self._fresh or len(own))
        self._sent = sent[-1]
        ready = come[body, event]
        return (
            ready,
            np.where(fresh[:, None], sent[before], ready),
            block.duration[body, :, event].astype(np.float64),
            body,
        )


class SlowTransfers:
    """Slow transfers of a run whose ranks are all here, block by block.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo.
    clock_s : float
        Uncertainty of the common clock, in seconds.
    """

    def __init__(
        self,
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        clock_s: float = 0.0,
    ) -> None:
        order = np.argsort(edge_target, kind="stable")
        self._source = edge_source[order]
        self._targets, self._first = np.unique(edge_target[order], return_index=True)
        self._exchanges = Exchanges(ranks)
        self._clock_s = clock_s

    def add(self, start: NDArray[np.float64], block: EventBlock) -> NDArray[np.float64]:
        """Return the time in slow transfers: float64, shape (iteration, rank), seconds."""
        found = np.zeros(start.shape)
        if not self._source.size:
            return found
        events = start.shape[1] * block.kind.shape[1]
        for rows in slabs(len(start), max(self._source.size, 2 * events)):
            come, sent, spent, body = self._exchanges.advance(start[rows], block.part(rows))
            latest = np.full(come.shape, -np.inf)
            latest[:, self._targets] = np.maximum.reduceat(
                sent[:, self._source], self._first, axis=1
            )
            slow = beyond_the_quickest(come, latest, spent, self._clock_s)
            np.add.at(found, body + rows.start, slow)
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
        See `Exchanges.advance`.
    latest : float64 array, shape (exchange, rank), seconds
        When the last of the neighbours had sent; minus infinity for ranks that receive nothing.
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
