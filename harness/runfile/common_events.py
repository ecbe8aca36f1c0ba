"""The events of all ranks as one sequence per body, for run files and models of waiting.

Ranks of one program mostly do the same in the same order. If they do not (the ends of a chain, one
rank that distributes work), a common sequence is made that contains that of every rank
(`event_order`), with receipts behind the messages that they get (`message_matches`). A rank spends
no time at events that are not its own. A body in which that fails on any rank has one event, of
`EventKind.UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
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
from hindmost.harness.runfile.event_order import Needed, common_sequences, ordered_events
from hindmost.harness.runfile.message_matches import (
    Matches,
    Receipts,
    sources_here,
    sources_of,
    with_further,
)
from hindmost.models.events import MAX_PENDING, EventKind

if TYPE_CHECKING:
    from mpi4py import MPI

MAX_GATHERED = 2_000_000
"""Of all ranks in bodies in which they differ: some 100 MB."""
UNSENT = "messages were received whose sending was not recorded, or only in a later iteration"
TOO_MANY = "what ranks did differed in iterations that are too many to put in order"
KNOWN_OF_SOME = ("group", "needs", "context")
"""Arrays of `RankEvents` that not every rank has."""


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
        for rank in ranks:
            seen.add(rank)
        return seen


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
            # A rank that spends no time takes no part.
            arrays["duration"][further] = 1e-9
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
    is_known = np.array([bool(sequence) for sequence in sequences], np.bool_)
    if not is_known.all():
        why_not = why_not or aligned.why_not
        unknown[rows[~is_known]] = True
        rows, sequences = rows[is_known], [sequence for sequence in sequences if sequence]
        places = [
            [of for of, here in zip(place, is_known, strict=False) if here] for place in places
        ]
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
        if communicator.allreduce(int(any(receipt.behind.any() for receipt in receipts))):
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
