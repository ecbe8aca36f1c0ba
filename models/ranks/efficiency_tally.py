"""The efficiencies of a run and of its parts, counted block by block.

Efficiencies cover the bodies (iterations), without restarts, lead-in and lead-out. The run time T
is summed over restart cycles, each from the start of the first rank to the end of the last. Parts
are windows of bodies. A window lasts as long as the last rank advances in it, on the
clock and on the ideal network.

On an ideal network messages and reductions cost nothing: the recursion of
`hindmost.models.simulation.event_simulator` with every cost left out. It gives the least time that
the run could have taken with this work and these dependencies, whatever the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.simulation.blocks import EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Bodies from ``first`` up to ``last``, which is the first of the next window."""

    first: int
    last: int
    efficiencies: Efficiencies

    JSON = "bodies **efficiencies"

    @property
    def bodies(self) -> tuple[int, int]:
        """The borders."""
        return self.first, self.last


class EfficiencyTally:
    """Counts a run block by block.

    Parameters
    ----------
    position : int array, shape (iteration,)
        Place in the restart cycle.
    ranks : int
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo.
    with_events : bool
        Whether blocks contain the events of their bodies.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to their own.
    windows : int
        Number of windows; they start with cycles if there are enough.
    """

    def __init__(
        self,
        position: NDArray[np.int32],
        ranks: int,
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        with_events: bool,
        exchanges_meet: bool = False,
        windows: int = 1,
    ) -> None:
        self._borders = window_borders(position, windows)
        self._begins = position == 0
        self._begins[0] = True
        neighbours = Neighbours.of_edges(ranks, edge_source, edge_target)
        self._ideal_network = EventSimulator(ranks, neighbours, exchanges_meet=exchanges_meet)
        self._split = with_events or ranks == 1  # one waits for nobody, with or without events
        count = self._borders.size - 1
        self._local = np.zeros((count, ranks))
        self._run_time, self._ideal = np.zeros(count), np.zeros(count)
        # Of the cycle so far: its begin, the times of the ranks, and when the last one was done.
        self._origin, self._spent = 0.0, np.zeros(ranks)
        self._done = self._ideal_done = 0.0

    def add(
        self,
        first: int,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        local: NDArray[np.float64],
        events: EventBlock | None = None,
    ) -> None:
        """Count the bodies from the first on; they come in the order of the run.

        Parameters
        ----------
        start, duration : float64 array, shape (iteration, rank), seconds
            On the common clock.
        local : float64 array, shape (iteration, rank), seconds
            Own work of a rank, without time in messages and reductions.
        events : EventBlock or None
            Its work is part of the local work, and its rest the remainder.
        """
        count = len(duration)
        begins = self._begins[first : first + count]
        ended = None
        if events is not None:
            ended = np.empty(local.shape)
            self._ideal_network.walk_cycles(events, ended=ended)
        inside = self._borders[(self._borders > first) & (self._borders < first + count)] - first
        cuts = np.unique([0, *inside.tolist(), *np.flatnonzero(begins).tolist(), count])
        for begin, end in pairwise(cuts.tolist()):  # of one window and cycle
            window = np.searchsorted(self._borders, first + begin, side="right") - 1
            if begins[begin]:
                self._origin = float(start[begin].min())
                self._spent[:] = 0.0
                self._done = self._ideal_done = 0.0
            self._spent += duration[begin:end].sum(axis=0)
            self._local[window] += local[begin:end].sum(axis=0)
            # Clock errors may place a rank's end before its start.
            last_s = float((start[end - 1] + duration[end - 1]).max())
            done = max(last_s - self._origin, float(self._spent.max()), self._done)
            self._run_time[window] += done - self._done
            self._done = done
            if ended is not None:
                done = max(float(ended[end - 1].max()), self._ideal_done)
                self._ideal[window] += done - self._ideal_done
                self._ideal_done = done

    def result(self) -> tuple[Efficiencies, tuple[Window, ...]]:
        """Return the efficiencies of all bodies, and of the windows, after the last body."""
        run_time_s, local = float(self._run_time.sum()), self._local.sum(axis=0)
        # No run is quicker than on an ideal network: clocks, and ranks that poll while they wait,
        # only seem to be.
        ideal_s = min(float(self._ideal.sum()), run_time_s) if self._split else None
        if local.size == 1:
            ideal_s = float(local[0])
        windows = tuple(
            Window(first=first, last=last, efficiencies=self._of_window(at))
            for at, (first, last) in enumerate(pairwise(self._borders.tolist()))
        )
        return Efficiencies.of_ranks(local, run_time_s, ideal_s), windows

    def _of_window(self, at: int) -> Efficiencies:
        """Return the efficiencies of a window; a rank may work longer in it than the last did."""
        local = self._local[at]
        run_time_s = max(float(self._run_time[at]), float(local.max()))
        ideal_s = min(max(float(self._ideal[at]), float(local.max())), run_time_s)
        return Efficiencies.of_ranks(local, run_time_s, ideal_s if self._split else None)


def window_borders(position: NDArray[np.int32], windows: int) -> NDArray[np.intp]:
    """Return the borders of windows, 0 and the number of bodies included.

    Parameters
    ----------
    position : int array, shape (iteration,)
        Place in the restart cycle.
    windows : int
        Number of windows; at most the number of bodies.

    Raises
    ------
    UsageError
        Less than one window.
    """
    if windows < 1:
        raise UsageError(f"{windows} windows; give at least 1.")
    bodies = position.size
    cycles = np.flatnonzero(position == 0)
    places = cycles if cycles.size >= windows else np.arange(bodies)
    steps = np.linspace(0, places.size, min(windows, places.size) + 1)[:-1].astype(np.intp)
    first = places[steps]
    return np.asarray(np.unique(np.concatenate([[0], first[1:], [bodies]])), np.intp)
