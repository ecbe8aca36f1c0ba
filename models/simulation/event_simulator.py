"""The one walk over events: who waits for whom, and until when.

A rank works from event to event. At a blocking reduction no rank continues before all have arrived.
A non-blocking reduction can complete once all ranks have posted it, and a rank receives a halo once
its neighbours have sent it. With t_p the clock of rank p and w_p its own work before an event::

    reduction     t_p <- max_q (t_q + w_q) + L
    completion    t_p <- max(t_p + w_p, P_p + L),  P_p = max_q of the clocks at its post
    receipt       t_p <- max(t_p + w_p, max_q (s_q + L)),  s_q = when neighbour q sent the message

Of a broadcast and a reduction to a root that do not block, q is the one rank that p needs, or none.

A receipt also completes what its rank has sent. With an MPI that does so only while the receiver
is inside MPI, exchanges meet: s_q is then when q comes to its own receipt, unless p had sent before
q left MPI for the last time.

After any of them a rank may stay for a time of its own, such as a slow transfer.

These are maxima of sums: the walk is linear in max-plus algebra, where a maximum is the addition
and a sum the multiplication (F. Baccelli, G. Cohen, G. J. Olsder and J.-P. Quadrat,
"Synchronization and Linearity", 1992).

What differs between models is data: the costs L (latency) of events, how long single ranks stay,
and what is noted. `Waits` notes which term of each maximum was the largest, which is what a
critical path follows back. Where the clocks were recorded, the same walk says until when others
kept a rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import declared
from hindmost.models.events import MAX_PENDING
from hindmost.models.simulation.blocks import (
    COMPLETE,
    FROM_ROOT,
    IN_ORDER,
    KINDS,
    MAX_BITS,
    NO_GROUP,
    NONE,
    ONE_WAY,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    TO_ROOT,
    UNKNOWN,
    EventBlock,
    Neighbours,
    slabs,
)
from hindmost.models.simulation.path import Waits

FEW_EVENTS = 100_000
"""Events of all ranks that are walked faster than numba is imported, which takes half a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Recorded clocks, by which a walk goes instead of its own, and what it finds.

    Attributes
    ----------
    come, leave : float64 array, shape (iteration, event, rank), seconds
        When a rank comes to an event, and leaves it.
    released : float64 array, shape (iteration, event, rank), seconds
        Is filled with the time from which on nobody else kept it, without what the event costs;
        minus infinity where it depends on nobody.
    by : int32 array, shape (iteration, event, rank), or empty
        Is filled with who released it, -1 for nobody.
    """

    come: NDArray[np.float64]
    leave: NDArray[np.float64]
    released: NDArray[np.float64]
    by: NDArray[np.int32]

    def part(self, rows: slice) -> Recorded:
        """Return some of the bodies."""
        return Recorded(
            come=np.ascontiguousarray(self.come[rows]),
            leave=np.ascontiguousarray(self.leave[rows]),
            released=self.released[rows],
            by=self.by[rows],
        )


NOT_RECORDED = Recorded(
    come=np.empty((0, 0, 0)),
    leave=np.empty((0, 0, 0)),
    released=np.empty((0, 0, 0)),
    by=np.empty((0, 0, 0), np.int32),
)
"""For a walk with clocks of its own."""


def reductions_alike(events: int, latency_s: float) -> NDArray[np.float64]:
    """Return the same latency for every reduction, and none for other events: (event, kind), s."""
    latency = np.zeros((events, KINDS))
    latency[:, [REDUCE, COMPLETE, *ONE_WAY]] = latency_s
    return latency


class EventSimulator:
    """Ranks that walk through bodies, block by block.

    Parameters
    ----------
    ranks : int
    neighbours : Neighbours
    latency : float64 array, shape (event, kind), seconds, optional
        L: what events cost from the moment when the last rank has arrived, posted or sent. None: an
        ideal network.
    lag : int
        Posted reductions that a completion leaves pending.
    receipts_send : bool
        Whether a rank sends its halo when it comes to receive: calls that do both.
    exchanges_meet : bool
        Whether a receipt lasts until the neighbours are inside MPI after the rank has sent.
    pending : int
        Reductions that may be pending at once.

    Attributes
    ----------
    clock : float64 array, shape (rank,), seconds
        Since all ranks met.
    """

    def __init__(
        self,
        ranks: int,
        neighbours: Neighbours,
        latency: NDArray[np.float64] | None = None,
        *,
        lag: int = 0,
        receipts_send: bool = False,
        exchanges_meet: bool = False,
        pending: int = MAX_PENDING,
    ) -> None:
        self.clock = np.zeros(ranks)
        self._neighbours, self._latency = neighbours, latency
        self._lag, self._receipts_send = lag, receipts_send
        self._exchanges_meet = exchanges_meet and not receipts_send
        self._come, self._left = np.zeros((2, ranks))
        # When every rank had sent, at each of the last sends of the sequence, and where: a ring.
        self._sent, self._sent_at = np.zeros((1, ranks)), np.zeros(1, np.int64)
        self._sends = np.zeros(1, np.int64)  # so far
        # Posts that are pending, in a ring: when the last rank that each rank needs posted, which
        # one that was, and where.
        self._posted = np.zeros((pending, ranks))
        self._poster = np.zeros((pending, ranks), np.int32)
        self._posted_at = np.zeros(pending, np.int64)
        self._ends = np.zeros(2, np.int64)  # of the ring: the first, and one past the last

    def meet(self, at_s: float = 0.0) -> None:
        """Let all ranks stand together at a time, with nothing pending."""
        self.clock[:] = self._sent[:] = self._left[:] = at_s
        self._sent_at[:] = 0
        self._ends[:] = 0

    @property
    def last_post_s(self) -> float | None:
        """When the last rank posted the latest reduction, in seconds; None if none is pending."""
        if self._ends[1] == self._ends[0]:
            return None
        return float(self._posted[(self._ends[1] - 1) % len(self._posted)].max())

    def walk_cycles(self, block: EventBlock, *, ended: NDArray[np.float64] | None = None) -> None:
        """Walk through bodies, before some of which all ranks meet.

        Parameters
        ----------
        block : EventBlock
            The next bodies. What their events took is not walked through.
        ended : float64 array, shape (iteration, rank), seconds, optional
            Is filled with the time at which every rank ends a body, since all ranks met.

        Raises
        ------
        DataError
            See `walk`.
        """
        for rows in block.cycles():
            if block.cycle_begins[rows.start]:
                self.meet()
            self.walk(
                block.part(rows),
                ended=None if ended is None else ended[rows],
                interpret=block.work.size <= FEW_EVENTS,
            )

    def walk(
        self,
        block: EventBlock,
        *,
        own_time: bool = False,
        stay: NDArray[np.floating[Any]] | None = None,
        ended: NDArray[np.float64] | None = None,
        left: NDArray[np.float64] | None = None,
        waits: Waits | None = None,
        recorded: Recorded = NOT_RECORDED,
        interpret: bool = False,
    ) -> None:
        """Walk through bodies before none of which ranks meet.

        Parameters
        ----------
        block : EventBlock
        own_time : bool
            Whether events take the own time that was recorded of them.
        stay : float array, shape (iteration, rank, event), seconds, optional
            What keeps a rank at an event once it is released. May be negative, where recorded
            clocks say so.
        ended : float64 array, shape (iteration, rank), seconds, optional
            Is filled with the time at which every rank ends a body.
        left : float64 array, shape (iteration, rank, event), seconds, optional
            Is filled with the time at which every rank leaves an event, up to the last of a body.
        waits : Waits, optional
            Is filled, from the first body of this call on.
        recorded : Recorded, optional
            Clocks to go by; work is then not asked for.
        interpret : bool
            Do not compile: quicker up to some `FEW_EVENTS`.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        kind = block.kind
        bodies, events = kind.shape
        ranks = self.clock.size
        latency = np.zeros((events, KINDS)) if self._latency is None else self._latency
        step = walk_events.loop if interpret else walk_events
        noted = waits or Waits.of_places(0, 0)
        missing = np.empty((0, 0, 0), np.bool_) if block.absent is None else block.absent
        groups = np.empty((0, 0, 0), np.int32) if block.group is None else block.group
        earlier = np.empty((0, 0, 0), np.int32) if block.behind is None else block.behind
        # No message is behind all that were sent.
        most = int(np.count_nonzero(kind == SEND)) + len(self._sent)
        self._remember(min(int(earlier.max(initial=0)) + 1, most))
        all_rows = [slice(0, bodies)]  # what is noted counts its places from the first body
        for rows in slabs(bodies, ranks * events) if waits is None else all_rows:
            known = recorded.part(rows)
            step(
                np.ascontiguousarray(kind[rows]),
                as_float64(block.work[rows]),
                as_float64(block.duration[rows]) if own_time else np.empty((0, 0, 0)),
                as_float64(block.rest[rows]),
                np.empty((0, 0, 0)) if stay is None else as_float64(stay[rows]),
                np.ascontiguousarray(missing[rows]),
                np.ascontiguousarray(groups[rows], np.int32),
                np.ascontiguousarray(earlier[rows], np.int32),
                latency,
                self._lag,
                self._receipts_send,
                self._exchanges_meet,
                self._neighbours.first,
                self._neighbours.source,
                self.clock,
                self._sent,
                self._sent_at,
                self._sends,
                self._come,
                self._left,
                self._posted,
                self._poster,
                self._posted_at,
                self._ends,
                np.empty((0, 0)) if ended is None else ended[rows],
                np.empty((0, 0, 0)) if left is None else left[rows],
                noted.own,
                noted.waited,
                noted.since,
                noted.met,
                noted.cost,
                known.come,
                known.leave,
                known.released,
                known.by,
            )
        if self._ends[1] - self._ends[0] > len(self._posted):
            raise DataError(
                f"More than {len(self._posted)} reductions were posted and not completed: the "
                "events of this run do not fit together."
            )

    def _remember(self, sends: int) -> None:
        """Make room for more of the last sends; before those that are known, all was sent."""
        old = len(self._sent)
        if sends <= old:
            return
        order = (self._sends[0] - 1 - np.arange(old)) % old  # the latest comes first
        sent, at = self._sent[order], self._sent_at[order]
        self._sent = np.repeat(sent[-1:], sends, axis=0)
        self._sent_at = np.repeat(at[-1:], sends)
        places = (self._sends[0] - 1 - np.arange(old)) % sends
        self._sent[places], self._sent_at[places] = sent, at


def as_float64(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return values as one block of float64, so that the walk is compiled for that type only."""
    return np.ascontiguousarray(values, np.float64)


@declared(
    "(u1[:,::1], f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,:,::1], b1[:,:,::1], "
    "i4[:,:,::1], i4[:,:,::1], f8[:,::1], i8, b1, b1, i8[::1], i8[::1], "
    "f8[::1], f8[:,::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], i4[:,::1], i8[::1], "
    "i8[::1], f8[:,::1], f8[:,:,::1], f8[:,::1], i4[:,::1], i8[:,::1], b1[:,::1], f8[:,::1], "
    "f8[:,:,::1], f8[:,:,::1], f8[:,:,::1], i4[:,:,::1])"
)
def walk_events(
    kind: NDArray[np.uint8],
    work: NDArray[np.float64],
    duration: NDArray[np.float64],
    rest: NDArray[np.float64],
    stay: NDArray[np.float64],
    absent: NDArray[np.bool_],
    group: NDArray[np.int32],
    behind: NDArray[np.int32],
    latency: NDArray[np.float64],
    lag: int,
    receipts_send: bool,
    exchanges_meet: bool,
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    clock: NDArray[np.float64],
    sent: NDArray[np.float64],
    sent_places: NDArray[np.int64],
    sends: NDArray[np.int64],
    come_to: NDArray[np.float64],
    left: NDArray[np.float64],
    posted: NDArray[np.float64],
    poster: NDArray[np.int32],
    posted_at: NDArray[np.int64],
    ends: NDArray[np.int64],
    ended: NDArray[np.float64],
    leaves: NDArray[np.float64],
    own: NDArray[np.float64],
    waited: NDArray[np.int32],
    since: NDArray[np.int64],
    met: NDArray[np.bool_],
    costs: NDArray[np.float64],
    come: NDArray[np.float64],
    gone: NDArray[np.float64],
    released: NDArray[np.float64],
    by: NDArray[np.int32],
) -> None:
    """Advance the clocks t_p through bodies, by the recursion in the description of this module.

    What is not wanted (durations, stays, who is absent, when ranks end and leave, who waited) and
    what was not recorded comes as an empty array.
    """
    bodies, events = kind.shape
    ranks, pending, depth = clock.size, len(posted), len(sent)
    staying, ending, noting = stay.size > 0, ended.size > 0, waited.size > 0
    leaving, missing, timed = leaves.size > 0, absent.size > 0, duration.size > 0
    lagging = behind.size > 0
    recorded, named = come.size > 0, by.size > 0
    # Of a group of ranks: who came last, and when; all ranks are the last one.
    done, whose = np.empty(ranks + 1), np.empty(ranks + 1, np.int64)
    # Until when others keep each rank at an event, who does, and whether by coming there.
    until, keeper = np.empty(ranks), np.empty(ranks, np.int64)
    meets, places = np.empty(ranks, np.bool_), np.empty(ranks, np.int64)
    for at in range(depth):
        sent_places[at] = 0  # places count from the first body
    for body in range(bodies):
        for event in range(events):
            what = kind[body, event]
            if what == NONE:
                break
            place = body * (events + 1) + event
            cost = latency[event, what]
            alone = what in (POST, SEND, UNKNOWN)
            # t_p + w_p: every rank works up to the event; ``latest`` is the one that comes last, in
            # a simulation not before the begin, where events cost less than nothing.
            last, latest = -np.inf if recorded else 0.0, 0
            for rank in range(ranks):
                if recorded:
                    clock[rank] = gone[body, event, rank] if alone else come[body, event, rank]
                else:
                    spent = work[body, rank, event]
                    if timed and alone:
                        spent += duration[body, rank, event]
                    clock[rank] += spent
                    if noting:
                        own[place, rank] = spent
                if clock[rank] > last:
                    last, latest = clock[rank], rank
            until[:], keeper[:], meets[:], places[:] = -np.inf, -1, False, place
            together = what == REDUCE and not group.size
            if together:
                # max_q (t_q + w_q)
                until[:], keeper[:] = last, latest
            elif what in (REDUCE, FROM_ROOT, TO_ROOT, IN_ORDER):
                # t_q + w_q of those q of the group that p needs: all, the root, as the root the
                # others, or those before p.
                done[:], whose[:] = -np.inf, -1
                for rank in range(ranks):
                    of = group[body, rank, event] if group.size else NO_GROUP
                    gives = what == REDUCE or (rank == of) == (what == FROM_ROOT)
                    if gives and what != IN_ORDER and clock[rank] > done[of]:
                        done[of], whose[of] = clock[rank], rank
                for rank in range(ranks):
                    of = group[body, rank, event] if group.size else NO_GROUP
                    takes = what in (REDUCE, IN_ORDER) or (rank == of) == (what == TO_ROOT)
                    if takes:
                        until[rank], keeper[rank] = done[of], whose[of]
                    if what == IN_ORDER and clock[rank] > done[of]:
                        done[of], whose[of] = clock[rank], rank
            elif what == POST:
                # P_p = max_q t_q, or t_q of the rank that p needs, joins the ring; nobody waits.
                newest = ends[1] % pending
                posted[newest], poster[newest], posted_at[newest] = last, latest, place
                if group.size:
                    for rank in range(ranks):
                        of = group[body, rank, event]
                        if of != NO_GROUP:
                            posted[newest, rank] = clock[of]
                            poster[newest, rank] = of if of != rank else -1
                ends[1] += 1
            elif what == COMPLETE:
                # P_p of the oldest post, if more than the lag are pending; else nothing is due yet.
                if ends[1] - ends[0] > lag:
                    oldest = ends[0] % pending
                    places[:] = posted_at[oldest]
                    ends[0] += 1
                    for rank in range(ranks):
                        if poster[oldest, rank] >= 0:
                            until[rank], keeper[rank] = posted[oldest, rank], poster[oldest, rank]
            elif what == SEND:
                # s_p = t_p
                last_sent, newest = (sends[0] - 1) % depth, sends[0] % depth
                for rank in range(ranks):
                    away = missing and absent[body, rank, event]
                    sent[newest, rank] = sent[last_sent, rank] if away else clock[rank]
                sent_places[newest] = place
                sends[0] += 1
            elif what == RECEIVE:
                # max over neighbours q of s_q
                newest = (sends[0] - 1) % depth
                if receipts_send:
                    sent[newest], sent_places[newest] = clock, place
                come_to[:] = clock
                for rank in range(ranks):
                    if missing and absent[body, rank, event]:
                        continue
                    needs = group[body, rank, event] if group.size else NO_GROUP
                    at = newest
                    if lagging:
                        at = (newest - behind[body, rank, event]) % depth
                    places[rank] = sent_places[at]
                    for edge in range(first[rank], first[rank + 1]):
                        number = edge - first[rank]
                        if needs < NO_GROUP and needs != NO_GROUP - 1 - number:
                            continue
                        if needs >= 0 and (number >= MAX_BITS or not (needs >> number) & 1):
                            continue
                        other = source[edge]
                        meet = exchanges_meet and sent[newest, rank] > left[other]
                        there = come_to[other] if meet else sent[at, other]
                        if there > until[rank]:
                            until[rank], keeper[rank], meets[rank] = there, other, meet
            # t_p = max(t_p + w_p, until + L), and what else keeps a rank, such as a slow transfer.
            for rank in range(ranks):
                if recorded:
                    released[body, event, rank] = until[rank]
                    if named:
                        by[body, event, rank] = keeper[rank]
                    clock[rank] = gone[body, event, rank]
                elif keeper[rank] >= 0 and (together or until[rank] + cost > clock[rank]):
                    clock[rank] = until[rank] + cost
                    if noting:
                        since[place, rank] = places[rank]
                        waited[place, rank] = keeper[rank]
                        met[place, rank] = meets[rank]
                        costs[place, rank] = cost
                if staying:
                    clock[rank] += stay[body, rank, event]
                if leaving:
                    leaves[body, rank, event] = clock[rank]
                if exchanges_meet and not alone and not (missing and absent[body, rank, event]):
                    left[rank] = clock[rank]
        # What is left of the body is own work.
        end = body * (events + 1) + events
        for rank in range(ranks):
            if not recorded:
                clock[rank] += rest[body, rank]
            if ending:
                ended[body, rank] = clock[rank]
            if noting:
                own[end, rank] = rest[body, rank]
