"""A run walked through again on an ideal network: messages and reductions cost nothing.

The recursion is that of `hindmost.models.stochastic.replay` with every cost left out: a rank needs
its own work only, and waits where the others have not come, posted or sent yet. It gives the least
time that the run could have taken with this work and these dependencies, whatever the network.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import compiled
from hindmost.models.stochastic.replay import (
    COMPLETE,
    MOST_PENDING,
    NONE,
    POST,
    REDUCE,
    SEND,
)

FEW = 100_000
"""Events of all ranks up to which numba, half a second to import, is not worth it."""


class Meeting(IntEnum):
    """What happens before a body."""

    NONE = 0
    WINDOW = 1
    """All ranks stand together; what was posted before is complete."""
    CYCLE = 2
    """All ranks stand together, and nothing is pending."""


class IdealNetwork:
    """Ranks that walk through bodies, block by block, on a network that costs nothing.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    """

    def __init__(
        self, ranks: int, edge_source: NDArray[np.int32], edge_target: NDArray[np.int32]
    ) -> None:
        order = np.argsort(edge_target, kind="stable")
        self._first = np.searchsorted(edge_target[order], np.arange(ranks + 1)).astype(np.int64)
        self._source = edge_source[order].astype(np.int64)
        self._clock = np.zeros(ranks)
        self._sent = np.zeros(ranks)
        self._queue = np.zeros(MOST_PENDING)
        self._ends = np.zeros(2, np.int64)  # of the queue: first and one past the last

    def advance(
        self,
        kind: NDArray[np.uint8],
        work: NDArray[np.floating[Any]],
        rest: NDArray[np.float64],
        meeting: NDArray[np.uint8],
    ) -> NDArray[np.float64]:
        """Walk through the next bodies.

        Parameters
        ----------
        kind : uint8 array, shape (iteration, event)
            See `hindmost.models.events.EventKind`.
        work : float array, shape (iteration, rank, event), seconds
            Own work before an event.
        rest : float64 array, shape (iteration, rank), seconds
            Own work after the last event of a body.
        meeting : uint8 array, shape (iteration,)
            See `Meeting`.

        Returns
        -------
        float64 array, shape (iteration, rank), seconds
            When every rank ends a body, since the last meeting.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        ended = np.empty(rest.shape)
        walk = walk_ideal if work.size <= FEW else compiled(walk_ideal)
        walk(
            np.ascontiguousarray(kind),
            np.ascontiguousarray(work),
            np.ascontiguousarray(rest),
            np.ascontiguousarray(meeting),
            self._first,
            self._source,
            self._clock,
            self._sent,
            self._queue,
            self._ends,
            ended,
        )
        if self._ends[1] - self._ends[0] > MOST_PENDING:
            raise DataError(
                f"More than {MOST_PENDING} reductions were posted and not completed: the events "
                "of this run do not fit together."
            )
        return ended


def walk_ideal(
    kind: NDArray[np.uint8],
    work: NDArray[np.floating[Any]],
    rest: NDArray[np.float64],
    meeting: NDArray[np.uint8],
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    clock: NDArray[np.float64],
    sent: NDArray[np.float64],
    queue: NDArray[np.float64],
    ends: NDArray[np.int64],
    ended: NDArray[np.float64],
) -> None:
    """Walk through bodies; neighbours of rank p are source[first[p]:first[p + 1]]."""
    ranks = clock.size
    pending = queue.size
    for body in range(kind.shape[0]):
        if meeting[body] > 0:
            clock[:] = 0.0
            sent[:] = 0.0
            queue[:] = 0.0
            if meeting[body] > 1:
                ends[:] = 0
        for event in range(kind.shape[1]):
            what = kind[body, event]
            if what == NONE:
                break
            last = 0.0
            for rank in range(ranks):
                clock[rank] += work[body, rank, event]
                last = max(last, clock[rank])
            if what == REDUCE:
                for rank in range(ranks):
                    clock[rank] = last
            elif what == POST:
                queue[ends[1] % pending] = last
                ends[1] += 1
            elif what == SEND:
                for rank in range(ranks):
                    sent[rank] = clock[rank]
            elif what == COMPLETE:
                if ends[1] > ends[0]:
                    done = queue[ends[0] % pending]
                    ends[0] += 1
                    for rank in range(ranks):
                        clock[rank] = max(clock[rank], done)
            else:
                for rank in range(ranks):
                    come = clock[rank]
                    for edge in range(first[rank], first[rank + 1]):
                        come = max(come, sent[source[edge]])
                    clock[rank] = come
        for rank in range(ranks):
            clock[rank] += rest[body, rank]
            ended[body, rank] = clock[rank]
