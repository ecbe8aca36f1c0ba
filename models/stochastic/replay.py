"""The exact recursion: a solve walked through again, event by event, with the work given.

Own work takes every rank from event to event. At a blocking reduction nobody goes on before all
have come; a non-blocking one can be completed once all have posted it; a halo once the neighbours
have sent it. These are maxima of sums: the recursion is linear in max-plus algebra.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import compiled
from hindmost.models.events import EventKind

NONE, REDUCE, POST, COMPLETE, SEND, RECEIVE = (int(kind) for kind in EventKind)
KINDS = len(EventKind)
MOST_PENDING = 64
"""Non-blocking reductions that may be under way at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBlock:
    """The events of some bodies in a row, on all ranks.

    Attributes
    ----------
    kind : uint8 array, shape (iteration, event)
        See `EventKind`; what follows the first NONE of a body is not looked at.
    work : float array, shape (iteration, rank, event), seconds
        Own work before an event.
    duration : float array, shape (iteration, rank, event), seconds
        Time in an event; only that of posts and sends is own work, and is used.
    rest : float array, shape (iteration, rank), seconds
        Own work after the last event of a body.
    cycle_begins : bool array, shape (iteration,)
        Before these bodies all ranks meet.
    """

    kind: NDArray[np.uint8]
    work: NDArray[np.floating[Any]]
    duration: NDArray[np.floating[Any]]
    rest: NDArray[np.floating[Any]]
    cycle_begins: NDArray[np.bool_]

    def part(self, rows: slice) -> EventBlock:
        """Return some of the bodies."""
        return EventBlock(
            kind=self.kind[rows],
            work=self.work[rows],
            duration=self.duration[rows],
            rest=self.rest[rows],
            cycle_begins=self.cycle_begins[rows],
        )


def whole_bodies(
    work: NDArray[np.float64], lag: int, cycle_begins: NDArray[np.bool_]
) -> EventBlock:
    """Take whole bodies for events.

    Blocking ones end with a reduction. Others begin with the completion of the one that is due and
    the receipt of halos, and end with sending and posting their own.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    lag : int
        0 for blocking reductions.
    cycle_begins : bool array, shape (iteration,)
    """
    kinds = [REDUCE] if lag == 0 else [COMPLETE, RECEIVE, SEND, POST]
    before = np.zeros((*work.shape, len(kinds)))
    before[:, :, kinds.index(REDUCE if lag == 0 else SEND)] = work
    return EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (len(work), 1)),
        work=before,
        duration=np.zeros_like(before),
        rest=np.zeros_like(work),
        cycle_begins=cycle_begins,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """What events cost beside the waiting for others.

    Attributes
    ----------
    latency : float64 array, shape (event, kind), seconds
        From the moment when the last rank has come, posted or sent.
    overhead : float64 array, shape (event, kind), seconds
        The least that a completion or a receipt costs, however late it comes.
    """

    latency: NDArray[np.float64]
    overhead: NDArray[np.float64]

    @classmethod
    def of_reductions(cls, events: int, latency_s: float) -> Latencies:
        """Return those of reductions that take so long, wherever they stand; all else is free."""
        latency = np.zeros((events, KINDS))
        latency[:, [REDUCE, COMPLETE]] = latency_s
        return cls(latency=latency, overhead=np.zeros((events, KINDS)))


class Replay:
    """A solve that is walked through block by block; `elapsed_s` says how far it is.

    Parameters
    ----------
    latencies : Latencies
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    lag : int
        Posted reductions that a completion leaves pending.
    pending_s : float
        What reductions that are pending at the end of a cycle take, in seconds.
    """

    def __init__(
        self,
        ranks: int,
        latencies: Latencies,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        lag: int = 0,
        pending_s: float = 0.0,
    ) -> None:
        order = np.argsort(edge_target, kind="stable")
        self._first = np.searchsorted(edge_target[order], np.arange(ranks + 1)).astype(np.int64)
        self._source = edge_source[order].astype(np.int64)
        self._latencies = latencies
        self._lag, self._pending_s = lag, pending_s
        self._clock = np.zeros(ranks)
        self._sent = np.zeros(ranks)
        self._queue = np.zeros(MOST_PENDING)
        self._ends = np.zeros(2, np.int64)  # of the queue: first and one past the last
        self._before = 0.0

    @property
    def elapsed_s(self) -> float:
        """Time of all bodies so far, in seconds."""
        last = float(self._clock.max())
        if self._ends[1] > self._ends[0]:
            posted = self._queue[(self._ends[1] - 1) % MOST_PENDING]
            last = max(last, float(posted) + self._pending_s)
        return self._before + last

    def advance(self, block: EventBlock) -> None:
        """Walk through the next bodies.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        borders = np.flatnonzero(block.cycle_begins)
        edges = np.unique(np.concatenate([[0], borders, [block.kind.shape[0]]]))
        for first, last in pairwise(edges):
            if block.cycle_begins[first]:
                self._before = self.elapsed_s
                self._clock[:] = self._sent[:] = 0.0
                self._ends[:] = 0
            compiled(walk)(
                block.kind[first:last],
                block.work[first:last],
                block.duration[first:last],
                block.rest[first:last],
                self._latencies.latency,
                self._latencies.overhead,
                self._lag,
                self._first,
                self._source,
                self._clock,
                self._sent,
                self._queue,
                self._ends,
            )
            if self._ends[1] - self._ends[0] > MOST_PENDING:
                raise DataError(
                    f"More than {MOST_PENDING} reductions were posted and not completed: the "
                    "events of this run do not fit together."
                )


def walk(
    kind: NDArray[np.uint8],
    work: NDArray[np.float64],
    duration: NDArray[np.float64],
    rest: NDArray[np.float64],
    latency: NDArray[np.float64],
    overhead: NDArray[np.float64],
    lag: int,
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    clock: NDArray[np.float64],
    sent: NDArray[np.float64],
    queue: NDArray[np.float64],
    ends: NDArray[np.int64],
) -> None:
    """Walk through bodies; neighbours of rank p are source[first[p]:first[p + 1]]."""
    ranks = clock.size
    pending = queue.size
    for body in range(kind.shape[0]):
        for event in range(kind.shape[1]):
            what = kind[body, event]
            if what == NONE:
                break
            last = 0.0
            for rank in range(ranks):
                clock[rank] += work[body, rank, event]
                if what in (POST, SEND):
                    clock[rank] += duration[body, rank, event]
                last = max(last, clock[rank])
            cost = latency[event, what]
            least = overhead[event, what]
            if what == REDUCE:
                for rank in range(ranks):
                    clock[rank] = last + cost
            elif what == POST:
                queue[ends[1] % pending] = last
                ends[1] += 1
            elif what == SEND:
                for rank in range(ranks):
                    sent[rank] = clock[rank]
            elif what == COMPLETE:
                done = 0.0
                if ends[1] - ends[0] > lag:
                    done = queue[ends[0] % pending] + cost
                    ends[0] += 1
                for rank in range(ranks):
                    clock[rank] = max(clock[rank] + least, done)
            else:
                for rank in range(ranks):
                    come = clock[rank] + least
                    for edge in range(first[rank], first[rank + 1]):
                        come = max(come, sent[source[edge]] + cost)
                    clock[rank] = come
        for rank in range(ranks):
            clock[rank] += rest[body, rank]
