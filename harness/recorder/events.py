"""The events of a body: where in it the rank depends on others, and its own work between them.

Three numbers tell how ranks that do different work hold each other up: when a rank gets to an
event, how long it is kept there, and whom it needs. The first two are found here, of every body.

A call that neither sends nor waits for another rank (a test that fails) is no event. Its time is
counted to the event that follows in the body, so that it is not work. Access to files is the rank's
own doing, and stays between the events.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import NS, Flag
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import NO_GROUP, PADDING, PART, RankEvents
from hindmost.models.events import EventKind

MOST_CELLS = 1 << 24
"""Bodies, times events of the longest one, up to which the events of a rank are kept."""

MERGED = (EventKind.SEND, EventKind.RECEIVE)
"""Of these, calls in a row are one event; every reduction and every wait for one is its own."""

PREPARED = ("send", "parts", "receive", "neighbours", "meeting")
PREPARES = tuple(f"prepares_{what}" for what in PREPARED)
ONE_WAY = {
    "meets_from_root": EventKind.FROM_ROOT,
    "meets_at_root": EventKind.TO_ROOT,
    "meets_in_order": EventKind.IN_ORDER,
}
NO_EVENTS = (*PREPARES, "asks", "forgets", "frees")
COMPLETES = tuple(
    f"{what}_{how}" for what in ("waits", "tests") for how in ["one", "all", "any", "some"]
)
SENDS = ("sends",)
FILES = ("files", "starts_file")
EXCHANGES = ("exchanges", "neighbours")
RECEIVES = ("receives", "takes", "looks", "accesses", *EXCHANGES, *COMPLETES)
"""Classes of calls, as in the C source: collectives in which not all wait for all, of no event, of
files, that complete requests, that send and block, that send and receive at once, and that need
what a neighbour sent. All others send, reduce or post, by their phase."""

HALO, WAIT, POST = (MPI_PHASES.index(name) for name in ("halo", "wait", "post"))
NO_EVENT, BLOCKED = -1, -2


def events_of_bodies(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    calls: NDArray[np.void],
    classes: tuple[str, ...],
    sources: tuple[int, ...] = (),
) -> tuple[RankEvents | None, str]:
    """Find the events of every body.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    calls : structured array, shape (call,)
        MPI intervals in the order of time; perhaps with a ``context`` and a ``function`` each.
    classes : tuple of str
        Of MPI calls, by their number in the records.
    sources : tuple of int
        Ranks whose messages receipts need, by bit.

    Returns
    -------
    RankEvents or None
    str
        Why there are no events; empty if there are.
    """
    body = np.searchsorted(begin, calls["begin_ns"], side="right") - 1
    inside = (body >= 0) & (calls["begin_ns"] < end[np.maximum(body, 0)])
    body, calls = body[inside], calls[inside]
    if ((calls["flags"] & (Flag.PART | Flag.GROUP)) == Flag.PART).any():
        return None, PART
    if (calls["flags"] & Flag.LATE).any():
        return None, "collectives were completed in another order than they were started"
    call, kind = kinds_of_calls(calls, classes)
    body = body[call]
    # What a blocking send takes is no work: it may wait for the receiver. It counts to the message
    # after it, of the same function if that is sent; else it is like a receipt that needs nobody's.
    function = np.zeros(call.size, np.int64)
    if "function" in (calls.dtype.names or ()):
        function = calls["function"][call]
    real = np.flatnonzero(kind >= 0)
    after = np.append(real, 0)[np.searchsorted(real, np.arange(kind.size))]
    goes_on = (after > np.arange(kind.size)) & (body[after] == body)
    goes_on &= (kind[after] == EventKind.RECEIVE) | (
        (kind[after] == EventKind.SEND) & (function[after] == function)
    )
    blocked = kind == BLOCKED
    kind = np.where(blocked, np.where(goes_on, NO_EVENT, EventKind.RECEIVE), kind)
    # Further events of a call take no time.
    more = np.zeros(call.size, np.bool_)
    more[1:] = call[1:] == call[:-1]
    sends_first = kind == EventKind.SEND
    sends_first[:-1] &= more[1:] & (kind[1:] != EventKind.POST)
    sends_first[-1:] = False
    spent = np.where(more, 0, (calls["end_ns"] - calls["begin_ns"])[call])
    spent[among(calls, classes, FILES)[call]] = 0
    ends = calls["end_ns"][call]
    exchange = np.flatnonzero(sends_first)
    spent[exchange + 1], spent[exchange] = spent[exchange], 0
    ends[exchange] = calls["begin_ns"][call[exchange]]
    # A body of which no call is an event sends, in effect, to nobody.
    has_event = np.zeros(begin.size, np.bool_)
    has_event[body[kind != NO_EVENT]] = True
    kind = np.where(has_event[body], kind, EventKind.SEND)
    event = numbers_of_events(body, kind)
    first = np.ones(event.size, np.bool_)
    first[1:] = event[1:] != event[:-1]
    last = np.append(first[1:], True) if first.size else first
    body_of, ends = body[first], ends[last]
    kind_of = np.zeros(body_of.size, np.uint8)
    kind_of[event[kind != NO_EVENT]] = kind[kind != NO_EVENT]
    spent_in = np.bincount(event, weights=spent, minlength=body_of.size)
    # Own work lies between the end of an event, or the begin of the body, and the next event; what
    # lies between the calls of one event is own work before it.
    number = np.arange(body_of.size) - np.searchsorted(body_of, body_of)
    count = max(int(number.max(initial=-1)) + 1, 1)
    if begin.size * count > MOST_CELLS:
        return None, f"a body has {count:,} events, too many to keep of {begin.size:,} bodies"
    since = np.append(0, ends[:-1]) if ends.size else ends
    since = np.where(number == 0, begin[body_of], since)
    shape = (begin.size, count)
    kinds = np.zeros(shape, np.uint8)
    works, durations = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    kinds[body_of, number] = kind_of
    works[body_of, number] = ((ends - since) - spent_in) * NS
    durations[body_of, number] = spent_in * NS
    known: dict[str, NDArray[Any]] = {}
    named, receipt = (calls["flags"][call] & Flag.GROUP) != 0, kind == EventKind.RECEIVE
    if (grouped := named & ~np.isin(kind, (NO_EVENT, *MERGED))).any():
        at = event[grouped]
        known["group"] = np.full(shape, NO_GROUP, np.int32)
        known["group"][body_of[at], number[at]] = calls["count"][call[grouped]]
    if ((named | blocked) & receipt).any():
        # All calls of a receipt must say whose messages they need.
        of = np.where(kind_of == EventKind.RECEIVE, 0, -1).astype(np.int32)
        said = np.where(named, calls["count"][call], -1)
        said = np.where(blocked, 0, said).astype(np.int32)
        np.bitwise_or.at(of, event[receipt], said[receipt])
        known["needs"] = np.full(shape, -1, np.int32)
        known["needs"][body_of, number] = np.where(of >> len(sources) == 0, of, -1)
    if "context" in (calls.dtype.names or ()):
        at, of = np.flatnonzero(kind != NO_EVENT)[::-1], np.zeros(body_of.size, np.uint32)
        of[event[at]] = calls["context"][call[at]]  # that of its first call comes last
        known["context"] = np.zeros(shape, np.uint32)
        known["context"][body_of, number] = of
    found = RankEvents(kind=kinds, work=works, duration=durations, sources=sources, **known)
    return found, ""


class EventsInParts:
    """Events of bodies that are found some bodies at a time, and then put together.

    Parameters
    ----------
    bodies : int
        Of all parts.
    """

    def __init__(self, bodies: int) -> None:
        self._bodies = bodies
        self._parts: list[RankEvents] = []
        self.why_not = ""

    def add(self, found: RankEvents | None, why_not: str = "") -> None:
        """Add the events of the next bodies, or why there are none."""
        width = 0 if found is None else found.kind.shape[1]
        if self._bodies * width > MOST_CELLS:
            why_not = f"a body has {width:,} events, too many to keep of {self._bodies:,} bodies"
        if found is None or why_not:
            self.why_not = self.why_not or why_not
            self._parts.clear()
        else:
            self._parts.append(found)

    def together(self) -> RankEvents | None:
        """Return all events, None if some are not there; each part is dropped on the way."""
        known = self._parts
        if len(known) <= 1 or self.why_not:
            return known[0] if known and not self.why_not else None
        width = max(each.kind.shape[1] for each in known)
        sources = tuple(dict.fromkeys(rank for each in known for rank in each.sources))
        names = [name for name in PADDING if any(each.knows(name) for each in known)]
        names = list(dict.fromkeys(("kind", "work", "duration", *names)))
        parts = [
            each.arrays() | ({"needs": each.needs_by(sources)} if "needs" in names else {})
            for each in known
        ]
        known.clear()
        arrays = {}
        for name in names:
            own = [part.pop(name) for part in parts]
            whole = np.full((self._bodies, width), PADDING[name], own[0].dtype)
            at = 0
            for each in own:
                rows, columns = each.shape
                whole[at : at + rows, :columns] = each
                at += rows
            arrays[name] = whole
        return RankEvents(sources=sources, **arrays)


def among(
    calls: NDArray[np.void], classes: tuple[str, ...], wanted: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return which calls are of certain classes: bool, shape (call,)."""
    by_number = np.array([each in wanted for each in classes], np.bool_)
    return np.asarray(by_number[-1 - calls["what"]])


def kinds_of_calls(
    calls: NDArray[np.void], classes: tuple[str, ...]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the events that MPI calls are part of, by their class and phase.

    A call may be several: an exchange sends and receives, and one call may start or complete
    several collectives.

    Returns
    -------
    call : int array, shape (event,)
        Which call an event is of.
    kind : int array, shape (event,)
        See `EventKind`; `NO_EVENT` for calls that are not events, `BLOCKED` for the time of a send.
    """
    phase = calls["phase"]
    count = np.where(calls["flags"] & Flag.GROUP, 0, calls["count"]).astype(np.int64)
    idle = among(calls, classes, NO_EVENTS)
    idle |= (calls["flags"] & (Flag.INCOMPLETE | Flag.ALONE | Flag.OWN)) != 0
    completes = among(calls, classes, COMPLETES)
    sends = among(calls, classes, SENDS) & (phase == HALO)
    exchanges = among(calls, classes, EXCHANGES) & (phase == HALO)
    idle |= completes & (phase == WAIT) & (count == 0)
    kind = np.select(
        [
            idle,
            exchanges | sends,
            (phase == HALO) & among(calls, classes, RECEIVES),
            phase == HALO,
            phase == POST,
            (phase == WAIT) & completes,
            *((phase == WAIT) & among(calls, classes, (each,)) for each in ONE_WAY),
            phase == WAIT,
        ],
        [
            NO_EVENT,
            EventKind.SEND,
            EventKind.RECEIVE,
            EventKind.SEND,
            EventKind.POST,
            EventKind.COMPLETE,
            *ONE_WAY.values(),
            EventKind.REDUCE,
        ],
        NO_EVENT,
    ).astype(np.int64)
    # Collectives come after the exchange in a call that does both.
    again = np.where(phase == HALO, count, np.maximum(count - 1, 0))
    times = np.where(idle, 1, 1 + again + exchanges + sends)
    call = np.repeat(np.arange(calls.size), times)
    place = np.arange(call.size) - np.repeat(np.cumsum(times) - times, times)
    later = np.where(completes, EventKind.COMPLETE, EventKind.POST)
    later = np.where(exchanges, EventKind.RECEIVE, np.where(sends, BLOCKED, later))
    return call, np.where(place == 0, kind[call], later[call])


def numbers_of_events(body: NDArray[np.int64], kind: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the events that calls are part of, from 0 over all bodies.

    Parameters
    ----------
    body, kind : int array, shape (call,)
        In every body there is a call whose kind is not `NO_EVENT`; such calls are part of the next
        event of the body, or of its last one.
    """
    real = np.flatnonzero(kind != NO_EVENT)
    if not real.size:
        return np.empty(0, np.int64)
    # An event begins at a call that the one before it in the same body does not go on with.
    begins = np.ones(real.size, np.bool_)
    begins[1:] = (body[real][1:] != body[real][:-1]) | (kind[real][1:] != kind[real][:-1])
    begins |= ~np.isin(kind[real], MERGED)
    number = np.cumsum(begins) - 1
    after = np.minimum(np.searchsorted(real, np.arange(kind.size)), real.size - 1)
    wrong = (body[real[after]] != body) | (real[after] < np.arange(kind.size))
    return np.asarray(number[np.where(wrong, after - (real[after] > np.arange(kind.size)), after)])
