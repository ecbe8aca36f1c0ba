"""The walk as it was recorded: when every rank came to an event on the common clock, and left it.

Nothing is computed anew here, unlike in `hindmost.models.simulation.event_simulator`: a rank comes
to an event after its own work, and leaves it after the time that it was recorded to spend there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import POST, SEND, EventBlock, Neighbours
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
