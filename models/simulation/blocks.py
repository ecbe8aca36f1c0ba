"""Bodies (iterations) as sequences of events: own work, and where a rank depends on others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind

NONE, REDUCE, POST, COMPLETE, SEND, RECEIVE, FROM_ROOT, TO_ROOT, IN_ORDER, UNKNOWN = map(
    int, EventKind
)
KINDS = len(EventKind)
MAX_BITS = 31
"""Neighbours of which one receipt may need several; one with a higher number is needed alone."""
NO_GROUP = -1
"""Instead of the rank that stands for the group of an event: all ranks, or none."""
ONE_WAY = (FROM_ROOT, TO_ROOT, IN_ORDER)
"""Collectives in which not all ranks wait for all."""
WAITING = (REDUCE, COMPLETE, RECEIVE, *ONE_WAY)
"""Events in which a rank may have to wait; the others are its own work."""
OWN_TIME = np.array([kind in (POST, SEND, UNKNOWN) for kind in range(KINDS)])
"""Kinds of events whose duration is the rank's own doing: bool, shape (kind,)."""

FEWEST = 20
"""Bodies, or messages, that must show something before a law or a typical value of it is told."""
NEGLIGIBLE = 0.02
"""Share of a time below which what makes it is not told apart."""
RESOLUTION_S = 1e-9
"""Of recorded times."""
MAX_VALUES = 1 << 25
"""Events of all ranks that are held in memory, with some copies."""
AT_ONCE = 1 << 21
"""Events of all ranks of which float64 copies are made at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBlock:
    """The events of some bodies in a row, on all ranks.

    Attributes
    ----------
    kind : uint8 array, shape (iteration, event)
        See `EventKind`. The first NONE of a body ends it; what follows is ignored.
    work : float array, shape (iteration, rank, event), seconds
        Own work before an event.
    duration : float array, shape (iteration, rank, event), seconds
        Time in an event. Only that of posts and sends is own work.
    rest : float array, shape (iteration, rank), seconds
        Own work after the last event of a body.
    cycle_begins : bool array, shape (iteration,)
        All ranks meet before these bodies.
    absent : bool array, shape (iteration, rank, event), or None
        Messages of other ranks, in which a rank takes no part; see `absent_ranks`. None: all ranks
        take part in all.
    group : int array, shape (iteration, rank, event), or None
        The rank that stands for those that take part in a collective: its root, or any of them if
        it is over some ranks only; `NO_GROUP` otherwise. Of a non-blocking one with a root, the one
        rank that a rank needs, itself if none; `NO_GROUP` if all. Of a receipt, bit i for the i-th
        of a rank's neighbours whose message it needs; `NO_GROUP`, which has all bits, for all;
        -2 - i for the i-th alone. None: all collectives are over all ranks and have no root, and
        all neighbours are needed.
    behind : int array, shape (iteration, rank, event), or None
        Of a receipt: by how many sends of the sequence, of any rank, the message that it needs is
        behind the last one before it. None: receipts need the last one.
    """

    kind: NDArray[np.uint8]
    work: NDArray[np.floating[Any]]
    duration: NDArray[np.floating[Any]]
    rest: NDArray[np.floating[Any]]
    cycle_begins: NDArray[np.bool_]
    absent: NDArray[np.bool_] | None = None
    group: NDArray[np.integer[Any]] | None = None
    behind: NDArray[np.integer[Any]] | None = None

    def part(self, rows: slice | NDArray[np.intp]) -> EventBlock:
        """Return some of the bodies."""
        known: Any = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: each[rows] for name, each in known.items() if each is not None}
        )

    @property
    def recorded(self) -> NDArray[np.bool_]:
        """Events before the end of their body: bool, shape (iteration, event)."""
        return np.asarray(np.logical_and.accumulate(self.kind != NONE, axis=1))

    @property
    def meetings(self) -> NDArray[np.bool_]:
        """Events at which all ranks wait for all: bool, shape (iteration, event)."""
        meets = np.asarray(self.recorded & (self.kind == REDUCE))
        if self.group is not None:
            meets &= np.asarray((self.group == NO_GROUP).all(axis=1))
        return meets

    def cycles(self) -> list[slice]:
        """Return the rows of every cycle; the first may continue one of the block before."""
        borders = dict.fromkeys([0, *np.flatnonzero(self.cycle_begins).tolist(), len(self.kind)])
        return [slice(first, last) for first, last in pairwise(borders)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Whose halos every rank waits for.

    Attributes
    ----------
    source : int64 array, shape (edge,)
        Ranks that send, ordered by the rank that receives.
    first : int64 array, shape (rank + 1,)
        Rank p receives from ``source[first[p]:first[p + 1]]``.
    """

    source: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of_edges(
        cls, ranks: int, edge_source: NDArray[np.int32], edge_target: NDArray[np.int32]
    ) -> Neighbours:
        """Order edges by the rank that receives.

        Parameters
        ----------
        edge_source, edge_target : int array, shape (edge,)
            The target waits for the source's halo; empty for none.
        """
        order = np.argsort(edge_target, kind="stable")
        first = np.searchsorted(edge_target[order], np.arange(ranks + 1))
        return cls(source=edge_source[order].astype(np.int64), first=first.astype(np.int64))


def cycles_of_unknown(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the bodies before which all ranks meet since events are not known: bool, (iteration,).

    A body whose events are not known is a cycle of its own: nothing crosses it.
    """
    begins = np.asarray(kind[:, 0] == UNKNOWN)
    begins[1:] |= begins[:-1].copy()
    return begins


def slabs(bodies: int, width: int) -> Iterator[slice]:
    """Yield slices of rows with at most `AT_ONCE` values, for rows of a given width."""
    rows = max(1, AT_ONCE // max(width, 1))
    for first in range(0, bodies, rows):
        yield slice(first, min(first + rows, bodies))


def absent_ranks(
    kind: NDArray[np.uint8],
    work: NDArray[np.floating[Any]],
    duration: NDArray[np.floating[Any]],
) -> NDArray[np.bool_] | None:
    """Return which ranks take no part in which messages, in the common sequence of events.

    They spend no time before the message and none in it, unlike others. A call that sends nothing
    by itself, as of whole bodies, takes no time on any rank, and all take part.

    Parameters
    ----------
    kind : uint8 array, shape (iteration, event)
    work, duration : float array, shape (iteration, rank, event), seconds

    Returns
    -------
    bool array, shape (iteration, rank, event), or None
        None if all ranks take part in all messages.
    """
    messages = (kind == SEND) | (kind == RECEIVE)
    nothing = (duration == 0.0) & messages[:, None, :]
    if not nothing.any():
        return None
    nothing &= work == 0.0
    absent: NDArray[np.bool_] = nothing & ~nothing.all(axis=1, keepdims=True)
    return absent if absent.any() else None


def whole_bodies(
    work: NDArray[np.float64], lag: int, cycle_begins: NDArray[np.bool_]
) -> EventBlock:
    """Return one sequence of events for whole bodies whose own events were not recorded.

    Blocking bodies end with a reduction. Pipelined ones start with the completion that is due and
    the receipt of halos, and end with sending their halo and posting their reduction.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    lag : int
        0 for blocking reductions.
    cycle_begins : bool array, shape (iteration,)
    """
    kinds = [REDUCE] if lag == 0 else [COMPLETE, RECEIVE, SEND, POST]
    before = work[:, :, None]
    if lag:
        before = np.zeros((*work.shape, len(kinds)))
        before[:, :, kinds.index(SEND)] = work
    return EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (len(work), 1)),
        work=before,
        duration=np.zeros(before.shape),
        rest=np.zeros(work.shape),
        cycle_begins=cycle_begins,
    )
