"""The events of all ranks as one sequence per body, for run files and models of waiting.

Ranks of one program mostly do the same in the same order. If they do not (the ends of a chain, one
rank that distributes work), a common sequence is made that contains that of every rank. Ranks
synchronise at collectives; between two of them, each receive follows the sends that it may need, by
the times on the common clock. A rank spends no time at events that are not its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.bodies import DIFFERENT, NO_GROUP, PART, RankBodies, RankEvents
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.solo import of_all
from hindmost.models.events import EventKind

if TYPE_CHECKING:
    from mpi4py import MPI

MOST_ALIGNED = 400_000
"""Limit of events to put in order, of all ranks in bodies that differ: a second or two."""
MOST_PENDING = 64
"""Limit of pending collectives for the models of waiting."""

MESSAGES = (EventKind.SEND, EventKind.RECEIVE)

Row = Sequence[int]
Times = Sequence[float]


def common_events(
    bodies: Sequence[RankBodies],
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None = None,
) -> tuple[list[RankEvents] | None, str]:
    """Return the events of the ranks of this process in the sequence of all ranks; collective.

    Parameters
    ----------
    bodies : sequence of RankBodies
        Of the ranks of this process.
    edges : Edges
        Who sends to whom; on rank 0 those of all ranks.
    kept : int array, shape (rank,), or None
        Numbers of the communicator's ranks in the edges, on rank 0, if they differ from their own.

    Returns
    -------
    list of RankEvents, or None
    str
        Why there are no events; may be empty.
    """
    events = [each.events for each in bodies if each.events is not None]
    whys = ["" if each.events is not None else each.events_left_out or " " for each in bodies]
    whys = of_all(communicator, whys)
    if any(whys):
        return None, next((why.strip() for why in whys if why.strip()), "")
    marks = [(each.kind.shape, zlib.crc32(each.kind.tobytes())) for each in events]
    if len(set(of_all(communicator, marks))) > 1:
        aligned = aligned_events(bodies, events, edges, communicator, kept)
        if isinstance(aligned, str):
            return None, aligned
        events = aligned
    if any(of_all(communicator, [each.group is not None for each in events])):
        groups = [
            np.full(each.kind.shape, NO_GROUP, np.int32) if each.group is None else each.group
            for each in events
        ]
        if (kept := communicator.bcast(kept)) is not None:
            columns = [np.minimum(np.searchsorted(kept, each), kept.size - 1) for each in groups]
            # Nobody waits for a root that is not kept.
            lost = [
                bool(((of != NO_GROUP) & (kept[at] != of) & (each.kind == EventKind.REDUCE)).any())
                for each, of, at in zip(events, groups, columns, strict=True)
            ]
            if any(of_all(communicator, lost)):
                return None, PART
            groups = [
                np.where(kept[at] == of, at, NO_GROUP).astype(np.int32)
                for of, at in zip(groups, columns, strict=True)
            ]
        events = [replace(each, group=of) for each, of in zip(events, groups, strict=True)]
    if any(of_all(communicator, [each.context is not None for each in events])):
        events = [
            replace(each, context=np.zeros(each.kind.shape, np.uint32))
            if each.context is None
            else each
            for each in events
        ]
    if most_pending(events[0].kind) > MOST_PENDING:
        return None, f"over {MOST_PENDING} collectives were under way at once"
    return events, ""


def most_pending(kind: NDArray[np.uint8]) -> int:
    """Return the largest number of pending collectives, from the kinds of all events."""
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    pending = np.cumsum(steps.ravel())
    return int((pending - np.minimum(np.minimum.accumulate(pending), 0)).max(initial=0))


def aligned_events(
    bodies: Sequence[RankBodies],
    events: Sequence[RankEvents],
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None,
) -> list[RankEvents] | str:
    """Return the events of the ranks in a sequence common to all ranks, or why that fails."""
    width = max(of_all(communicator, [each.kind.shape[1] for each in events]))
    kinds = [widened(each.kind, width) for each in events]
    rows = rows_that_differ(kinds, communicator)
    counts = of_all(communicator, [int(np.count_nonzero(kind[rows])) for kind in kinds])
    if sum(counts) > MOST_ALIGNED:
        return f"what ranks did differed in {rows.size:,} iterations, too many to put in order"
    timed = [
        timed_events(each, own, kind, rows)
        for each, own, kind in zip(bodies, events, kinds, strict=True)
    ]
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
            here = len(events)
            places = [of_ranks[at : at + here] for at in range(0, len(of_ranks), here)]
    sequences = communicator.bcast(sequences)
    if sequences is None:
        return DIFFERENT
    of_here = communicator.scatter(places)
    width = max(width, *(len(sequence) for sequence in sequences))
    return [
        in_sequence(each, rows, sequences, own, width)
        for each, own in zip(events, of_here, strict=True)
    ]


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


def in_sequence(
    events: RankEvents,
    rows: NDArray[np.intp],
    sequences: Sequence[Sequence[int]],
    own: Sequence[Sequence[int]],
    width: int,
) -> RankEvents:
    """Return the events of a rank, in some bodies at their places in a common sequence."""
    result = RankEvents(
        kind=widened(events.kind, width),
        work=widened(events.work, width),
        duration=widened(events.duration, width),
        group=None if events.group is None else widened(events.group, width, NO_GROUP),
        context=None if events.context is None else widened(events.context, width),
    )
    for row, sequence, place in zip(rows, sequences, own, strict=True):
        result.kind[row] = 0
        result.kind[row, : len(sequence)] = sequence
        for values, before, none in (
            (result.work, events.work, 0.0),
            (result.duration, events.duration, 0.0),
            (result.group, events.group, NO_GROUP),
            (result.context, events.context, 0),
        ):
            if values is not None and before is not None:
                values[row] = none
                values[row, place] = before[row, : len(place)]
    return result


def widened(values: NDArray[Any], width: int, padding: float = 0) -> NDArray[Any]:
    """Return rows of a greater width."""
    wide = np.full((len(values), width), padding, values.dtype)
    wide[:, : values.shape[1]] = values
    return wide


def rows_that_differ(
    kinds: Sequence[NDArray[np.uint8]], communicator: MPI.Intracomm
) -> NDArray[np.intp]:
    """Return the bodies in which the ranks' sequences differ from that of rank 0; collective."""
    first = communicator.bcast(kinds[0])
    differ = sum(((each != first).any(axis=1) for each in kinds), np.zeros(len(first), np.int64))
    return np.flatnonzero(communicator.allreduce(differ))


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
