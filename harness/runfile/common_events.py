"""The events of all ranks as one sequence per body, for run files and models of waiting.

Ranks of one program mostly do the same in the same order. If they do not (the ends of a chain, one
rank that distributes work), a common sequence is made that contains that of every rank. Ranks
synchronise at collectives; between two of them, each receipt follows the sends of the messages that
it gets. Which these are follows from communicator, tag and order, as MPI has it, with what was
received where the program named neither source nor tag. A rank spends no time at events that are
not its own. A body in which that fails on any rank has one event, of `EventKind.UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import (
    DIFFERENT,
    PADDING,
    PART,
    RankBodies,
    RankEvents,
)
from hindmost.harness.runfile.contents import Edges
from hindmost.models.events import MAX_PENDING, EventKind
from hindmost.models.simulation.blocks import MAX_BITS

if TYPE_CHECKING:
    from mpi4py import MPI

MAX_ALIGNED = 400_000
"""Limit of events to put in order, of all ranks in bodies that differ from all before: a second."""
MAX_GATHERED = 2_000_000
"""Of all ranks in bodies in which they differ: some 100 MB."""
CLOCKS_S = 1e-4
"""A message that was received so long before it was sent is another one."""
UNSENT = "messages were received whose sending was not recorded, or only in a later iteration"
TOO_MANY = "what ranks did differed in iterations that are too many to put in order"

KNOWN_OF_SOME = ("group", "needs", "context")
"""Arrays of `RankEvents` that not every rank has."""
MESSAGES = (EventKind.SEND, EventKind.RECEIVE)
BRIEFLY_S = 1e-9
"""Of a further receipt of the same call: a rank that spends no time takes no part."""
OUTSIDE = -1
"""Instead of the event in which a message was sent: none, or one outside the known bodies."""

Row = Sequence[int]
Needed = tuple[int, int, int]
"""Number of a rank's receipt among its events, and rank and number of the send that it needs."""


@dataclass(slots=True)
class EventsSeen:
    """What the events of the ranks of a process are like; one rank after the other is looked at.

    Attributes
    ----------
    first : uint8 array, shape (body, event), or None
        The kinds of the first rank.
    differ : bool array, shape (body,)
        The bodies in which those of another rank are not the same.
    unknown : bool array, shape (body,)
        Those in which a rank does not know its own.
    summed : bool array, shape (body,)
        Those in which only sums of a rank's calls are there.
    width : int
        Events of the longest body.
    messages : list of structured array, shape (message,)
        Of each rank; see `hindmost.harness.runfile.bodies.MESSAGE`.
    known : set of str
        Those of `KNOWN_OF_SOME` of which a rank knows something.
    lacking : bool
        Whether a rank has no events.
    why_not : str
        Why, as the first such rank says that gives a reason; or why some are unknown.
    """

    first: NDArray[np.uint8] | None = None
    differ: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    unknown: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    summed: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    width: int = 0
    messages: list[NDArray[np.void]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    lacking: bool = False
    why_not: str = ""

    def add(self, bodies: RankBodies) -> None:
        """Look at one rank; all have as many bodies."""
        events = bodies.events
        self.why_not = self.why_not or bodies.events_left_out
        if events is None:
            self.lacking = True
            return
        kind = events.kind
        unknown = kind[:, 0] == EventKind.UNKNOWN
        if self.first is None:
            self.first, self.unknown = kind, unknown
            self.differ, self.summed = np.zeros((2, len(kind)), np.bool_)
        elif len(kind) == len(self.first):
            self.differ |= unlike(kind, self.first)
            self.unknown = self.unknown | unknown
        if bodies.summed is not None and bodies.summed.size == self.summed.size:
            self.summed = self.summed | bodies.summed.astype(np.bool_)
        self.width = max(self.width, kind.shape[1])
        self.messages.append(events.messages)
        self.known |= {name for name in KNOWN_OF_SOME if events.knows(name)}

    @classmethod
    def of(cls, ranks: Iterable[RankBodies]) -> EventsSeen:
        """Look at all ranks of this process."""
        seen = cls()
        for each in ranks:
            seen.add(each)
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """Whose messages a rank of this process needs, at the places of the common sequence.

    Attributes
    ----------
    body, place, needs, behind : int array, shape (receipt,)
        See `hindmost.models.simulation.blocks.EventBlock`.
    further : int array, shape (receipt,)
        0, or which of the places it is that are added after it for further messages of a receipt.
    """

    body: NDArray[np.integer[Any]]
    place: NDArray[np.integer[Any]]
    needs: NDArray[np.integer[Any]]
    behind: NDArray[np.integer[Any]]
    further: NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonEvents:
    """The sequence of all ranks, and the places of the events of the ranks of this process in it.

    Attributes
    ----------
    kind : uint8 array, shape (body, event)
    rows : int array, shape (row,)
        The bodies in which events of some rank have other places than its own numbers.
    places : list of list of list of int
        Of each rank, in each of these bodies, where its events stand.
    known : frozenset of str
        Those of `KNOWN_OF_SOME` of which any rank knows something, and ``behind`` if any receipt
        needs another message than the last one that was sent.
    receipts : list of Receipts
        Of each rank of this process, if any knows whose messages its receipts need; else empty.
    """

    kind: NDArray[np.uint8]
    rows: NDArray[np.intp]
    places: list[list[list[int]]]
    known: frozenset[str]
    receipts: list[Receipts] = field(default_factory=list)

    def of(self, rank: int, events: RankEvents) -> RankEvents:
        """Return the events of a rank of this process at their places."""
        width, unknown = self.kind.shape[1], np.flatnonzero(self.kind[:, 0] == EventKind.UNKNOWN)
        arrays = events.arrays()
        if self.rows.size or self.receipts or unknown.size or events.kind.shape[1] != width:
            arrays = {name: widened(each, width, PADDING[name]) for name, each in arrays.items()}
        for row, place in zip(self.rows, self.places[rank] if self.rows.size else (), strict=True):
            nobody = np.where(self.kind[row] == EventKind.RECEIVE, 0, -1)  # it receives nothing
            for name, values in arrays.items():
                before = values[row, : len(place)].copy()
                values[row] = nobody if name == "needs" else PADDING[name]
                values[row, place] = before
        for name, values in arrays.items() if unknown.size else ():
            whole = values[unknown].sum(axis=1) if name in ("work", "duration") else PADDING[name]
            values[unknown] = PADDING[name]
            values[unknown, 0] = whole
        if self.receipts:
            found = self.receipts[rank]
            arrays["needs"][found.body, found.place] = found.needs
            arrays["behind"][found.body, found.place] = found.behind
            further = found.body[found.further > 0], found.place[found.further > 0]
            arrays["duration"][further] = BRIEFLY_S
        return RankEvents(**arrays | {"kind": self.kind})


def common_events(
    ranks: Callable[[], Iterable[RankBodies]],
    seen: EventsSeen,
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None = None,
) -> tuple[CommonEvents | None, str]:
    """Put the events of all ranks into one sequence; collective.

    Parameters
    ----------
    ranks : callable
        Returns the bodies of the ranks of this process, one after the other; called where they
        are needed again.
    seen : EventsSeen
        Of these ranks.
    edges : Edges
        Who sends to whom; on rank 0 those of all ranks.
    kept : int array, shape (rank,), or None
        Numbers of the communicator's ranks in the edges, on rank 0, if they differ from their own.

    Returns
    -------
    CommonEvents, or None
    str
        Why there are no events, or none of some bodies; empty if there are of all.
    """
    whys = communicator.allgather((seen.lacking, seen.why_not))
    why_not = next((why for _, why in whys if why), "")
    if any(lacking for lacking, _ in whys):
        return None, why_not
    assert seen.first is not None  # no rank lacks its events
    known = frozenset[str]().union(*communicator.allgather(seen.known))
    reduced = bool(communicator.bcast(kept is not None))
    if "group" in known and reduced:
        return None, PART  # ranks of the groups are not in the file
    width = max(communicator.allgather(seen.width))
    first = communicator.bcast(seen.first)
    bodies = len(first)
    unknown = anywhere(seen.unknown, communicator)
    matches = None
    if "needs" in known and not reduced:
        summed = anywhere(seen.summed, communicator)
        gap = int(np.argmax(summed)) if summed.any() else bodies
        matches = Matches.of(seen.messages, bodies, gap, communicator)
        unsent = anywhere(matches.unsent(bodies), communicator) & ~unknown
        why_not = why_not or (UNSENT if unsent.any() else "")
        unknown |= unsent
    differ = seen.differ | unlike(seen.first, first)
    if matches is not None:
        differ |= matches.out_of_order(bodies)
    rows = np.flatnonzero(anywhere(differ, communicator) & ~unknown)
    aligned = aligned_events(ranks(), rows, edges, matches, communicator, kept)
    sequences, places = aligned.kinds, aligned.places
    is_known = np.array([bool(each) for each in sequences], np.bool_)
    if not is_known.all():
        why_not = why_not or aligned.why_not
        unknown[rows[~is_known]] = True
        rows, sequences = rows[is_known], [each for each in sequences if each]
        places = [[of for of, here in zip(each, is_known, strict=False) if here] for each in places]
    if unknown.all():
        return None, why_not
    kind = widened(first, max([width, *map(len, sequences)]))
    for row, sequence in zip(rows, sequences, strict=True):
        kind[row] = 0
        kind[row, : len(sequence)] = sequence
    kind[unknown] = 0
    kind[unknown, 0] = EventKind.UNKNOWN
    receipts: list[Receipts] = []
    if matches is not None:
        numbers = matches.numbers(kind, rows, places, communicator)
        sources = sources_here(matches.counts, edges, communicator)
        receipts = matches.receipts_at(kind, rows, places, numbers, sources)
        kind, rows, places, receipts = with_further(kind, rows, places, receipts, communicator)
        if communicator.allreduce(int(any(each.behind.any() for each in receipts))):
            known |= {"behind"}
    found = CommonEvents(kind=kind, rows=rows, places=places, known=known, receipts=receipts)
    if most_pending(kind) > MAX_PENDING:
        return None, f"over {MAX_PENDING} collectives were under way at once"
    return found, why_not


def anywhere(here: NDArray[np.bool_], communicator: MPI.Intracomm) -> NDArray[np.bool_]:
    """Tell where it is so on any process."""
    return np.asarray(communicator.allreduce(here.astype(np.int64)) > 0)


def most_pending(kind: NDArray[np.uint8]) -> int:
    """Return the largest number of pending collectives, from the kinds of all events."""
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    most = 0
    # Nothing is pending after a body that is not known.
    for part in np.split(steps, np.flatnonzero(kind[:, 0] == EventKind.UNKNOWN)):
        pending = np.cumsum(part.ravel())
        least = np.minimum(np.minimum.accumulate(pending), 0)
        most = max(most, int((pending - least).max(initial=0)))
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Which messages of which ranks the receipts of the ranks of this process get.

    Attributes
    ----------
    counts : list of int
        How many ranks each process has.
    sent : list of structured array, shape (message,)
        What each rank of this process sends, in the order of time.
    receipts : list of structured array, shape (message,)
        What each receives.
    received : list of dict of int to structured array
        Of each rank, what other ranks sent to it.
    index : list of int array, shape (message,)
        Of each receipt, the number of its message among those of its source; -1 for none.
    """

    counts: list[int]
    sent: list[NDArray[np.void]]
    receipts: list[NDArray[np.void]]
    received: list[dict[int, NDArray[np.void]]]
    index: list[NDArray[np.intp]]

    @classmethod
    def of(
        cls,
        messages: Sequence[NDArray[np.void]],
        bodies: int,
        gap: int,
        communicator: MPI.Intracomm,
    ) -> Matches:
        """Match the messages of all ranks; collective.

        Parameters
        ----------
        bodies, gap : int
            How many there are, and the first one of whose messages only the number is known; as
            many if there is none. From there on messages are matched within each body, if before it
            each was received in the body in which it was sent.
        """
        counts = communicator.allgather(len(messages))
        own = sum(counts[: communicator.rank])
        # A message to oneself keeps nobody waiting, and its sending is no event.
        messages = [each[each["rank"] != own + rank] for rank, each in enumerate(messages)]
        sent = [each[each["sent"]] for each in messages]
        receipts = [each[~each["sent"]] for each in messages]
        received = exchanged(sent, [sent_to(each, each) for each in sent], counts, communicator)
        index = [matched(*each, gap) for each in zip(receipts, received, strict=True)]
        found = cls(counts=counts, sent=sent, receipts=receipts, received=received, index=index)
        if gap < bodies and communicator.allreduce(int(found.cross_bodies(gap))):
            for each, numbers in zip(receipts, index, strict=True):
                numbers[each["body"] >= gap] = -1
        return found

    def cross_bodies(self, gap: int) -> bool:
        """Tell whether messages ahead of a gap cross from body to body, or there are none."""
        known = is_same = 0
        for rank, receipts in enumerate(self.receipts):
            here = (receipts["body"] >= 0) & (receipts["body"] < gap)
            known += np.count_nonzero(here)
            is_same += np.count_nonzero(here & (self.sends(rank, "body") == receipts["body"]))
        return is_same < known or (not known and any(each.size for each in self.receipts))

    def sends(self, rank: int, name: str) -> NDArray[np.integer[Any]]:
        """Return the body or the event in which the message of each receipt was sent; -1: none."""
        index, sources = self.index[rank], self.receipts[rank]["rank"]
        found = np.full(index.size, OUTSIDE)
        for source, of_source in self.received[rank].items():
            here = (sources == source) & (index >= 0)
            found[here] = of_source[name][index[here]]
        return found

    def unsent(self, bodies: int) -> NDArray[np.bool_]:
        """Tell in which bodies a receipt has no message that was sent before: shape (body,)."""
        found = np.zeros(bodies, np.bool_)
        for rank, receipts in enumerate(self.receipts):
            body = receipts["body"]
            missing = (self.index[rank] < 0) | (self.sends(rank, "body") > body)
            found[body[missing & (body >= 0)]] = True
        return found

    def out_of_order(self, bodies: int) -> NDArray[np.bool_]:
        """Tell in which bodies a receipt comes before the send by the numbers of their events."""
        found = np.zeros(bodies, np.bool_)
        for rank, receipts in enumerate(self.receipts):
            here = (self.sends(rank, "body") == receipts["body"]) & (receipts["body"] >= 0)
            here &= self.sends(rank, "event") >= receipts["event"]
            found[receipts["body"][here]] = True
        return found

    def needed(self, rank: int, rows: NDArray[np.intp]) -> list[list[Needed]]:
        """Return what receipts of a rank of this process need of the same body, in some bodies."""
        receipts, found = self.receipts[rank], [list[Needed]() for _ in rows]
        at = np.minimum(np.searchsorted(rows, receipts["body"]), max(rows.size - 1, 0))
        here = np.flatnonzero(
            (self.sends(rank, "body") == receipts["body"])
            & (rows[at] == receipts["body"] if rows.size else False)
        )
        event = self.sends(rank, "event")
        for number in here.tolist():
            of = receipts[number]
            found[at[number]].append((int(of["event"]), int(of["rank"]), int(event[number])))
        return found

    def numbers(
        self,
        kind: NDArray[np.uint8],
        rows: NDArray[np.intp],
        places: Sequence[Sequence[Sequence[int]]],
        communicator: MPI.Intracomm,
    ) -> list[NDArray[np.integer[Any]]]:
        """Return the number of the send among all in the common sequence; collective.

        Returns
        -------
        list of int array, shape (message,)
            For each receipt of each rank; -1 where it was sent outside the bodies that are known.
        """
        sends = np.cumsum(kind == EventKind.SEND).reshape(kind.shape) - 1
        of_sends = []
        for rank, sent in enumerate(self.sent):
            place = places_of(sent, rows, places[rank] if rows.size else [])
            inside = (sent["body"] >= 0) & (kind[sent["body"], 0] != EventKind.UNKNOWN)
            of_sends.append(np.where(inside, sends[sent["body"], place], OUTSIDE))
        parts = [sent_to(*each) for each in zip(self.sent, of_sends, strict=True)]
        received = exchanged(self.sent, parts, self.counts, communicator)
        found = []
        for rank, index in enumerate(self.index):
            numbers = np.full(index.size, OUTSIDE)
            for source, of_source in received[rank].items():
                here = (self.receipts[rank]["rank"] == source) & (index >= 0)
                # Whoever has waited for a later message has an earlier one: those count on.
                numbers[here] = np.maximum.accumulate(of_source[index[here]])
            found.append(numbers)
        return found

    def receipts_at(
        self,
        kind: NDArray[np.uint8],
        rows: NDArray[np.intp],
        places: Sequence[Sequence[Sequence[int]]],
        numbers: Sequence[NDArray[np.integer[Any]]],
        sources: Sequence[Sequence[int]],
    ) -> list[Receipts]:
        """Return whose messages the receipts of each rank need, and how far behind these are.

        Messages of one receipt that are not equally far behind are further receipts.
        """
        before = np.cumsum(kind == EventKind.SEND).reshape(kind.shape)
        found = []
        for rank, receipts in enumerate(self.receipts):
            bit_of = {source: bit for bit, source in enumerate(sources[rank])}
            bit = np.array([bit_of.get(each, -1) for each in receipts["rank"].tolist()], np.int64)
            body, place = (
                receipts["body"],
                places_of(receipts, rows, places[rank] if rows.size else []),
            )
            here = (numbers[rank] >= 0) & (bit >= 0) & (body >= 0)
            here &= kind[body, 0] != EventKind.UNKNOWN
            body, place, bit = body[here].astype(np.intp), place[here], bit[here]
            behind = before[body, place] - 1 - numbers[rank][here]
            # The last message of each source counts; a source without a bit is alone.
            order = np.lexsort((behind, bit, place, body))
            body, place, bit, behind = (each[order] for each in (body, place, bit, behind))
            first = changes(body, place, bit)
            body, place, bit, behind = (each[first] for each in (body, place, bit, behind))
            alone = np.where(bit < MAX_BITS, -1, bit)
            order = np.lexsort((alone, behind, place, body))
            body, place, bit, behind, alone = (
                each[order] for each in (body, place, bit, behind, alone)
            )
            begins = np.flatnonzero(changes(body, place, behind, alone))
            value = np.where(
                alone < 0, np.int64(1) << np.maximum(np.minimum(bit, MAX_BITS), 0), -2 - bit
            )
            needs = np.add.reduceat(value, begins) if begins.size else value
            body, place, behind = body[begins], place[begins], behind[begins]
            at_event = np.flatnonzero(changes(body, place))
            in_event = np.diff(np.append(at_event, body.size))
            further: NDArray[np.intp] = np.arange(body.size) - np.repeat(at_event, in_event)
            found.append(
                Receipts(
                    body=body,
                    place=place,
                    needs=needs.astype(np.int32),
                    behind=behind.astype(np.int32),
                    further=further,
                )
            )
        return found


def changes(*values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which entries differ from the one before in any of some arrays; the first one does."""
    found = np.ones(values[0].size, np.bool_)
    found[1:] = np.any([each[1:] != each[:-1] for each in values], axis=0)
    return found


def sent_to(sent: NDArray[np.void], values: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return values of messages by the rank that they are sent to."""
    return {rank: values[sent["rank"] == rank] for rank in np.unique(sent["rank"]).tolist()}


def exchanged(
    sent: Sequence[NDArray[np.void]],
    parts: Sequence[dict[int, NDArray[Any]]],
    counts: Sequence[int],
    communicator: MPI.Intracomm,
) -> list[dict[int, NDArray[Any]]]:
    """Hand parts of each rank of this process to the ranks that they are for; collective.

    Returns
    -------
    list of dict of int to array
        For each rank of this process, what it gets from which rank.
    """
    borders = list(accumulate(counts, initial=0))
    own = borders[communicator.rank]
    mail: list[list[tuple[int, int, NDArray[Any]]]] = [[] for _ in counts]
    for rank, part in enumerate(parts):
        for target, values in part.items():
            if 0 <= target < borders[-1]:
                process = int(np.searchsorted(borders, target, side="right")) - 1
                mail[process].append((own + rank, target, values))
    found: list[dict[int, NDArray[Any]]] = [{} for _ in sent]
    for letters in communicator.alltoall(mail):
        for source, target, values in letters:
            found[target - own][source] = values
    return found


def matched(
    receipts: NDArray[np.void], received: dict[int, NDArray[np.void]], gap: int
) -> NDArray[np.intp]:
    """Return the number of the message that each receipt gets, among those of its source.

    Messages of a source in one channel are received in the order in which they were sent; a probe
    finds the next one. From a body on in which that is not known, each body is by itself: as many
    are received in it as were sent.
    """
    index = np.full(receipts.size, -1)
    for source, sent in received.items():
        of_source = np.flatnonzero(receipts["rank"] == source)
        for channel in np.unique(receipts["channel"][of_source]).tolist():
            here = of_source[receipts["channel"][of_source] == channel]
            there = np.flatnonzero(sent["channel"] == channel)
            part, of_sent = receipts["body"][here], sent["body"][there]
            part, of_sent = (np.where(each < gap, -1, each) for each in (part, of_sent))
            here, there = (
                here[np.argsort(part, kind="stable")],
                there[np.argsort(of_sent, kind="stable")],
            )
            part, of_sent = np.sort(part), np.sort(of_sent)
            begin, end = (np.searchsorted(of_sent, part, side) for side in ("left", "right"))
            taken = ~receipts["found"][here]
            before = np.append(0, np.cumsum(taken))
            first, last = (np.searchsorted(part, part, side) for side in ("left", "right"))
            number = begin + before[:-1] - before[first]
            known = (number < end) & ((part < 0) | (before[last] - before[first] == end - begin))
            here, number = here[known], number[known]
            in_time = sent["at_s"][there[number]] <= receipts["at_s"][here] + CLOCKS_S
            index[here] = np.where(in_time, there[number], -1)
    return index


def places_of(
    messages: NDArray[np.void], rows: NDArray[np.intp], places: Sequence[Sequence[int]]
) -> NDArray[np.intp]:
    """Return the places of the events of messages: their numbers, but in some bodies."""
    found = messages["event"].astype(np.intp)
    if not rows.size:
        return found
    at = np.minimum(np.searchsorted(rows, messages["body"]), rows.size - 1)
    here = rows[at] == messages["body"]
    begins = np.cumsum([0, *map(len, places)])
    every = np.array([place for of_body in places for place in of_body], np.intp)
    found[here] = every[begins[at[here]] + found[here]]
    return found


def with_further(
    kind: NDArray[np.uint8],
    rows: NDArray[np.intp],
    places: list[list[list[int]]],
    receipts: list[Receipts],
    communicator: MPI.Intracomm,
) -> tuple[NDArray[np.uint8], NDArray[np.intp], list[list[list[int]]], list[Receipts]]:
    """Make room for the further receipts of all ranks in the common sequence; collective."""
    wanted: dict[tuple[int, int], int] = {}
    mine = [
        np.stack([each.body, each.place, each.further], axis=1)[each.further > 0]
        for each in receipts
    ]
    for part in communicator.allgather(np.concatenate([np.empty((0, 3), np.int64), *mine])):
        for body, place, further in part.tolist():
            wanted[body, place] = max(wanted.get((body, place), 0), further)
    if not wanted:
        return kind, rows, places, receipts
    more = np.zeros(kind.shape, np.int64)
    for at, further in wanted.items():
        more[at] = further
    shift = np.cumsum(more, axis=1) - more
    used = np.count_nonzero(np.logical_and.accumulate(kind != 0, axis=1), axis=1)
    wide = np.zeros((len(kind), int((used + more.sum(axis=1)).max())), np.uint8)
    body, place = np.nonzero(np.arange(kind.shape[1]) < used[:, None])
    for step in range(int(more.max()) + 1):
        here = more[body, place] >= step
        at = place[here] + shift[body[here], place[here]] + step
        wide[body[here], at] = kind[body[here], place[here]]
    rows_now = np.union1d(rows, np.unique([body for body, _ in wanted]))
    was = {row: number for number, row in enumerate(rows.tolist())}
    moved = []
    for of_rank in places if places else [[] for _ in receipts]:
        of_rows = [
            of_rank[was[row]] if row in was else range(int(used[row])) for row in rows_now.tolist()
        ]
        moved.append(
            [
                [at + int(shift[row, at]) for at in place]
                for row, place in zip(rows_now.tolist(), of_rows, strict=True)
            ]
        )
    placed = [
        replace(each, place=each.place + shift[each.body, each.place] + each.further)
        for each in receipts
    ]
    return wide, rows_now, moved, placed


@dataclass(slots=True)
class Aligned:
    """Sequences common to all ranks in some bodies.

    Attributes
    ----------
    kinds : list of list of int
        The kinds, of each body; empty where there is no such sequence.
    places : list of list of list of int
        Of each rank of this process, in each body, the places of its events.
    why_not : str
        Why there is none in some body.
    """

    kinds: list[list[int]]
    places: list[list[list[int]]]
    why_not: str = ""


def aligned_events(
    ranks: Iterable[RankBodies],
    rows: NDArray[np.intp],
    edges: Edges,
    matches: Matches | None,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None,
) -> Aligned:
    """Return sequences common to all ranks in some bodies; collective.

    Parameters
    ----------
    ranks : iterable of RankBodies
        Of this process.
    rows : int array, shape (row,)
        The bodies.
    """
    if not rows.size:
        return Aligned([], [])
    count, of_ranks = 0, []
    for rank, each in enumerate(ranks):
        events = each.events
        assert events is not None  # or `common_events` had returned
        count += int(np.count_nonzero(events.kind[rows]))
        needed = [list[Needed]() for _ in rows] if matches is None else matches.needed(rank, rows)
        if count <= MAX_GATHERED:
            of_ranks.append(ordered_events(each, events, rows, needed))
    if sum(communicator.allgather(count)) > MAX_GATHERED:
        return Aligned([[] for _ in rows], [[] for _ in of_ranks], TOO_MANY)
    gathered = communicator.gather(of_ranks)
    kinds: list[list[int]] = []
    why_not = DIFFERENT
    parts: list[list[list[list[int]]]] = []
    if gathered is not None:
        everybody = [each for part in gathered for each in part]
        sources = sources_of(edges, len(everybody), kept)
        found = common_sequences(list(zip(*everybody, strict=True)), sources)
        if len(found) < rows.size:
            why_not = TOO_MANY
            found += [([], [[] for _ in everybody])] * (rows.size - len(found))
        kinds = [sequence for sequence, _ in found]
        of_rank = [list(each) for each in zip(*(place for _, place in found), strict=True)]
        borders = list(accumulate(map(len, gathered), initial=0))
        parts = [of_rank[begin:end] for begin, end in pairwise(borders)]
    kinds, why_not = communicator.bcast((kinds, why_not))
    return Aligned(kinds, communicator.scatter(parts), why_not)


@dataclass(frozen=True, slots=True)
class OrderedEvents:
    """The events of one body of a rank.

    Attributes
    ----------
    kinds : list of int
    begins, ends : list of float
        In seconds.
    needed : list of tuple
        See `Needed`.
    unknown : set of int
        Numbers of the receipts of which it is not known whose messages they need.
    """

    kinds: list[int]
    begins: list[float]
    ends: list[float]
    needed: list[Needed]
    unknown: set[int]


def ordered_events(
    bodies: RankBodies, events: RankEvents, rows: NDArray[np.intp], needed: Sequence[list[Needed]]
) -> list[OrderedEvents]:
    """Return the events of some bodies of a rank, with their begins and ends."""
    work, duration = events.work[rows].astype(float), events.duration[rows].astype(float)
    ends = bodies.start[rows, None] + np.cumsum(work + duration, axis=1)
    unknown = (events.kind[rows] == EventKind.RECEIVE) & (events.needs[rows] < 0)
    return [
        OrderedEvents(
            row[row > 0].tolist(),
            (end - spent).tolist(),
            end.tolist(),
            of_body,
            set(np.flatnonzero(missing).tolist()),
        )
        for row, end, spent, of_body, missing in zip(
            events.kind[rows], ends, duration, needed, unknown, strict=True
        )
    ]


def widened(values: NDArray[Any], width: int, padding: float = 0) -> NDArray[Any]:
    """Return rows of a greater width."""
    wide = np.full((len(values), width), padding, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide


def unlike(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell in which bodies the kinds of two ranks differ, shape (body,)."""
    both = min(one.shape[1], other.shape[1])
    differ = (one[:, :both] != other[:, :both]).any(axis=1)
    for each in (one, other):
        differ |= each[:, both:].any(axis=1)
    return np.asarray(differ)


def sources_here(
    counts: Sequence[int], edges: Edges, communicator: MPI.Intracomm
) -> list[list[int]]:
    """Return from whom each rank of this process receives, in the order of edges; collective."""
    parts: list[list[list[int]]] = []
    if communicator.rank == 0:
        every = iter(sources_of(edges, sum(counts), None))
        parts = [list(islice(every, count)) for count in counts]
    here: list[list[int]] = communicator.scatter(parts)
    return here


def sources_of(edges: Edges, ranks: int, kept: NDArray[np.integer[Any]] | None) -> list[list[int]]:
    """Return, for each rank, the ranks whose messages it receives."""
    number = {int(rank): at for at, rank in enumerate(range(ranks) if kept is None else kept)}
    sources: list[list[int]] = [[] for _ in range(ranks)]
    for source, target in zip(edges.source.tolist(), edges.target.tolist(), strict=True):
        if source in number and target in number:
            sources[number[target]].append(number[source])
    return sources


def common_sequences(
    bodies: Sequence[Sequence[OrderedEvents]], sources: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[list[int]]]]:
    """Return the sequences of some bodies, of the first ones if there are too many events.

    Where all ranks know whose messages they need, bodies of the same events have the same sequence.
    """
    known: dict[bytes, tuple[list[int], list[list[int]]]] = {}
    found, count = [], 0
    for ranks in bodies:
        timeless = not any(each.unknown for each in ranks)
        key = repr([(each.kinds, each.needed) for each in ranks]).encode() if timeless else b""
        if key not in known or not timeless:
            count += sum(len(each.kinds) for each in ranks)
            if count > MAX_ALIGNED:
                break
            known[key] = common_sequence(ranks, sources)
        found.append(known[key])
    return found


def common_sequence(
    ranks: Sequence[OrderedEvents], sources: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """Put the events of one body on all ranks into one sequence.

    Parameters
    ----------
    ranks : list of OrderedEvents
    sources : list, one per rank, of the ranks whose messages it receives

    Returns
    -------
    list of int
        The kinds of the sequence; empty if the ranks' collectives differ, or if they wait for each
        other in a circle.
    list, one per rank, of lists of int
        Places of its events in the sequence.
    """
    sequence: list[int] = []
    places: list[list[int]] = [[] for _ in ranks]
    nothing: tuple[list[int], list[list[int]]] = [], [[] for _ in ranks]
    needed = [sends_before(rank, each, ranks, sources) for rank, each in enumerate(ranks)]
    while True:
        between = levels_of(ranks, places, needed)
        used = sorted({level for of_rank in between for level in of_rank})
        number = {level: len(sequence) + at for at, level in enumerate(used)}
        for place, of_rank in zip(places, between, strict=True):
            place += [number[level] for level in of_rank]
        sequence += [MESSAGES[level % 2] for level in used]
        # All ranks stand before their next collective, or before a message that never comes.
        following = {
            each.kinds[len(place)] if len(place) < len(each.kinds) else None
            for each, place in zip(ranks, places, strict=True)
        }
        if len(following) > 1:
            return nothing
        (meeting,) = following
        if meeting is None:
            return sequence, places
        if meeting in MESSAGES:
            return nothing
        for place in places:
            place.append(len(sequence))
        sequence.append(meeting)


def sends_before(
    rank: int,
    own: OrderedEvents,
    ranks: Sequence[OrderedEvents],
    sources: Sequence[Sequence[int]],
) -> dict[int, list[tuple[int, int]]]:
    """Return the sends that each receipt of a rank needs, as ranks and numbers of events.

    Those of a receipt that may need anyone's are the last that began before it ended.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for event, source, send in own.needed:
        found.setdefault(event, []).append((source, send))
    for event in own.unknown:
        for source in sources[rank]:
            other = ranks[source]
            earlier = [
                number
                for number, (kind, begin) in enumerate(zip(other.kinds, other.begins, strict=False))
                if kind == EventKind.SEND and begin <= own.ends[event]
            ]
            if earlier:
                found.setdefault(event, []).append((source, earlier[-1]))
    return found


def levels_of(
    ranks: Sequence[OrderedEvents],
    places: Sequence[Sequence[int]],
    needed: Sequence[dict[int, list[tuple[int, int]]]],
) -> list[list[int]]:
    """Return the levels of the sends and receipts of each rank up to its next collective.

    Sends have even levels, receipts odd ones. An event has a higher level than earlier ones of its
    rank, and a receipt a higher one than the sends that it needs. A rank ends before a receipt
    whose sends are never reached.
    """
    levels: list[list[int]] = [[] for _ in ranks]
    begin = [len(place) for place in places]
    waiting: dict[int, list[int]] = {}
    ready = list(range(len(ranks)))
    while ready:
        rank = ready.pop()
        own, kinds = levels[rank], ranks[rank].kinds
        moved = False
        while (event := begin[rank] + len(own)) < len(kinds) and kinds[event] in MESSAGES:
            needs = needed[rank].get(event, ())
            missing = next(
                (source for source, send in needs if send >= begin[source] + len(levels[source])),
                None,
            )
            if missing is not None:
                waiting.setdefault(missing, []).append(rank)
                break
            level = own[-1] + 1 if own else 0
            for source, send in needs:
                if send >= begin[source]:
                    level = max(level, levels[source][send - begin[source]] + 1)
            own.append(level + (level % 2 != MESSAGES.index(EventKind(kinds[event]))))
            moved = True
        if moved:
            ready += waiting.pop(rank, [])
    return levels
