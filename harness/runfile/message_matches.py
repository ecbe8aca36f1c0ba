"""Which message each receipt gets: by communicator, tag and order, as MPI has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.event_order import Needed
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import MAX_BITS

if TYPE_CHECKING:
    from mpi4py import MPI


OUTSIDE = -1
"""Instead of the event in which a message was sent: none, or one outside the known bodies."""
CLOCKS_S = 1e-4
"""A message that was received so long before it was sent is another one."""


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
        sent = [of_rank[of_rank["sent"]] for of_rank in messages]
        receipts = [of_rank[~of_rank["sent"]] for of_rank in messages]
        received = exchanged([sent_to(each, each) for each in sent], counts, communicator)
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
        return is_same < known or (not known and any(receipt.size for receipt in self.receipts))

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
        received = exchanged(parts, self.counts, communicator)
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
    found[1:] = np.any([value[1:] != value[:-1] for value in values], axis=0)
    return found


def sent_to(sent: NDArray[np.void], values: NDArray[Any]) -> dict[int, NDArray[Any]]:
    """Return values of messages by the rank that they are sent to."""
    return {rank: values[sent["rank"] == rank] for rank in np.unique(sent["rank"]).tolist()}


def exchanged(
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
    found: list[dict[int, NDArray[Any]]] = [{} for _ in parts]
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
        np.stack([receipt.body, receipt.place, receipt.further], axis=1)[receipt.further > 0]
        for receipt in receipts
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
        replace(receipt, place=receipt.place + shift[receipt.body, receipt.place] + receipt.further)
        for receipt in receipts
    ]
    return wide, rows_now, moved, placed


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
