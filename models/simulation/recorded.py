"""The walk as it was recorded: when every rank came to an event on the common clock, and left it.

Nothing is computed anew here, unlike in `hindmost.models.simulation.event_simulator`: a rank comes
to an event after its own work, and leaves it after the time that it was recorded to spend there.

Exchanges of halos as they were recorded, and the rule by which MPI ends them.

A receipt also completes what its own rank has sent. Open MPI completes a persistent send, as
PETSc's halos are, only once the receiver is inside MPI. That is in its own receipt, unless it left
MPI only after the halo was sent: both ranks then wait for each other, and the exchange *meets*.
Other sends, and other libraries, may be through at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import (
    FEWEST,
    MAX_BITS,
    NO_GROUP,
    POST,
    RECEIVE,
    SEND,
    EventBlock,
    Neighbours,
    slabs,
)
from hindmost.models.simulation.event_simulator import FEW_EVENTS, EventSimulator, Recorded


def moments(
    start: NDArray[np.float64], block: EventBlock
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when every rank came to every event of some bodies, and when it left.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        On the common clock.
    block : EventBlock
        Of the same bodies. What follows the end of a body has no meaning in the result.

    Returns
    -------
    come, leave : float64 array, shape (iteration, event, rank), seconds
    """
    bodies, events = block.kind.shape
    steps = np.empty((bodies, 2 * events + 1, start.shape[1]))
    steps[:, 0] = start
    steps[:, 1::2] = block.work.transpose(0, 2, 1)
    steps[:, 2::2] = block.duration.transpose(0, 2, 1)
    np.cumsum(steps, axis=1, out=steps)
    return steps[:, 1::2], steps[:, 2::2]


def releases(
    start: NDArray[np.float64],
    block: EventBlock,
    come: NDArray[np.float64],
    leave: NDArray[np.float64],
    neighbours: Neighbours,
    *,
    exchanges_meet: bool = False,
    by: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """Return from when on nobody else kept a rank at an event, as it was recorded.

    A reduction releases its group when the last one comes; a completion, when the last rank that is
    needed posted;
    a receipt, when the last neighbour sent; a broadcast, when its root comes; the root of a
    reduction, when the last other rank comes; a scan, when the last rank before comes. What depends
    on nobody, and a message in which a rank takes no part, is released at minus infinity.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        On the common clock. What was sent in earlier cycles is there when the first rank begins a
        cycle.
    block : EventBlock
        All bodies of a solve: what one posts, another may complete.
    come, leave : float64 array, shape (iteration, event, rank), seconds
        See `moments`. What is posted or sent is on its way when a rank leaves the event.
    neighbours : Neighbours
    exchanges_meet : bool
        See `hindmost.models.simulation.event_simulator.EventSimulator`.
    by : int32 array, shape (iteration, event, rank), optional
        Is filled with the last one that released each rank: the one that came, posted or sent last.

    Returns
    -------
    float64 array, shape (iteration, event, rank), seconds
        Without what the event itself costs; a rank may come later.
    """
    if by is None:
        by = np.empty((0, 0, 0), np.int32)
    known = Recorded(come=come, leave=leave, released=np.full(come.shape, -np.inf), by=by)
    simulator = EventSimulator(
        start.shape[1],
        neighbours,
        receipts_send=not np.any(block.recorded & (block.kind == SEND)),
        exchanges_meet=exchanges_meet,
        pending=int(np.count_nonzero(block.kind == POST)) + 1,
    )
    for rows in block.cycles():
        simulator.meet(float(start[rows.start].min()))
        simulator.walk(
            block.part(rows),
            recorded=known.part(rows),
            interpret=block.work.size <= FEW_EVENTS,
        )
    return known.released


def waits(
    start: NDArray[np.float64],
    block: EventBlock,
    neighbours: Neighbours,
    *,
    exchanges_meet: bool = False,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return for whom every rank waited at every event, and how long, as it was recorded.

    Parameters
    ----------
    start, block, neighbours, exchanges_meet
        See `releases`.

    Returns
    -------
    int32 array, shape (iteration, event, rank)
        The last one that released it: the rank that came, posted or sent last; -1 for nobody.
    float64 array, shape (iteration, event, rank), seconds
        From when the rank came until that one released it, within the event; 0 for nobody.
    """
    come, leave = moments(start, block)
    by = np.full(come.shape, -1, np.int32)
    released = releases(start, block, come, leave, neighbours, exchanges_meet=exchanges_meet, by=by)
    return by, np.maximum(np.minimum(released, leave) - come, 0.0)


CLOCKS_S = 1e-6
"""By which the clocks of ranks may differ, if nothing larger is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """The receipts of halos in some bodies, in the order of the run.

    Attributes
    ----------
    come : float64 array, shape (receipt, rank), seconds
        When a rank is ready to receive.
    sent : float64 array, shape (receipt, rank), seconds
        When it has sent itself. A call that sends and receives in one has sent when it is ready.
    left : float64 array, shape (receipt, rank), seconds
        When it left MPI before, other than to send or to post. Within a restart cycle; before its
        first event, when the first rank begins it.
    spent : float64 array, shape (receipt, rank), seconds
        How long it receives. A rank that takes no part in an exchange spends no time in it, and has
        no work before the send either.
    needs : int array, shape (receipt, rank), or None
        Of which neighbours it needs a message; see ``group`` of `EventBlock`.
    behind : int array, shape (receipt, rank), or None
        See `EventBlock`.
    sends : float64 array, shape (send + 1, rank), seconds
        When every rank had sent before the first send of all, and at each.
    before : int array, shape (receipt,)
        How many of these come before a receipt.
    body, event : int64 array, shape (receipt,)
    """

    come: NDArray[np.float64]
    sent: NDArray[np.float64]
    left: NDArray[np.float64]
    spent: NDArray[np.float64]
    needs: NDArray[np.integer[Any]] | None
    behind: NDArray[np.integer[Any]] | None
    sends: NDArray[np.float64]
    before: NDArray[np.int64]
    body: NDArray[np.int64]
    event: NDArray[np.int64]


class Exchanges:
    """The exchanges of ranks, body after body.

    Parameters
    ----------
    ranks : int
        Of this process.
    """

    def __init__(self, ranks: int) -> None:
        self._sent, self._left = np.zeros((2, ranks))
        self._fresh = False  # whether anything was sent since the last receipt

    def advance(
        self,
        start: NDArray[np.float64],
        block: EventBlock,
        first_s: NDArray[np.float64] | None = None,
    ) -> Receipts:
        """Go through the next bodies.

        Parameters
        ----------
        start : float64 array, shape (iteration, rank), seconds
            On the common clock.
        block : EventBlock
            Of the same bodies and ranks.
        first_s : float64 array, shape (iteration,), seconds
            When the first of all ranks begins a body, if there are others than these.
        """
        come, leave = moments(start, block)
        recorded = block.recorded
        body, event = np.nonzero(recorded & (block.kind == RECEIVE))
        events = block.kind.shape[1]
        at = body * events + event
        ready = come[body, event]
        sent, sends, before = self._last_sent(block, leave, at, ready)
        return Receipts(
            come=ready,
            sent=sent,
            sends=sends,
            before=before,
            left=self._last_left(
                block, leave, at, start.min(axis=1) if first_s is None else first_s
            ),
            spent=block.duration[body, :, event].astype(np.float64),
            needs=None if block.group is None else block.group[body, :, event],
            behind=None if block.behind is None else block.behind[body, :, event],
            body=body,
            event=event,
        )

    def _last_sent(
        self,
        block: EventBlock,
        leave: NDArray[np.float64],
        at: NDArray[np.int64],
        ready: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return when every rank had sent before each receipt, at these places; see `Receipts`."""
        body, event = np.nonzero(block.recorded & (block.kind == SEND))
        # A send may take no time (a call that sends and receives in one). Only an event with
        # neither work before it nor time inside it is that of another rank.
        own = (block.work[body, :, event] > 0.0) | (block.duration[body, :, event] > 0.0)
        # After k sends, every rank sent last in the latest of them that is its own.
        sent = np.concatenate([self._sent[None, :], leave[body, event]])
        latest = np.maximum.accumulate(own * np.arange(1, len(sent))[:, None], axis=0)
        sent[1:] = np.take_along_axis(sent, latest, axis=0)
        # A receipt belongs to the sends since the receipt before; without any it sends as well.
        before = np.searchsorted(body * block.kind.shape[1] + event, at)
        fresh = np.diff(before, prepend=-1 if self._fresh else 0) > 0
        self._fresh = bool(len(own) > before[-1] if before.size else self._fresh or len(own))
        self._sent = sent[-1]
        return np.where(fresh[:, None], sent[before], ready), sent, before

    def _last_left(
        self,
        block: EventBlock,
        leave: NDArray[np.float64],
        at: NDArray[np.int64],
        first_s: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return when every rank left MPI before each receipt, at these places of the block."""
        bodies, events = block.kind.shape
        body, event = np.nonzero(block.recorded & (block.kind != SEND) & (block.kind != POST))
        # The first body of the cycle of each body; -1: it began in an earlier block.
        cycle = np.maximum.accumulate(np.where(block.cycle_begins, np.arange(bodies), -1))
        of_cycle = np.concatenate([[-1], cycle[body]])
        left = np.concatenate([self._left[None, :], leave[body, event]])
        # After k calls of a block, every rank left the last of them that is its own.
        count, ranks = len(body), np.arange(left.shape[1])
        own = True if block.absent is None else ~block.absent[body, :, event]
        latest = np.zeros(left.shape, np.int64)
        latest[1:] = np.maximum.accumulate(own * np.arange(1, count + 1)[:, None], axis=0)

        def after(calls: NDArray[np.int64], begun: NDArray[np.int64]) -> NDArray[np.float64]:
            last = latest[calls]
            stale = of_cycle[last] != begun[:, None]
            return np.where(stale, first_s[np.maximum(begun, 0), None], left[last, ranks])

        before = np.searchsorted(body * events + event, at)
        found = after(before, cycle[at // events])
        if bodies:
            self._left = after(np.array([count]), cycle[-1:])[0]
        return found


def latest_of_neighbours(
    found: Receipts, neighbours: Neighbours, *, exchanges_meet: bool
) -> NDArray[np.float64]:
    """Return until when neighbours keep a rank in a receipt: (receipt, rank), seconds.

    Minus infinity for ranks that receive nothing.
    """
    released = np.full(found.come.shape, -np.inf)
    edges = np.diff(neighbours.first)
    receivers = np.flatnonzero(edges)
    if receivers.size:
        source = neighbours.source
        target = np.repeat(np.arange(edges.size), edges)
        there = found.sent[:, source]
        if exchanges_meet:
            waits = found.sent[:, target] > found.left[:, source]
            there = np.where(waits, found.come[:, source], there)
        if found.behind is not None:
            earlier = np.maximum(found.before[:, None] - found.behind[:, target], 0)
            there = np.where(found.behind[:, target] > 0, found.sends[earlier, source], there)
        if found.needs is not None:
            place = np.arange(source.size) - np.repeat(neighbours.first[:-1], edges)
            needs = found.needs[:, target]
            by_bit = (needs >> np.minimum(place, MAX_BITS)) & 1 == 1
            there[np.where(needs < NO_GROUP, needs != NO_GROUP - 1 - place, ~by_bit)] = -np.inf
        first = neighbours.first[receivers]
        released[:, receivers] = np.maximum.reduceat(there, first, axis=1)
    return released


def count_meetings(
    found: Receipts,
    sent: NDArray[np.float64],
    met: NDArray[np.float64],
    clock_s: float = 0.0,
) -> NDArray[np.int64]:
    """Count the receipts that tell by which rule exchanges end, and those that met.

    Parameters
    ----------
    sent, met : float64 array, shape (receipt, rank), seconds
        Until when neighbours would keep a rank by each rule; minus infinity: it receives nothing.
    clock_s : float
        Uncertainty of the common clock, in seconds.

    Returns
    -------
    int64 array, shape (2,)
    """
    clock_s = max(clock_s, CLOCKS_S)
    early, late = np.maximum(sent, found.come), np.maximum(met, found.come)
    apart = (found.spent > 0.0) & (late > early + 5e-6 + clock_s)
    lasting = apart & (found.come + found.spent >= late - clock_s)
    return np.array([np.count_nonzero(apart), np.count_nonzero(lasting)], np.int64)


def tells_meeting(counts: NDArray[np.int64]) -> bool:
    """Tell whether exchanges meet, from the counts of `count_meetings`; too few tell nothing."""
    apart, lasting = counts.tolist()
    return bool(apart >= FEWEST and lasting >= 0.75 * apart)


def exchanges_meet(
    start: NDArray[np.float64],
    block: EventBlock,
    neighbours: Neighbours,
    clock_s: float = 0.0,
) -> bool:
    """Tell whether receipts lasted until the neighbours came to their own, though they had sent.

    Only receipts decide for which the two rules are well apart.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        On the common clock.
    block : EventBlock
        Of the same bodies, on all ranks.
    neighbours : Neighbours
    clock_s : float
        Uncertainty of the common clock, in seconds.
    """
    ranks, edges = start.shape[1], neighbours.source.size
    if not edges or not np.any(block.recorded & (block.kind == SEND)) or block.behind is not None:
        return False  # exchanges that are one sent ahead of another do not meet
    exchanges = Exchanges(ranks)
    counts = np.zeros(2, np.int64)
    for rows in slabs(len(start), max(edges, 2 * ranks * block.kind.shape[1])):
        found = exchanges.advance(start[rows], block.part(rows))
        sent, met = (
            latest_of_neighbours(found, neighbours, exchanges_meet=rule) for rule in (False, True)
        )
        counts += count_meetings(found, sent, met, clock_s)
    return tells_meeting(counts)
