"""A recorded solve as a program that can be replayed: work, dependencies, and what events cost.

The time of a rank in an event is split at the moment when nobody keeps it any more: before, it
waited for others; after, the event cost it time. That cost is split once more, into what the event
typically costs (the network, L) and the rest of this event on this rank (``stay``: a rank that lost
its core inside MPI, a slow transfer). The recorded clocks are then a solution of the recursion of
`hindmost.models.simulation.event_simulator`, whatever L is: without a change the replay returns
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import (
    COMPLETE,
    FEWEST,
    KINDS,
    MAX_VALUES,
    NEGLIGIBLE,
    NO_GROUP,
    OWN_TIME,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    UNKNOWN,
    WAITING,
    EventBlock,
    Neighbours,
)
from hindmost.models.simulation.length import (
    CycleCounts,
    SolveShape,
    begins_of,
    checked,
    choose_bodies,
)
from hindmost.models.simulation.recorded import exchanges_meet, moments, releases
from hindmost.text import percent

Times = NDArray[np.float64]

CALLS = {
    EventKind.REDUCE: "collectives of all ranks",
    EventKind.COMPLETE: "the completion of non-blocking collectives",
    EventKind.RECEIVE: "the receipt of messages",
    EventKind.FROM_ROOT: "broadcasts and scatters",
    EventKind.TO_ROOT: "reductions and gathers to a root",
    EventKind.IN_ORDER: "scans",
}
"""What ranks wait in, for messages."""
SHOWN = 0.5
"""Share of these in which a rank must have waited for it: others say only that it cost less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypicalCosts:
    """What events cost once nobody keeps a rank, by place in the body and kind.

    Attributes
    ----------
    median_s, low_s, high_s : float64 array, shape (event, kind), seconds
        The median over bodies, the lower quartile, and the mean with the largest hundredth capped.
        Of hidden costs the least and most that they can be: 0, 0, and the lower quartile of the
        time that the message or reduction had before all ranks were through. 0 for events of fewer
        than `FEWEST` bodies.
    seen, there : int64 array, shape (event, kind)
        Bodies in which a rank waited and thus shows the cost; bodies that have the event.
    """

    median_s: Times
    low_s: Times
    high_s: Times
    seen: NDArray[np.int64]
    there: NDArray[np.int64]

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Events whose cost hides behind work in most bodies: bool, shape (event, kind)."""
        return np.asarray((self.there >= FEWEST) & (self.seen < SHOWN * self.there))

    def measured(self, kind: int, cost_s: float) -> TypicalCosts:
        """Return the costs with a measured one in place of those of a kind that hide.

        A cost that the run contradicts stays hidden: it is above the most that it can be.

        Parameters
        ----------
        kind : int
            See `EventKind`.
        cost_s : float
        """
        here = self.hidden & (cost_s <= self.high_s)
        here[:, np.arange(KINDS) != kind] = False
        return TypicalCosts(
            median_s=np.where(here, cost_s, self.median_s),
            low_s=np.where(here, cost_s, self.low_s),
            high_s=np.where(here, cost_s, self.high_s),
            seen=np.where(here, self.there, self.seen),
            there=self.there,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A solve: what its ranks do, and who waits for whom.

    Attributes
    ----------
    block : EventBlock
        All bodies, float64. Work includes what lies between two bodies of a cycle.
    released_s : float64 array, shape (iteration, rank, event), seconds
        Between the moment when nobody else kept a rank at an event any more, and when it left.
    late_s : float64 array, shape (iteration, rank, event), seconds
        By how much later than that it came; negative if it waited, infinite if for nobody.
    between : float64 array, shape (cycle, rank), seconds
        From the end of the last rank in the cycle before to the begin of each rank in this one;
        from the begin of the solve to that of each rank in the first. Cycles follow each other as
        if all ranks met between them.
    after : float64 array, shape (rank,), seconds
        From the end of each rank to the end of the solve on it.
    position : int array, shape (iteration,)
        Place in the restart cycle.
    neighbours : Neighbours
    costs : TypicalCosts
    shape : SolveShape or None
        None if the bodies are not those of a solve.
    injected : float64 array, shape (iteration, rank), or None, seconds
        Noise that was put into the bodies, at one point of each, part of their work; None if none
        was.
    counts : CycleCounts or None
        How often cycles count; None: once.
    doubt : tuple of float
        Factors of the time of cycles that work that was never recorded may have.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to theirs, though these have sent; see
        `hindmost.models.simulation.recorded`.
    """

    block: EventBlock
    released_s: Times
    late_s: Times
    between: Times
    after: Times
    position: NDArray[np.int32]
    neighbours: Neighbours
    costs: TypicalCosts
    shape: SolveShape | None = None
    injected: Times | None = None
    counts: CycleCounts | None = None
    doubt: tuple[float, float] = (1.0, 1.0)
    exchanges_meet: bool = False

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.after.size)

    @property
    def bodies(self) -> int:
        """Number of bodies (iterations)."""
        return len(self.block.kind)

    @property
    def receipts_send(self) -> bool:
        """Whether halos are sent by the calls that receive them, as MPI_Sendrecv does."""
        return not np.any(self.block.recorded & (self.block.kind == SEND))

    def has(self, *kinds: int) -> bool:
        """Tell whether any body has an event of one of these kinds."""
        return bool(np.any(self.block.recorded & np.isin(self.block.kind, kinds)))

    @property
    def depth(self) -> int:
        """Reductions in flight when a rank completes one: the depth of the pipeline."""
        pending, most = 0, 0
        for body, begins in zip(self.block.kind.tolist(), self.block.cycle_begins, strict=True):
            pending = 0 if begins else pending
            for what in body:
                if what == POST:
                    pending += 1
                elif what == COMPLETE:
                    most = max(most, pending)
                    pending = max(pending - 1, 0)
                elif not what:
                    break
        return most

    def of_length(self, iterations: int | None) -> Program:
        """Return the program with another number of iterations; None: as recorded.

        Raises
        ------
        UsageError
            See `hindmost.models.simulation.length.checked`.
        """
        if iterations is None:
            return self
        wanted = checked(self.shape, iterations)
        if self.shape is None or iterations == self.shape.iterations:
            return self
        parts, between, counts = choose_bodies(self.block, self.between, self.shape, iterations)
        rows = np.concatenate(parts)
        place = self.position[rows]
        if self.shape.restart:
            place = np.concatenate([np.arange(part.size, dtype=np.int32) for part in parts])
        return replace(
            self,
            block=replace(self.block.part(rows), cycle_begins=begins_of(parts)),
            released_s=self.released_s[rows],
            late_s=self.late_s[rows],
            between=between,
            position=place,
            shape=replace(wanted, drain=self.shape.drain[rows]),
            injected=None if self.injected is None else self.injected[rows],
            counts=counts,
        )

    def stays(self, latency: Times) -> Times:
        """Return how long each event kept each rank beyond a cost of its place and kind.

        Negative where the event cost less.

        Parameters
        ----------
        latency : float64 array, shape (event, kind), seconds

        Returns
        -------
        float64 array, shape (iteration, rank, event), seconds
        """
        kind = self.block.kind
        cost = latency[np.arange(kind.shape[1]), kind][:, None, :]
        # A rank that comes late finds a completion or a message there, and pays none of the cost.
        paid = np.maximum(0.0, cost - np.maximum(0.0, self.late_s))
        paid = np.where((kind == REDUCE)[:, None, :], cost, paid)
        return np.where(waiting(self.block)[:, None, :], self.released_s - paid, 0.0)


def recorded_program(
    start: Times,
    block: EventBlock,
    position: NDArray[np.int32],
    after: Times,
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
    *,
    shape: SolveShape | None = None,
    injected: Times | None = None,
    lead_in: Times | None = None,
    restarts: Times | None = None,
) -> Program:
    """Return the program of a recorded solve.

    Parameters
    ----------
    start : float64 array, shape (iteration, rank), seconds
        Begin of the bodies on the common clock, since the begin of the solve.
    block : EventBlock
        The same bodies.
    position : int array, shape (iteration,)
    after : float64 array, shape (rank,), seconds
        From the last body to the end of the solve.
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo.
    shape, injected : optional
        See `Program`.
    lead_in : float64 array, shape (rank,), optional, seconds
    restarts : float64 array, shape (cycle - 1, rank), optional, seconds
        What belongs to the solve before its first body, and between two cycles. What else lies
        there, such as the set-up of a program, is left out. By default all of it belongs to it.

    Raises
    ------
    DataError
        Too many events, none in which ranks wait for each other, or clocks that contradict the
        dependencies.
    """
    if block.work.size > MAX_VALUES:
        raise DataError(
            f"{block.work.size:,} events of all ranks; replays hold them in memory, at most "
            f"{MAX_VALUES:,}. Record fewer iterations."
        )
    ranks = start.shape[1]
    if ranks > 1 and not waiting(block).any():
        raise DataError(
            "No MPI call in which ranks wait for each other was recorded in the iterations, so "
            "nothing can be replayed. If ranks do wait, they do so outside MPI, in threads that "
            "are not recorded, or between the iterations."
        )
    neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
    come, leave = moments(start, block)
    meeting = exchanges_meet(start, block, neighbours)
    release = releases(start, block, come, leave, neighbours, exchanges_meet=meeting)
    end = leave[:, -1] + block.rest
    released_s = since_released(block, come, leave, release)
    late_s = np.ascontiguousarray((come - release).transpose(0, 2, 1))
    total_s = float(end[-1].max() - start[0].min())
    if early_s(released_s).max() > NEGLIGIBLE * total_s:
        # A message has left before its call ends, where the sender loses its core in the call; and,
        # where it is known which one was received, before later ones of the same event.
        sent = np.where(OWN_TIME[block.kind][:, :, None], come, leave)
        if block.group is not None:
            receipts = (block.kind == RECEIVE)[:, None, :] & (block.group != NO_GROUP)
            if receipts.any():
                sends = (block.kind == SEND)[:, :, None]
                sent = np.where(sends, come - block.work.transpose(0, 2, 1), sent)
        least = releases(start, block, come, sent, neighbours, exchanges_meet=meeting)
        refuse_contradictions(since_released(block, come, leave, least), block.kind, total_s)
    begins = np.union1d([0], np.flatnonzero(block.cycle_begins))
    before = np.vstack([np.zeros((1, 1)), end[begins[1:] - 1].max(axis=1, keepdims=True)])
    apart = start[begins] - before
    restarted = begins[1:][position[begins[1:]] == 0]  # others only begin what is not known
    if lead_in is not None and restarts is not None and len(restarts) == restarted.size:
        since = np.vstack([np.zeros((1, ranks)), end[begins[1:] - 1]])
        outside = start[begins] - since
        outside[np.isin(begins, restarted)] -= restarts
        outside[0] -= lead_in
        outside[1:][~np.isin(begins[1:], restarted)] = 0.0
        apart -= np.maximum(outside.min(axis=1, keepdims=True), 0.0)
    return Program(
        block=with_gaps(start, end, block),
        released_s=released_s,
        late_s=late_s,
        between=apart,
        after=after,
        position=position,
        neighbours=neighbours,
        costs=typical_costs(block, released_s, late_s),
        shape=shape,
        injected=injected,
        exchanges_meet=meeting,
    )


def without_unknown(program: Program) -> Program:
    """Return a program whose bodies of unknown events are like the known ones next to them."""
    known = np.flatnonzero(program.block.kind[:, 0] != UNKNOWN)
    if known.size in (0, program.bodies):
        return program
    at = np.searchsorted(known, np.arange(program.bodies))
    rows = known[np.minimum(at, known.size - 1)]
    begins = np.union1d([0], np.flatnonzero(program.block.cycle_begins))
    restarted = program.position == 0
    kept = (begins == 0) | restarted[begins]
    return replace(
        program,
        block=replace(program.block.part(rows), cycle_begins=restarted),
        released_s=program.released_s[rows],
        late_s=program.late_s[rows],
        between=program.between[kept],
        injected=None if program.injected is None else program.injected[rows],
    )


def waiting(block: EventBlock) -> NDArray[np.bool_]:
    """Return the events in which ranks may wait for others: bool, shape (iteration, event)."""
    return block.recorded & np.isin(block.kind, WAITING)


def with_gaps(start: Times, end: Times, block: EventBlock) -> EventBlock:
    """Return the bodies with the time between two of them as own work of the first of the two."""
    gap = np.zeros_like(start)
    gap[:-1] = np.where(block.cycle_begins[1:, None], 0.0, start[1:] - end[:-1])
    return replace(
        block,
        work=np.asarray(block.work, np.float64),
        duration=np.asarray(block.duration, np.float64),
        rest=block.rest + gap,
    )


def since_released(block: EventBlock, come: Times, leave: Times, release: Times) -> Times:
    """Return how long ranks stay in events once nobody else keeps them, negative if they go before.

    Parameters
    ----------
    come, leave, release : float64 array, shape (iteration, event, rank), seconds

    Returns
    -------
    float64 array, shape (iteration, rank, event), seconds
    """
    stay = np.ascontiguousarray((leave - np.maximum(release, come)).transpose(0, 2, 1))
    return np.where(waiting(block)[:, None, :], stay, 0.0)


def early_s(released_s: Times) -> Times:
    """Return by how much each rank leaves events too early, in all: float64, shape (rank,)."""
    return np.asarray(-np.minimum(released_s, 0.0).sum(axis=(0, 2)))


def refuse_contradictions(released_s: Times, kind: NDArray[np.uint8], total_s: float) -> None:
    """Raise a DataError if ranks leave events long before those they wait for have come."""
    of_rank = early_s(released_s)
    if of_rank.max() > NEGLIGIBLE * total_s:
        early = -np.minimum(released_s, 0.0)
        of_kind = np.bincount(kind.ravel(), early.sum(axis=1).ravel(), KINDS)
        worst = EventKind(int(of_kind.argmax()))
        rank = int(of_rank.argmax())
        why = (
            "Either the clocks of the ranks differ by more than these calls take, or ranks wait "
            "for others there than recorded, so a replay would be wrong."
        )
        if worst == COMPLETE:
            why = (
                "Not all ranks need to wait for persistent collectives with a root and for "
                "MPI_Iscan, and which do is not recorded: record the program with other calls. "
                "Otherwise the clocks of the ranks differ by more than these calls take."
            )
        raise DataError(
            f"Rank {rank} leaves events {of_rank[rank]:.3g} s too early in all, before those that "
            f"it waits for have come ({total_s:.3g} s of iterations); of all ranks, "
            f"{percent(of_kind.max() / early.sum())} of this is at {CALLS[worst]}. {why}"
        )


def typical_costs(block: EventBlock, released_s: Times, late_s: Times) -> TypicalCosts:
    """Return what events cost, from the bodies in which a rank was kept and thus shows it.

    In a reduction all ranks pay, but the last to come finds most messages there already, and others
    may have lost their core. The rank in the middle counts; for the ends, those at the quartiles.

    Parameters
    ----------
    released_s, late_s : float64 array, shape (iteration, rank, event), seconds
        See `Program`.
    """
    events = block.kind.shape[1]
    shape = events, KINDS
    median, low, high = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    seen, there = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for event, what in product(range(events), WAITING):
        rows = block.recorded[:, event] & (block.kind[:, event] == what)
        late, cost = late_s[rows, :, event], released_s[rows, :, event]
        reached = np.isfinite(late).any(axis=1)  # who depends on nobody pays nothing
        if what != REDUCE:  # those that came later do not see what the message cost
            cost = np.where(late < 0.0, cost, np.inf)
        least, middle, most = (
            np.quantile(cost, (0.25, 0.5, 0.75), axis=1)
            if what == REDUCE
            else [cost.min(axis=1, initial=np.inf)] * 3
        )
        shown = np.isfinite(middle)
        least, middle, most = (np.maximum(each[shown], 0.0) for each in (least, middle, most))
        bodies = int(np.count_nonzero(reached))
        there[event, what], seen[event, what] = bodies, middle.size
        if bodies < FEWEST:
            continue
        if middle.size >= SHOWN * bodies:
            low[event, what] = np.quantile(least, 0.25)
            median[event, what] = np.median(middle)
            # The largest costs are those of ranks that lost their core.
            capped = np.minimum(most, np.quantile(most, 0.99, method="higher"))
            high[event, what] = max(float(capped.mean()), median[event, what])
        else:
            # Whoever left had what it waited for: the cost is at most that long after the release.
            most = (np.maximum(late, 0.0) + released_s[rows, :, event])[reached].min(axis=1)
            high[event, what] = max(float(np.quantile(most, 0.25)), 0.0)
    return TypicalCosts(median_s=median, low_s=low, high_s=high, seen=seen, there=there)
