"""The exact recursion: a solve walked through again, event by event, with the work given.

`hindmost.models.simulation.event_simulator` states the recursion; here restart cycles follow each
other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator, Latencies


class Replay:
    """A solve that is walked through block by block; `elapsed_s` tells the time so far.

    Parameters
    ----------
    latencies : Latencies
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    lag : int
        Posted reductions that a completion leaves pending.
    pending_s : float
        Time of reductions that are pending at the end of a cycle, in seconds.
    """

    def __init__(
        self,
        ranks: int,
        latencies: Latencies,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        lag: int = 0,
        pending_s: float = 0.0,
    ) -> None:
        neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._simulator = EventSimulator(ranks, neighbours, latencies, lag=lag)
        self._pending_s = pending_s
        self._cycles_before_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Time of all bodies so far, in seconds."""
        last = float(self._simulator.clock.max())
        posted = self._simulator.last_post_s
        if posted is not None:
            last = max(last, posted + self._pending_s)
        return self._cycles_before_s + last

    def advance(self, block: EventBlock) -> None:
        """Walk through the next bodies.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        for rows in block.cycles():
            if block.cycle_begins[rows.start]:
                self._cycles_before_s = self.elapsed_s
                self._simulator.meet()
            part = block.part(rows)
            self._simulator.walk(
                part.kind,
                part.work,
                part.rest,
                duration=part.duration,
                absent=part.absent,
                group=part.group,
            )
