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
from hindmost.harness.runfile.gathering import gathered_blocks
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
    bodies: RankBodies,
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None = None,
) -> tuple[RankEvents | None, str]:
    """Return the events of this rank in the sequence of all ranks; collective.

    Parameters
    ----------
    edges : Edges
        Who sends to whom; on rank 0 those of all ranks.
    kept : int array, shape (rank,), or None
        Numbers of the communicator's ranks in the edges, on rank 0, if they differ from their own.

    Returns
    -------
    RankEvents or None
    str
        Why there are no events; may be empty.
    """
    events = bodies.events
    whys = communicator.allgather("" if events is not None else bodies.events_left_out or " ")
    if events is None or any(whys):
        return None, next((why.strip() for why in whys if why.strip()), "")
    mark = (events.kind.shape, zlib.crc32(events.kind.tobytes()))
    if len(set(communicator.allgather(mark))) > 1:
        aligned = aligned_events(bodies, events, edges, communicator, kept)
        if isinstance(aligned, str):
            return None, aligned
        events = aligned
    if any(communicator.allgather(events.group is not None)) and events.group is None:
        events = replace(events, group=np.full(events.kind.shape, NO_GROUP, np.int32))
    if any(communicator.allgather(events.context is not None)) and events.context is None:
        events = replace(events, context=np.zeros(events.kind.shape, np.uint32))
    if events.group is not None and (kept := communicator.bcast(kept)) is not None:
        # Nobody waits for a root that is not kept.
        column = np.minimum(np.searchsorted(kept, events.group), kept.size - 1)
        there = kept[column] == events.group
        lost = (events.group != NO_GROUP) & ~there & (events.kind == EventKind.REDUCE)
        if any(communicator.allgather(bool(lost.any()))):
            return None, PART
        events = replace(events, group=np.where(there, column, NO_GROUP).astype(np.int32))
    if most_pending(events.kind) > MOST_PENDING:
        return None, f"over {MOST_PENDING} collectives were under way at once"
    return events, ""


def most_pending(kind: NDArray[np.uint8]) -> int:
    """Return the largest number of pending collectives, from the kinds of all events."""
    steps = (kind == EventKind.POST).astype(np.int64) - (kind == EventKind.COMPLETE)
    pending = np.cumsum(steps.ravel())
    return int((pending - np.minimum(np.minimum.accumulate(pending), 0)).max(initial=0))


def aligned_events(
    bodies: RankBodies,
    events: RankEvents,
    edges: Edges,
    communicator: MPI.Intracomm,
    kept: NDArray[np.integer[Any]] | None,
) -> RankEvents | str:
    """Return the events of this rank in a sequence common to all ranks, or why that fails."""
    width = max(communicator.allgather(events.kind.shape[1]))
    kind = widened(events.kind, width)
    rows = rows_that_differ(kind, communicator)
    count = np.count_nonzero(kind[rows])
    if sum(communicator.allgather(int(count))) > MOST_ALIGNED:
        return f"what ranks did differed in {rows.size:,} iterations, too many to put in order"
    work, duration = events.work[rows].astype(float), events.duration[rows].astype(float)
    ends = bodies.start[rows, None] + np.cumsum(work + duration, axis=1)
    mine = [
        (row[row > 0].tolist(), (end - spent).tolist(), end.tolist())
        for row, end, spent in zip(kind[rows], ends, duration, strict=True)
    ]
    everybody = communicator.gather(mine)
    sequences: list[list[int]] | None = None
    places: list[list[list[int]]] = []
    if everybody is not None:
        sources = sources_of(edges, communicator.size, kept)
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
            by_body = [place for _, place in known]
            places = [list(of_rank) for of_rank in zip(*by_body, strict=True)]
    sequences = communicator.bcast(sequences)
    if sequences is None:
        return DIFFERENT
    own = communicator.scatter(places)
    width = max(width, *(len(sequence) for sequence in sequences))
    result = RankEvents(
        kind=widened(kind, width),
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


def rows_that_differ(kind: NDArray[np.uint8], communicator: MPI.Intracomm) -> NDArray[np.intp]:
    """Return the bodies in which the ranks' sequences differ; collective."""
    weights = np.random.default_rng(0).integers(1, 1 << 62, kind.shape[1], np.uint64)
    digest = (kind * weights).sum(axis=1, dtype=np.uint64)
    differ = []
    for first, block in gathered_blocks(digest, communicator):
        if block is not None:
            differ.append(first + np.flatnonzero((block != block[:, :1]).any(axis=1)))
    rows = np.concatenate(differ) if differ else None
    found: NDArray[np.intp] = communicator.bcast(rows)
    return found


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
