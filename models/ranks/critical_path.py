"""The critical path: from the end of a run back to its start, by the ranks that were waited for.

At a blocking reduction the path goes to the rank that arrived last; at the completion of a posted
one, to the rank that posted last, if the rank waited for it; at the receipt of a halo, to the
neighbour that sent last, if the rank waited for it, or that came to its own receipt last where
exchanges meet (`hindmost.models.simulation.exchanges`). A slow transfer delays the receiving rank
after that, and is on the path as such. Without the work on the path the run would be
shorter by that time. Ranks off the path can be slower without any effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.simulation.blocks import RECEIVE, SEND, EventBlock, Neighbours, slabs
from hindmost.models.simulation.event_simulator import EventSimulator, as_float64
from hindmost.models.simulation.path import PathTimes, Waits, walk_back

MOST_PLACES = 1 << 24
"""Events of a run, and ends of bodies, up to which the ranks on the path are kept one by one."""
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """The part of every rank in the critical path.

    Attributes
    ----------
    seconds : float64 array, shape (rank,)
        Own work on the path.
    transfer_s : float64 array, shape (rank,)
        Slow transfers on the path, by the rank that receives.
    visits : int64 array, shape (rank,)
        How often the path enters the rank.
    passed : int32 array, shape (iteration, event + 1), or None
        The rank whose own work is on the path before each event, and after the last one; `NOBODY`
        while the path is in a message or in a pending reduction. None for a very long run.
    """

    seconds: NDArray[np.float64]
    transfer_s: NDArray[np.float64]
    visits: NDArray[np.int64]
    passed: NDArray[np.int32] | None = None

    @property
    def length_s(self) -> float:
        """Own work on the path, of all ranks, in seconds."""
        return float(self.seconds.sum())


class PathSum:
    """The critical path of a run, block by block, as if all ranks met at the end of a block.

    Long cycles are divided like blocks, as every place of a walk is noted for every rank.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    lag : int
        Posted reductions that a completion leaves pending.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to their own.
    """

    def __init__(
        self,
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        lag: int = 0,
        *,
        exchanges_meet: bool = False,
    ) -> None:
        self._neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._lag, self._exchanges_meet = lag, exchanges_meet
        self._path = PathTimes.none(ranks)
        self._passed: list[NDArray[np.int32]] | None = []
        self._places = 0

    def add(self, block: EventBlock, transfer: NDArray[np.float64] | None = None) -> None:
        """Walk through bodies, and back.

        Parameters
        ----------
        transfer : float64 array, shape (iteration, rank), seconds, optional
            Time in slow transfers; see `hindmost.models.ranks.transfers`.
        """
        width = self._path.visits.size * (block.kind.shape[1] + 1)
        meets = block.kind.shape[1] == 1 and bool(block.meetings.all())
        for cycle in block.cycles():
            for some in slabs(cycle.stop - cycle.start, width):
                rows = slice(cycle.start + some.start, cycle.start + some.stop)
                part = block.part(rows)
                if meets and transfer is None and part.absent is None:
                    self._add_meetings(part)
                    continue
                self._add_cycle(part, None if transfer is None else transfer[rows])

    def _add_cycle(self, block: EventBlock, transfer: NDArray[np.float64] | None) -> None:
        """Walk through the bodies between two meetings, noting who was waited for, and back."""
        bodies, events = block.kind.shape
        ranks = self._path.visits.size
        simulator = EventSimulator(
            ranks,
            self._neighbours,
            lag=self._lag,
            # Without any send the calls that receive send as well, as MPI_Sendrecv does.
            receipts_send=not np.any(block.recorded & (block.kind == SEND)),
            exchanges_meet=self._exchanges_meet,
            pending=bodies * events,
        )
        waits = Waits.of_places(bodies * (events + 1), ranks)
        stay = None if transfer is None else at_first_receipt(block, transfer)
        simulator.walk(
            block.kind,
            block.work,
            block.rest,
            duration=block.duration,
            stay=stay,
            waits=waits,
            absent=block.absent,
            group=block.group,
        )
        passed = self._room(bodies, events + 1)
        walk_back(waits, int(simulator.clock.argmax()), self._path, stay, passed)

    def _add_meetings(self, block: EventBlock) -> None:
        """Do the same for bodies with one reduction each, in which nobody needs to be noted."""
        passed = self._room(len(block.rest), 2)
        through_meetings(
            as_float64(block.work[:, :, 0]),
            as_float64(block.rest),
            self._path.work,
            self._path.visits,
            np.empty(0, np.int32) if passed is None else passed,
        )

    def _room(self, bodies: int, places: int) -> NDArray[np.int32] | None:
        """Return where to note the ranks on the path through some bodies; None if nowhere."""
        self._places += bodies * places
        if self._passed is None or self._places > MOST_PLACES:
            self._passed = None
            return None
        self._passed.append(np.full((bodies, places), NOBODY, np.int32))
        return self._passed[-1].reshape(-1)

    def result(self) -> CriticalPath:
        """Return the path so far."""
        return CriticalPath(
            seconds=self._path.work.copy(),
            transfer_s=self._path.stay.copy(),
            visits=self._path.visits.copy(),
            passed=np.concatenate(self._passed) if self._passed else None,
        )


def at_first_receipt(block: EventBlock, transfer: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time in slow transfers at the events: (iteration, rank, event), seconds.

    It is all at the first receipt of a body.
    """
    receives = block.recorded & (block.kind == RECEIVE)
    first = receives & (np.cumsum(receives, axis=1) == 1)
    return np.where(first[:, None, :], transfer[:, :, None], 0.0)


@declared("(f8[:,::1], f8[:,::1], f8[::1], i8[::1], i4[::1])")
def through_meetings(
    work: NDArray[np.float64],
    rest: NDArray[np.float64],
    times: NDArray[np.float64],
    visits: NDArray[np.int64],
    passed: NDArray[np.int32],
) -> None:
    """Walk through bodies in which all ranks meet once, and back, as `walk_back` does.

    Parameters
    ----------
    work, rest : float64 array, shape (iteration, rank), seconds
        Own work before and after the reduction.
    times, visits : float64 and int64 array, shape (rank,)
        What is passed is added to these.
    passed : int32 array, shape (2 * iteration,)
        See `walk_back`; empty if the ranks are not to be noted.
    """
    bodies, ranks = work.shape
    clock = np.zeros(ranks)
    latest = np.zeros(bodies, np.int64)
    for body in range(bodies):
        # All go on when the last one has come: t_p <- max_q (t_q + w_q).
        last = 0.0
        for rank in range(ranks):
            clock[rank] += work[body, rank]
            if clock[rank] > last:
                last, latest[body] = clock[rank], rank
        for rank in range(ranks):
            clock[rank] = last + rest[body, rank]
    on = int(clock.argmax())
    visits[on] += 1
    for body in range(bodies - 1, -1, -1):
        times[on] += rest[body, on]
        if passed.size:
            passed[2 * body + 1] = on
        if latest[body] != on:
            on = latest[body]
            visits[on] += 1
        times[on] += work[body, on]
        if passed.size:
            passed[2 * body] = on
