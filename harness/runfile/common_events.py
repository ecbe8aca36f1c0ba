"""The events of all ranks as one sequence per body, for run files and models of waiting.

Ranks of one program mostly do the same in the same order. If they do not (the ends of a chain, one
rank that distributes work), a common sequence is made that contains that of every rank. Ranks
synchronise at collectives; between two of them, each receive follows the sends that it may need, by
the times on the common clock. A rank spends no time at events that are not its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
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
from hindmost.models.events import MOST_PENDING, EventKind

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_ALIGNED = 400_000
"""Limit of events to put in order, of all ranks in bodies that differ: a second or two."""

KNOWN_OF_SOME = ("group", "needs", "context")
"""Arrays of `RankEvents` that not every rank has."""
MESSAGES = (EventKind.SEND, EventKind.RECEIVE)

Row = Sequence[int]
Times = Sequence[float]


@dataclass(slots=True)
class EventsSeen:
    """What the events of the ranks of a process are like; one rank after the other is looked at.

    Attributes
    ----------
    first : uint8 array, shape (body, event), or None
        The kinds of the first rank.
    differ : bool array, shape (body,)
        The bodies in which those of another rank are not the same.
    width : int
        Events of the longest body.
    ranks : int
        How many were looked at.
    known : set of str
        Those of `KNOWN_OF_SOME` of which a rank knows something.
    lacking : bool
        Whether a rank has no events.
    why_not : str
        Why, as the first such rank says that gives a reason.
    """

    first: NDArray[np.uint8] | None = None
    differ: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    width: int = 0
    ranks: int = 0
    known: set[str] = field(default_factory=set)
    lacking: bool = False
    why_not: str = ""

    def add(self, bodies: RankBodies) -> None:
        """Look at one rank; all have as many bodies."""
        events = bodies.events
        self.ranks += 1
        if events is None:
            self.lacking = True
            self.why_not = self.why_not or bodies.events_left_out
            return
        kind = events.kind
        if self.first is None:
            self.first, self.differ = kind, np.zeros(len(kind), np.bool_)
        elif len(kind) == len(self.first):
            self.differ |= unlike(kind, self.first)
        self.width = max(self.width, kind.shape[1])
        self.known |= {name for name in KNOWN_OF_SOME if events.knows(name)}

    @classmethod
    def of(cls, ranks: Iterable[RankBodies]) -> EventsSeen:
        """Look at all ranks of this process."""
        seen = cls()
        for each in ranks:
            seen.add(each)
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonEvents:
    """The sequence of all ranks, and the places of the events of the ranks of this process in it.

    Attributes
    ----------
    kind : uint8 array, shape (body, event)
    rows : int array, shape (row,)
        The bodies in which ranks differ.
    places : list of list of list of int
        Of each rank, in each of these bodies, where its events stand.
    known : frozenset of str
        Those of `KNOWN_OF_SOME` of which any rank knows something.
    sources : list of list of int, or None
        Of each rank of this process, from whom it receives, if any rank knows whose messages its
        receipts need.
    """

    kind: NDArray[np.uint8]
    rows: NDArray[np.intp]
    places: list[list[list[int]]]
    known: frozenset[str]
    sources: list[list[int]] | None = None

    def of(self, rank: int, events: RankEvents) -> RankEvents:
        """Return the events of a rank of this process at their places."""
        arrays = events.arrays()
        if self.sources is not None:
            arrays["needs"] = events.needs_by(self.sources[rank])
        if self.rows.size or events.kind.shape != self.kind.shape:
            width = self.kind.shape[1]
            arrays = {name: widened(each, width, PADDING[name]) for name, each in arrays.items()}
        places = self.places[rank] if self.rows.size else ()
        for row, place in zip(self.rows, places, strict=True):
            nobody = np.where(self.kind[row] == EventKind.RECEIVE, 0, -1)  # it receives nothing
            for name, values in arrays.items():
                before = values[row, : len(place)].copy()
                values[row] = nobody if name == "needs" else PADDING[name]
                values[row, place] = before
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
        Why there are no events; may be empty.
    """
    whys = communicator.allgather((seen.lacking, seen.why_not))
    if any(lacking for lacking, _ in whys):
        return None, next((why for _, why in whys if why), "")
    assert seen.first is not None  # no rank lacks its events
    known = frozenset[str]().union(*communicator.allgather(seen.known))
    if "group" in known and communicator.bcast(kept is not None):
        return None, PART  # ranks of the groups are not in the file
    width = max(communicator.allgather(seen.width))
    mark = (bool(seen.differ.any()), seen.first.shape, zlib.crc32(seen.first.tobytes()))
    first, rows = seen.first, np.empty(0, np.intp)
    if mark[0] or len(set(communicator.allgather(mark))) > 1:
        first = communicator.bcast(seen.first)
        differ = seen.differ | unlike(seen.first, first)
        rows = np.flatnonzero(communicator.allreduce(differ.astype(np.int64)))
    sequences: list[list[int]] = []
    places: list[list[list[int]]] = []
    if rows.size:
        aligned = aligned_events(ranks(), rows, width, edges, communicator, kept)
        if isinstance(aligned, str):
            return None, aligned
        sequences, places = aligned
    kind = widened(first, max(width, *map(len, sequences)) if sequences else width)
    for row, sequence in zip(rows, sequences, strict=True):
        kind[row] = 0
        kind[row, : len(sequence)] = sequence
    found = CommonEvents(
        kind=kind,
        rows=rows,
        places=places,
        known=known,
        sources=sources_here(seen, edges, communicator, kept) if "needs" in known else None,
    )
    if most_pending(kind) > MOST_PENDING:
        return None, f"over {MOST_PENDING} collectives were under way at once"
    return found, ""


def most_pending(kind: NDArray[np.uint8]) -> int:
    """Return the largest number of pending collectives, from the kinds of all events."""
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    pending = np.cumsum(steps.ravel())
    return int((pending - np.minimum(np.minimum.accumulate(pending), 0)).max(initial=0))


def aligned_events(
    ranks: Iterable[RankBodies],
    rows: NDArray[np.intp],
    width: int,
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None,
) -> tuple[list[list[int]], list[list[list[int]]]] | str:
    """Return sequences common to all ranks in some bodies, or why that fails; collective.

    Parameters
    ----------
    ranks : iterable of RankBodies
        Of this process.
    rows : int array, shape (row,)
        The bodies.
    width : int
        Events of the longest body on any rank.

    Returns
    -------
    list of list of int
        The kinds, of each body.
    list of list of list of int
        Of each rank of this process, in each body, the places of its events.
    """
    count, timed = 0, []
    for each in ranks:
        events = each.events
        assert events is not None  # or `common_events` had returned
        kind = widened(events.kind, width)
        count += int(np.count_nonzero(kind[rows]))
        timed.append(timed_events(each, events, kind, rows) if count <= MOST_ALIGNED else [])
    if sum(communicator.allgather(count)) > MOST_ALIGNED:
        return f"what ranks did differed in {rows.size:,} iterations, too many to put in order"
    gathered = communicator.gather(timed)
    sequences: list[list[int]] | None = None
    places: list[list[list[list[int]]]] = []
    if gathered is not None:
        everybody = [each for part in gathered for each in part]
        sources = sources_of(edges, len(everybody), kept)
        found = [
            common_sequence(
                [each[0] for each in body],
                [each[1] for each in body],
                [each[2] for each in body],
                sources,
            )
            for body in zip(*everybody, strict=True)
        ]
        if all(each is not None for each in found):
            known = [each for each in found if each is not None]
            sequences = [sequence for sequence, _ in known]
            of_ranks = [list(each) for each in zip(*(place for _, place in known), strict=True)]
            here = len(timed)
            places = [of_ranks[at : at + here] for at in range(0, len(of_ranks), here)]
    sequences = communicator.bcast(sequences)
    if sequences is None:
        return DIFFERENT
    return sequences, communicator.scatter(places)


def timed_events(
    bodies: RankBodies, events: RankEvents, kind: NDArray[np.uint8], rows: NDArray[np.intp]
) -> list[tuple[list[int], list[float], list[float]]]:
    """Return kinds, begins and ends of the events of some bodies of a rank, in seconds."""
    work, duration = events.work[rows].astype(float), events.duration[rows].astype(float)
    ends = bodies.start[rows, None] + np.cumsum(work + duration, axis=1)
    return [
        (row[row > 0].tolist(), (end - spent).tolist(), end.tolist())
        for row, end, spent in zip(kind[rows], ends, duration, strict=True)
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
    seen: EventsSeen,
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None,
) -> list[list[int]] | None:
    """Return from whom each rank of this process receives, in the order of edges; collective.

    None if not all ranks are kept.
    """
    if communicator.bcast(kept is not None):
        return None
    counts = communicator.gather(seen.ranks)
    parts: list[list[list[int]]] = []
    if counts is not None:
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


def common_sequence(
    kinds: Sequence[Row],
    begins: Sequence[Times],
    ends: Sequence[Times],
    sources: Sequence[Sequence[int]],
) -> tuple[list[int], list[list[int]]] | None:
    """Put the events of one body on all ranks into one sequence.

    Parameters
    ----------
    kinds, begins, ends : lists, one per rank, of its events and their times, in seconds
    sources : lists, one per rank, of the ranks whose messages it receives

    Returns
    -------
    list of int
        The kinds of the sequence; None if the ranks' collectives differ.
    list, one per rank, of lists of int
        Places of its events in the sequence.
    """
    meetings = [[kind for kind in row if kind not in MESSAGES] for row in kinds]
    if any(row != meetings[0] for row in meetings):
        return None
    sequence: list[int] = []
    places: list[list[int]] = [[] for _ in kinds]
    for meeting in (*meetings[0], None):
        between = []
        for rank, row in enumerate(kinds):
            at = len(places[rank])
            while at < len(row) and row[at] in MESSAGES:
                times = begins if row[at] == EventKind.SEND else ends
                between.append((times[rank][at], rank, row[at]))
                at += 1
        levels = levels_of(sorted(between, key=lambda each: each[0]), sources)
        used = sorted({level for _, level in levels})
        for rank, level in levels:
            places[rank].append(len(sequence) + used.index(level))
        sequence += [MESSAGES[level % 2] for level in used]
        if meeting is not None:
            for place in places:
                place.append(len(sequence))
            sequence.append(meeting)
    return sequence, places


def levels_of(
    events: Sequence[tuple[float, int, int]], sources: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Return ranks and levels of sends and receives, which are given in the order of time.

    Sends have even levels, receives odd ones. An event has a higher level than earlier ones of its
    rank, and a receive a higher one than the last earlier send of each rank it may come from.
    """
    highest = dict(zip(range(len(sources)), repeat(-1)))
    sent = dict(highest)
    levels = []
    for _, rank, kind in events:
        level = highest[rank] + 1
        if kind == EventKind.RECEIVE:
            level = max(level, *(sent[source] + 1 for source in sources[rank]), 0)
        level += level % 2 != MESSAGES.index(EventKind(kind))
        highest[rank] = level
        if kind == EventKind.SEND:
            sent[rank] = level
        levels.append((rank, level))
    return levels
