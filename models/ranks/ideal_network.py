"""A run walked through again on an ideal network: messages and reductions cost nothing.

The recursion of `hindmost.models.simulation.event_simulator` with every cost left out: a rank needs
only its own work, and waits where the others have not arrived, posted or sent yet, by the rule by
which its MPI ends exchanges (`hindmost.models.simulation.exchanges`). It gives the least time that
the run could have taken with this work and these dependencies, whatever the network.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.event_simulator import FEW_EVENTS, EventSimulator


class Meeting(IntEnum):
    """What happens before a body."""

    NONE = 0
    WINDOW = 1
    """All ranks stand together; what was posted before is complete."""
    CYCLE = 2
    """All ranks stand together, and nothing is pending."""


class IdealNetwork:
    """Ranks that walk through bodies, block by block, on a network that costs nothing.

    Parameters
    ----------
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo; empty for none.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to their own.
    """

    def __init__(
        self,
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        exchanges_meet: bool = False,
    ) -> None:
        neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._simulator = EventSimulator(ranks, neighbours, exchanges_meet=exchanges_meet)

    def advance(
        self,
        kind: NDArray[np.uint8],
        work: NDArray[np.floating[Any]],
        rest: NDArray[np.float64],
        meeting: NDArray[np.uint8],
        absent: NDArray[np.bool_] | None = None,
        group: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[np.float64]:
        """Walk through the next bodies.

        Parameters
        ----------
        kind : uint8 array, shape (iteration, event)
            See `hindmost.models.events.EventKind`.
        work : float array, shape (iteration, rank, event), seconds
            Own work before an event.
        rest : float64 array, shape (iteration, rank), seconds
            Own work after the last event of a body.
        meeting : uint8 array, shape (iteration,)
            See `Meeting`.
        absent : bool array, shape (iteration, rank, event), optional
        group : int array, shape (iteration, rank, event), optional
            See `hindmost.models.simulation.blocks.EventBlock`.

        Returns
        -------
        float64 array, shape (iteration, rank), seconds
            When every rank ends a body, since the last meeting.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        ended = np.empty(rest.shape)
        few = work.size <= FEW_EVENTS
        borders = [0, *np.flatnonzero(meeting).tolist(), len(kind)]
        for first, last in pairwise(dict.fromkeys(borders)):
            if meeting[first]:
                self._simulator.meet(keep_pending=meeting[first] == Meeting.WINDOW)
            rows = slice(first, last)
            self._simulator.walk(
                kind[rows],
                work[rows],
                rest[rows],
                ended=ended[rows],
                absent=None if absent is None else absent[rows],
                group=None if group is None else group[rows],
                interpret=few,
            )
        return ended
