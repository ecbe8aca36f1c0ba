"""The events of a body: where in it the rank depends on others, and its own work between them.

Three numbers tell how ranks that do different work hold each other up: when a rank gets to an
event, how long it is kept there, and whom it needs. The first two are found here, of every body.

A call that neither sends nor waits for another rank (a test that fails) is no event. Its time is
counted to the event that follows in the body, so that it is not work. Access to files is the rank's
own doing, and stays between the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import NOBODY, NS, CallClass, Flag
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.runfile.bodies import MESSAGE, NO_GROUP, PADDING, PART, SUMMED, RankEvents
from hindmost.models.events import EventKind

MAX_CELLS = 1 << 24
"""Bodies, times events of the longest one, up to which the events of a rank are kept."""

MERGED = (EventKind.SEND, EventKind.RECEIVE)
"""Of these, calls in a row are one event; every reduction and every wait for one is its own."""
WORK_NS = 2000
"""Typical own work between two calls, in nanoseconds, above which they are two events: about what a
message costs."""

ONE_WAY = {
    CallClass.COLLECTIVE_FROM_ROOT: EventKind.FROM_ROOT,
    CallClass.COLLECTIVE_TO_ROOT: EventKind.TO_ROOT,
    CallClass.SCAN: EventKind.IN_ORDER,
}
NO_EVENTS = (
    *(CallClass.SEND_INIT, CallClass.PSEND_INIT, CallClass.RECV_INIT),
    *(CallClass.NEIGHBOR_COLLECTIVE_INIT, CallClass.COLLECTIVE_INIT),
    *(CallClass.GET_STATUS, CallClass.GET_STATUS_ALL),
    *(CallClass.REQUEST_FREE, CallClass.COMM_FREE),
)
COMPLETES = (
    *(CallClass.WAIT_ONE, CallClass.WAIT_ALL, CallClass.WAIT_ANY, CallClass.WAIT_SOME),
    *(CallClass.TEST_ONE, CallClass.TEST_ALL, CallClass.TEST_ANY, CallClass.TEST_SOME),
)
FILES = (CallClass.FILE_IO, CallClass.FILE_IO_REQUEST)
EXCHANGES = (CallClass.SENDRECV, CallClass.NEIGHBOR_COLLECTIVE)
PROBES = (CallClass.PROBE, CallClass.IPROBE)
RECEIVES = (
    *(CallClass.RECV, CallClass.RECV_MATCHED, CallClass.IMPROBE),
    *(CallClass.WIN_WAIT, CallClass.WIN_START, CallClass.FLAG_TEST),
    *PROBES,
    *EXCHANGES,
    *COMPLETES,
)
"""Classes of calls: collectives in which not all wait for all, of no event, of files, that complete
requests, that send and receive at once, that find a message and leave it there, and that need what
a neighbour sent. All others send, reduce or post, by
their phase."""
LATE = "collectives were completed in another order than they were started"

HALO, WAIT, POST = (MPI_PHASES.index(name) for name in ("halo", "wait", "post"))
NO_EVENT, BLOCKED = -1, -2


def events_of_bodies(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    calls: NDArray[np.void],
    classes: tuple[CallClass, ...],
    ranks: Mapping[int, int] | None = None,
    summed: NDArray[np.bool_] | None = None,
) -> tuple[RankEvents | None, str]:
    """Find the events of every body.

    Parameters
    ----------
    begin, end : int64 array, shape (body,), nanoseconds
    calls : structured array, shape (call,)
        MPI intervals in the order of time; perhaps with a ``context`` and a ``function`` each.
    classes : tuple of CallClass
        Of MPI calls, by their number in the records.
    ranks : mapping of int to int, optional
        The ranks of the run by their number in MPI_COMM_WORLD; None: they are the same.
    summed : bool array, shape (body,), optional
        Bodies of whose calls only sums are there.

    Returns
    -------
    RankEvents or None
        Bodies whose calls do not tell who waits for whom have one event, of `EventKind.UNKNOWN`.
    str
        Why there are no events, or why there are such bodies; empty if there are none.
    """
    messages, calls = messages_of(calls, classes, ranks)
    first_of = np.searchsorted(calls["begin_ns"], begin)  # calls are in the order of time
    body = np.repeat(np.arange(-1, begin.size), np.diff(first_of, prepend=0, append=len(calls)))
    inside = (body >= 0) & (calls["begin_ns"] < end[np.maximum(body, 0)])
    messages["body"] = np.where(inside, body, -1)[messages["event"]]
    number_inside = np.cumsum(inside) - 1
    messages["event"] = number_inside[messages["event"]]  # of the calls inside, so far
    body, calls = body[inside], calls[inside]
    in_part = (calls["flags"] & (Flag.PART | Flag.GROUP)) == Flag.PART
    late = (calls["flags"] & Flag.LATE) != 0
    why_not = PART if in_part.any() else LATE if late.any() else ""
    torn = np.unique(body[in_part | late])
    if summed is not None and summed.any():
        why_not, torn = why_not or SUMMED, np.union1d(torn, np.flatnonzero(summed))
    call, kind = kinds_of_calls(calls, classes)
    body = body[call]
    # What a blocking send takes is no work: it may wait for the receiver. It counts to the message
    # after it, of the same function if that is sent; else it is like a receipt that needs nobody's.
    function = np.zeros(call.size, np.int64)
    if "function" in (calls.dtype.names or ()):
        function = calls["function"][call]
    is_real = kind >= 0
    after = np.append(np.flatnonzero(is_real), 0)[np.cumsum(is_real) - is_real]
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
    event = numbers_of_events(body, kind, np.zeros(kind.size, np.bool_))
    separate = works_between(calls, call, kind, spent, event)
    if separate.any():
        event = numbers_of_events(body, kind, separate)
    first = np.ones(event.size, np.bool_)
    first[1:] = event[1:] != event[:-1]
    last = np.append(first[1:], True) if first.size else first
    body_of, ends = body[first], ends[last]
    kind_of = np.zeros(body_of.size, np.uint8)
    kind_of[event[kind != NO_EVENT]] = kind[kind != NO_EVENT]
    spent_in = np.bincount(event, weights=spent, minlength=body_of.size)
    # Own work lies between the end of an event, or the begin of the body, and the next event; what
    # lies between the calls of one event is own work before it.
    number = np.arange(body_of.size) - np.searchsorted(body_of, np.arange(begin.size))[body_of]
    count = max(int(number.max(initial=-1)) + 1, 1)
    if begin.size * count > MAX_CELLS:
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
        of[event[receipt & ~named & ~blocked]] = -1
        known["needs"] = np.full(shape, -1, np.int32)
        known["needs"][body_of, number] = of
    # The event of a message is that in which its call sends, or receives; calls without have none.
    event_of = np.full((2, calls.size), -1)
    for sent, which in enumerate((EventKind.RECEIVE, EventKind.SEND)):
        at = np.flatnonzero(kind == which)[::-1]
        event_of[sent, call[at]] = number[event[at]]
    within = messages["body"] >= 0
    chosen = event_of[messages["sent"].astype(np.intp)[within], messages["event"][within]]
    messages["event"][within] = chosen
    messages["event"][~within] = -1
    messages = messages[~within | (messages["event"] >= 0)]
    if "context" in (calls.dtype.names or ()):
        at, of = np.flatnonzero(kind != NO_EVENT)[::-1], np.zeros(body_of.size, np.uint32)
        of[event[at]] = calls["context"][call[at]]  # that of its first call comes last
        known["context"] = np.zeros(shape, np.uint32)
        known["context"][body_of, number] = of
    if torn.size:
        inside_s = np.bincount(body_of, spent_in * NS, begin.size)[torn]
        kinds[torn], works[torn], durations[torn] = 0, 0.0, 0.0
        kinds[torn, 0], durations[torn, 0] = EventKind.UNKNOWN, inside_s
        works[torn, 0] = (end - begin)[torn] * NS - inside_s
        for name, array in known.items():
            array[torn] = PADDING[name]
        messages["body"][np.isin(messages["body"], torn)] = -1
    found = RankEvents(kind=kinds, work=works, duration=durations, messages=messages, **known)
    return found, why_not


def messages_of(
    calls: NDArray[np.void], classes: tuple[CallClass, ...], ranks: Mapping[int, int] | None
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return the messages that calls send and receive, and the calls without those between them.

    Parameters
    ----------
    calls : structured array, shape (record,)
        With a record for every further message of a call, ahead of that of the call.

    Returns
    -------
    structured array, shape (message,)
        See `MESSAGE`; with the number of its call as ``event``, and nanoseconds as ``at_s``.
    structured array, shape (call,)
    """
    flags = calls["flags"]
    further = (flags & Flag.FURTHER) != 0
    owner = np.cumsum(~further) - ~further  # of further messages, the call that follows
    whole = ~further
    # A further message that is not known makes the whole receipt unknown.
    unknown = further & ((flags & (Flag.GROUP | Flag.SENT)) == 0)
    is_message = (calls["phase"] == HALO) & ((flags & Flag.GROUP) != 0)
    is_message &= ((flags & (Flag.OWN | Flag.INCOMPLETE)) == 0) & (calls["count"] != NOBODY)
    is_message &= owner < np.count_nonzero(whole)  # the call may be missing at the end
    unknown &= owner < np.count_nonzero(whole)
    at = np.flatnonzero(is_message)
    found = np.zeros(at.size, MESSAGE)
    found["event"], found["rank"] = owner[at], calls["count"][at]
    found["channel"], found["sent"] = calls["channel"][at], (flags[at] & Flag.SENT) != 0
    found["found"] = among(calls[at], classes, PROBES) if at.size else False
    own = calls[whole].copy()
    found["at_s"] = np.where(found["sent"], own["begin_ns"][owner[at]], own["end_ns"][owner[at]])
    own["flags"][owner[unknown]] &= np.uint8(0xFF & ~Flag.GROUP)
    own["count"][owner[unknown]] = 0
    if ranks is not None and at.size:
        found["rank"] = [ranks.get(each, -1) for each in found["rank"].tolist()]
    return found, own


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
        self.lacking = False
        self.why_not = ""

    def add(self, found: RankEvents | None, why_not: str = "") -> None:
        """Add the events of the next bodies, or why there are none."""
        width = 0 if found is None else found.kind.shape[1]
        if self._bodies * width > MAX_CELLS:
            why_not = f"a body has {width:,} events, too many to keep of {self._bodies:,} bodies"
            found = None
        self.why_not = self.why_not or why_not
        if found is None:
            self.lacking = True
            self._parts.clear()
        elif not self.lacking:
            self._parts.append(found)

    def together(self) -> RankEvents | None:
        """Return all events, None if some are not there; each part is dropped on the way."""
        known = self._parts
        if all((each.kind[:, 0] == EventKind.UNKNOWN).all() for each in known):
            return None
        if len(known) == 1:
            return known[0]
        width = max(each.kind.shape[1] for each in known)
        begins = np.cumsum([0, *(len(each.kind) for each in known)])
        messages = np.concatenate([each.messages for each in known])
        messages["body"] += np.repeat(begins[:-1], [each.messages.size for each in known]) * (
            messages["body"] >= 0
        )
        names = [name for name in PADDING if any(each.knows(name) for each in known)]
        names = list(dict.fromkeys(("kind", "work", "duration", *names)))
        parts = [each.arrays() for each in known]
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
        return RankEvents(messages=messages, **arrays)


def among(
    calls: NDArray[np.void], classes: tuple[CallClass, ...], wanted: tuple[CallClass, ...]
) -> NDArray[np.bool_]:
    """Return which calls are of certain classes: bool, shape (call,)."""
    by_number = np.array([call_class in wanted for call_class in classes], np.bool_)
    return np.asarray(by_number[-1 - calls["what"]])


def kinds_of_calls(
    calls: NDArray[np.void], classes: tuple[CallClass, ...]
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
    sends = among(calls, classes, (CallClass.SEND,)) & (phase == HALO)
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


def works_between(
    calls: NDArray[np.void],
    call: NDArray[np.intp],
    kind: NDArray[np.int64],
    spent: NDArray[np.int64],
    event: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Tell before which messages a rank typically works since the last of their event: (event,).

    The same pair of calls, by where the program makes them, has one answer in all bodies.

    Parameters
    ----------
    call : int array, shape (event,)
        Which call an event is of.
    kind : int array, shape (event,)
        `NO_EVENT` for calls that are no event, or what is counted to one.
    spent : int array, shape (event,), nanoseconds
    event : int array, shape (event,)
        Numbers of events, if calls in a row are one.
    """
    works = np.zeros(kind.size, np.bool_)
    has_message = ((calls["flags"] & Flag.GROUP) != 0) & (calls["count"] != NOBODY)
    real = np.flatnonzero(np.isin(kind, MERGED) & has_message[call])
    inside = np.cumsum(spent)
    same = event[real[1:]] == event[real[:-1]]
    before, real = real[:-1][same], real[1:][same]
    if not real.size:
        return works
    name = "context" if "context" in (calls.dtype.names or ()) else "what"
    place = calls[name].astype(np.int64)[call]
    key = place[real] * (1 << 32) + place[before]
    # From the end of one call to the begin of the next, without the calls between them.
    own = calls["begin_ns"][call[real]] - calls["end_ns"][call[before]]
    own -= inside[real] - inside[before] - spent[real]
    order = np.lexsort((own, key))
    first = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] - 1))
    middle = own[order][(first + np.append(first[1:], key.size) - 1) // 2]
    answer = np.repeat(middle > WORK_NS, np.diff(np.append(first, key.size)))
    works[real[order]] = answer
    return works


def numbers_of_events(
    body: NDArray[np.int64], kind: NDArray[np.int64], works: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the numbers of the events that calls are part of, from 0 over all bodies.

    Parameters
    ----------
    body, kind : int array, shape (call,)
        In every body there is a call whose kind is not `NO_EVENT`; such calls are part of the next
        event of the body, or of its last one.
    works : bool array, shape (call,)
        Whether the rank works before a call, which then begins an event.
    """
    is_real = kind != NO_EVENT
    real = np.flatnonzero(is_real)
    if not real.size:
        return np.empty(0, np.int64)
    # An event begins at a call that the one before it in the same body does not go on with.
    begins = np.ones(real.size, np.bool_)
    begins[1:] = (body[real][1:] != body[real][:-1]) | (kind[real][1:] != kind[real][:-1])
    begins |= ~np.isin(kind[real], MERGED) | works[real]
    number = np.cumsum(begins) - 1
    after = np.minimum(np.cumsum(is_real) - is_real, real.size - 1)
    wrong = (body[real[after]] != body) | (real[after] < np.arange(kind.size))
    return np.asarray(number[np.where(wrong, after - (real[after] > np.arange(kind.size)), after)])
