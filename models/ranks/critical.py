"""The critical path: from the end of a run back to its begin, always by whoever was waited for.

At a blocking reduction the path goes to the rank that came last; at the completion of one that was
posted, to the rank that posted last, if it is that post which was waited for; at the receipt of a
halo, to the neighbour that sent last, if the rank waited for it. Work on the path is what a run
would be shorter by, if it took no time. Ranks without any of it can be slower without anybody
noticing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled
from hindmost.models.stochastic.replay import (
    COMPLETE,
    NONE,
    POST,
    REDUCE,
    SEND,
    EventBlock,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """What every rank has of the critical path.

    Attributes
    ----------
    seconds : float64 array, shape (rank,)
        Own work on the path.
    visits : int64 array, shape (rank,)
        How often the path comes to the rank.
    """

    seconds: NDArray[np.float64]
    visits: NDArray[np.int64]

    @property
    def length_s(self) -> float:
        """Own work on the path, of all ranks, in seconds."""
        return float(self.seconds.sum())


class PathSum:
    """The critical path of a run, block by block; at a block's end all ranks are taken to meet.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    lag : int
        Posted reductions that a completion leaves pending.
    """

    def __init__(
        self,
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        lag: int = 0,
    ) -> None:
        order = np.argsort(edge_target, kind="stable")
        self._first = np.searchsorted(edge_target[order], np.arange(ranks + 1)).astype(np.int64)
        self._source = edge_source[order].astype(np.int64)
        self._lag = lag
        self._seconds, self._visits = np.zeros(ranks), np.zeros(ranks, np.int64)

    def add(self, block: EventBlock) -> None:
        """Walk through bodies, and back."""
        borders = np.unique(
            np.concatenate([[0], np.flatnonzero(block.cycle_begins), [len(block.kind)]])
        )
        for first, last in pairwise(borders):
            compiled(walk_back)(
                block.kind[first:last],
                np.asarray(block.work[first:last], np.float64),
                np.asarray(block.duration[first:last], np.float64),
                np.asarray(block.rest[first:last], np.float64),
                self._lag,
                self._first,
                self._source,
                self._seconds,
                self._visits,
            )

    def result(self) -> CriticalPath:
        """Return the path so far."""
        return CriticalPath(seconds=self._seconds.copy(), visits=self._visits.copy())


def walk_back(
    kind: NDArray[np.uint8],
    work: NDArray[np.float64],
    duration: NDArray[np.float64],
    rest: NDArray[np.float64],
    lag: int,
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    seconds: NDArray[np.float64],
    visits: NDArray[np.int64],
) -> None:
    """Walk forward noting who was waited for, then back; one place an event, and one a body's end.

    ``waited`` holds the rank that was waited for, and ``where`` the place at which that rank was
    then; -1 for nobody.
    """
    bodies, events = kind.shape
    ranks = rest.shape[1]
    places = bodies * (events + 1)
    own = np.zeros((places, ranks))
    waited = np.full((places, ranks), -1, np.int32)
    where = np.zeros(places, np.int64)
    clock, sent = np.zeros(ranks), np.zeros(ranks)
    sent_at = -1
    posted = np.zeros(bodies * events)
    poster = np.zeros(bodies * events, np.int32)
    posted_at = np.zeros(bodies * events, np.int64)
    posts, completions = 0, 0
    for body in range(bodies):
        for event in range(events):
            place = body * (events + 1) + event
            what = kind[body, event]
            if what == NONE:
                break
            last, who = -1.0, 0
            for rank in range(ranks):
                spent = work[body, rank, event]
                if what in (POST, SEND):
                    spent += duration[body, rank, event]
                own[place, rank] = spent
                clock[rank] += spent
                if clock[rank] > last:
                    last, who = clock[rank], rank
            if what == REDUCE:
                where[place] = place
                for rank in range(ranks):
                    clock[rank] = last
                    waited[place, rank] = who
            elif what == POST:
                posted[posts], poster[posts], posted_at[posts] = last, who, place
                posts += 1
            elif what == SEND:
                sent_at = place
                for rank in range(ranks):
                    sent[rank] = clock[rank]
            elif what == COMPLETE:
                if posts - completions > lag:
                    where[place] = posted_at[completions]
                    for rank in range(ranks):
                        if posted[completions] > clock[rank]:
                            clock[rank] = posted[completions]
                            waited[place, rank] = poster[completions]
                    completions += 1
            elif sent_at >= 0:
                where[place] = sent_at
                for rank in range(ranks):
                    for edge in range(first[rank], first[rank + 1]):
                        if sent[source[edge]] > clock[rank]:
                            clock[rank] = sent[source[edge]]
                            waited[place, rank] = source[edge]
        place = body * (events + 1) + events
        for rank in range(ranks):
            own[place, rank] = rest[body, rank]
            clock[rank] += rest[body, rank]
    rank = 0
    for other in range(1, ranks):
        if clock[other] > clock[rank]:
            rank = other
    visits[rank] += 1
    place = places - 1
    while place >= 0:
        next_ = waited[place, rank]
        if next_ >= 0:
            if next_ != rank:
                visits[next_] += 1
            rank = next_
            place = where[place]
        seconds[rank] += own[place, rank]
        place -= 1
