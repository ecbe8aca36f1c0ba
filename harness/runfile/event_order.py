"""The events of all ranks in one body as one sequence, which has those of each rank in its order.

Ranks synchronise at collectives; between two of them, each receipt follows the sends that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import RankBodies, RankEvents
from hindmost.models.events import EventKind

Needed = tuple[int, int, int]
"""Number of a rank's receipt among its events, and rank and number of the send that it needs."""
MESSAGES = (EventKind.SEND, EventKind.RECEIVE)
MAX_ALIGNED = 400_000
"""Limit of events to put in order, of all ranks in bodies that differ from all before: a second."""


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


def common_sequences(
    bodies: Sequence[Sequence[OrderedEvents]], sources: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[list[int]]]]:
    """Return the sequences of some bodies, of the first ones if there are too many events.

    Where all ranks know whose messages they need, bodies of the same events have the same sequence.
    """
    known: dict[bytes, tuple[list[int], list[list[int]]]] = {}
    found, count = [], 0
    for ranks in bodies:
        timeless = not any(rank.unknown for rank in ranks)
        key = repr([(rank.kinds, rank.needed) for rank in ranks]).encode() if timeless else b""
        if key not in known or not timeless:
            count += sum(len(rank.kinds) for rank in ranks)
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
    sends: dict[int, list[tuple[int, int]]] = {}
    for event, source, send in own.needed:
        sends.setdefault(event, []).append((source, send))
    for event in own.unknown:
        for source in sources[rank]:
            other = ranks[source]
            earlier = [
                number
                for number, (kind, begin) in enumerate(zip(other.kinds, other.begins, strict=False))
                if kind == EventKind.SEND and begin <= own.ends[event]
            ]
            if earlier:
                sends.setdefault(event, []).append((source, earlier[-1]))
    return sends


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
