"""The walk as it was recorded: when every rank came to an event on the common clock, and left it.

Nothing is computed anew here, unlike in `hindmost.models.simulation.event_simulator`: a rank comes
to an event after its own work, and leaves it after the time that it was recorded to spend there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.simulation.blocks import (
    COMPLETE,
    FROM_ROOT,
    IN_ORDER,
    NO_GROUP,
    NONE,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    TO_ROOT,
    EventBlock,
    Neighbours,
    groups_of,
)
from hindmost.models.simulation.event_simulator import FEW_EVENTS


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

    Returns
    -------
    float64 array, shape (iteration, event, rank), seconds
        Without what the event itself costs; a rank may come later.
    """
    nobody = np.empty((0, 0, 0), np.int32)
    return released_by(start, block, come, leave, neighbours, exchanges_meet, nobody)


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
    released = released_by(start, block, come, leave, neighbours, exchanges_meet, by)
    return by, np.maximum(np.minimum(released, leave) - come, 0.0)


def released_by(
    start: NDArray[np.float64],
    block: EventBlock,
    come: NDArray[np.float64],
    leave: NDArray[np.float64],
    neighbours: Neighbours,
    exchanges_meet: bool,
    by: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the releases, and fill in who released; an empty array asks for nobody."""
    released = np.full(come.shape, -np.inf)
    receipts_send = not np.any(block.recorded & (block.kind == SEND))
    loop = find_releases.loop if block.work.size <= FEW_EVENTS else find_releases
    loop(
        np.ascontiguousarray(block.kind),
        np.ascontiguousarray(block.cycle_begins),
        np.ascontiguousarray(start),
        np.ascontiguousarray(come),
        np.ascontiguousarray(leave),
        neighbours.first,
        neighbours.source,
        receipts_send,
        exchanges_meet and not receipts_send,
        np.empty((0, 0, 0), np.bool_) if block.absent is None else block.absent,
        groups_of(block),
        np.zeros((int(np.count_nonzero(block.kind == POST)) + 1, start.shape[1])),
        released,
        by,
    )
    return released


@declared(
    "(u1[:,::1], b1[::1], f8[:,::1], f8[:,:,::1], f8[:,:,::1], i8[::1], i8[::1], b1, "
    "b1, b1[:,:,::1], i4[:,:,::1], f8[:,::1], f8[:,:,::1], i4[:,:,::1])"
)
def find_releases(
    kind: NDArray[np.uint8],
    cycle_begins: NDArray[np.bool_],
    start: NDArray[np.float64],
    come: NDArray[np.float64],
    leave: NDArray[np.float64],
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    receipts_send: bool,
    exchanges_meet: bool,
    absent: NDArray[np.bool_],
    group: NDArray[np.int32],
    posted: NDArray[np.float64],
    released: NDArray[np.float64],
    by: NDArray[np.int32],
) -> None:
    """Fill in the releases and who released, with the dependencies of `walk_events`."""
    bodies, events, ranks = come.shape
    missing, named = absent.size > 0, by.size > 0
    last = np.empty(ranks + 1)  # of a group; all ranks are the last one
    latest = np.empty(ranks + 1, np.int32)  # who that is
    poster = np.zeros(posted.shape, np.int32)
    begin, end = 0, 0  # of what is posted and not completed
    sent, left = np.full((2, ranks), start[0].min())
    for body in range(bodies):
        if cycle_begins[body]:
            begin = end
            sent[:] = left[:] = start[body].min()
        for event in range(events):
            what = kind[body, event]
            if what == NONE:
                break
            if what in (REDUCE, FROM_ROOT, TO_ROOT, IN_ORDER):
                # Whom others of the group wait for, and who waits for them.
                last[:] = -np.inf
                for rank in range(ranks):
                    place = group[body, rank, event] if group.size else NO_GROUP
                    gives = what == REDUCE or (rank == place) == (what == FROM_ROOT)
                    if gives and what != IN_ORDER and come[body, event, rank] > last[place]:
                        last[place], latest[place] = come[body, event, rank], rank
                for rank in range(ranks):
                    place = group[body, rank, event] if group.size else NO_GROUP
                    takes = what == REDUCE or (rank == place) == (what == TO_ROOT)
                    if takes or what == IN_ORDER:
                        released[body, event, rank] = last[place]
                        if named and last[place] > -np.inf:
                            by[body, event, rank] = latest[place]
                    if what == IN_ORDER and come[body, event, rank] > last[place]:
                        last[place], latest[place] = come[body, event, rank], rank
            elif what == POST:
                poster[end] = np.argmax(leave[body, event])
                posted[end] = leave[body, event].max()
                if group.size:
                    for rank in range(ranks):
                        place = group[body, rank, event]
                        if place == rank:
                            posted[end, rank], poster[end, rank] = -np.inf, -1
                        elif place != NO_GROUP:
                            posted[end, rank], poster[end, rank] = leave[body, event, place], place
                end += 1
            elif what == COMPLETE:
                if begin < end:
                    for rank in range(ranks):
                        released[body, event, rank] = posted[begin, rank]
                        if named:
                            by[body, event, rank] = poster[begin, rank]
                    begin += 1
            elif what == SEND:
                for rank in range(ranks):
                    if not (missing and absent[body, rank, event]):
                        sent[rank] = leave[body, event, rank]
            elif receipts_send:
                for rank in range(ranks):
                    sent[rank] = come[body, event, rank]
            if what == RECEIVE:
                for rank in range(ranks):
                    if missing and absent[body, rank, event]:
                        continue
                    needs = group[body, rank, event] if group.size else NO_GROUP
                    for edge in range(first[rank], first[rank + 1]):
                        if not (needs >> min(edge - first[rank], 31)) & 1:
                            continue
                        other = source[edge]
                        there = sent[other]
                        if exchanges_meet and sent[rank] > left[other]:
                            there = come[body, event, other]
                        if there > released[body, event, rank]:
                            released[body, event, rank] = there
                            if named:
                                by[body, event, rank] = other
            if what != SEND and what != POST:
                for rank in range(ranks):
                    if not (missing and absent[body, rank, event]):
                        left[rank] = leave[body, event, rank]
