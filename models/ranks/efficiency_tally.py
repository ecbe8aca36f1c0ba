"""The efficiencies of a run and of its parts, counted block by block.

Efficiencies cover the bodies (iterations), without restarts, lead-in and lead-out. The run time T
is summed over restart cycles, each from the start of the first rank to the end of the last. Parts
are windows of bodies, nodes, and places in the restart cycle. A window lasts as long as the last
rank advances in it, on the clock and on the ideal network. A place is one body of every cycle and
no period of time: its T and I are the largest sums over cycles of any rank.

On an ideal network messages and reductions cost nothing: the recursion of
`hindmost.models.simulation.event_simulator` with every cost left out. It gives the least time that
the run could have taken with this work and these dependencies, whatever the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.event_simulator import FEW_EVENTS, EventSimulator

MOST_PLACES = 512
"""Longer restart cycles are not analysed by place."""


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
        begins: NDArray[np.bool_],
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
        begins : bool array, shape (iteration,)
            Bodies before which all ranks stand together, and nothing is pending.
        absent : bool array, shape (iteration, rank, event), optional
        group : int array, shape (iteration, rank, event), optional
            See `hindmost.models.simulation.blocks.EventBlock`.

        Returns
        -------
        float64 array, shape (iteration, rank), seconds
            When every rank ends a body, since the ranks stood together.

        Raises
        ------
        DataError
            More reductions are pending than any solver posts: the events do not fit together.
        """
        ended = np.empty(rest.shape)
        few = work.size <= FEW_EVENTS
        borders = [0, *np.flatnonzero(begins).tolist(), len(kind)]
        for first, last in pairwise(dict.fromkeys(borders)):
            if begins[first]:
                self._simulator.meet()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyBlock:
    """Bodies in a row, on all ranks.

    Attributes
    ----------
    start, duration : float64 array, shape (iteration, rank), seconds
        On the common clock.
    local : float64 array, shape (iteration, rank), seconds
        Own work of a rank, without time in messages and reductions.
    kind : uint8 array, shape (iteration, event), or None
        See `hindmost.models.events.EventKind`; None if events are unknown.
    work : float array, shape (iteration, rank, event), seconds, or None
        Own work before an event, part of the local work.
    absent : bool array, shape (iteration, rank, event), or None
    group : int array, shape (iteration, rank, event), or None
        See `hindmost.models.simulation.blocks.EventBlock`.
    """

    start: NDArray[np.float64]
    duration: NDArray[np.float64]
    local: NDArray[np.float64]
    kind: NDArray[np.uint8] | None = None
    work: NDArray[np.floating[Any]] | None = None
    absent: NDArray[np.bool_] | None = None
    group: NDArray[np.integer[Any]] | None = None

    @property
    def rest(self) -> NDArray[np.float64]:
        """Own work after the last event: float64, shape (iteration, rank), seconds."""
        before = 0.0 if self.work is None else self.work.sum(axis=2, dtype=np.float64)
        return np.asarray(np.maximum(self.local - before, 0.0))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The efficiencies of a run and of its parts.

    Attributes
    ----------
    whole : Efficiencies
        Of all bodies and ranks.
    windows : tuple of Window
    nodes : dict of str to Efficiencies
        Of the ranks on a node, relative to the run's time. The mean of their parallel efficiencies,
        weighted by ranks, is that of the run.
    places : dict of int to Efficiencies
        By place in the restart cycle; empty without repeating cycles.
    """

    whole: Efficiencies
    windows: tuple[Window, ...]
    nodes: dict[str, Efficiencies]
    places: dict[int, Efficiencies]


class EfficiencyTally:
    """Counts a run block by block.

    Parameters
    ----------
    position : int array, shape (iteration,)
        Place in the restart cycle.
    nodes : list of str, one a rank
    edge_source, edge_target : int array, shape (edge,)
        The target waits for the source's halo.
    with_events : bool
        Whether blocks contain the events of their bodies.
    overlapping : bool
        Whether reductions overlap with work. Ranks may then wait in one body for work of another,
        so communication is not split by place.
    exchanges_meet : bool
        Whether receipts last until the neighbours come to their own.
    windows : int
        Number of windows; they start with cycles if there are enough.
    """

    def __init__(
        self,
        position: NDArray[np.int32],
        nodes: list[str],
        edge_source: NDArray[np.int32],
        edge_target: NDArray[np.int32],
        *,
        with_events: bool,
        overlapping: bool = False,
        exchanges_meet: bool = False,
        windows: int = 1,
    ) -> None:
        ranks = len(nodes)
        self._nodes = np.array(nodes)
        self._borders = window_borders(position, windows)
        self._begins = position == 0
        self._begins[0] = True
        self._network = None
        if with_events:
            self._network = IdealNetwork(
                ranks, edge_source, edge_target, exchanges_meet=exchanges_meet
            )
        count = self._borders.size - 1
        self._local = np.zeros((count, ranks))
        self._run_time, self._ideal = np.zeros(count), np.zeros(count)
        # Of the cycle so far: its begin, the times of the ranks, and when the last one was done.
        self._origin, self._spent = 0.0, np.zeros(ranks)
        self._done = self._ideal_done = 0.0
        self._places = PlaceTally(position, ranks) if repeats(position) else None
        self._split_places = with_events and not overlapping

    def add(self, first: int, block: BodyBlock) -> None:
        """Count the bodies from the first on; blocks come in the order of the run."""
        count = len(block.duration)
        begins = self._begins[first : first + count]
        ended = None
        if self._network is not None and block.kind is not None and block.work is not None:
            ended = self._network.advance(
                block.kind, block.work, block.rest, begins, block.absent, block.group
            )
        inside = self._borders[(self._borders > first) & (self._borders < first + count)] - first
        cuts = np.unique([0, *inside.tolist(), *np.flatnonzero(begins).tolist(), count])
        for begin, end in pairwise(cuts.tolist()):
            self._add_piece(first, slice(begin, end), block, ended)
        if self._places is not None:
            self._places.add(first, block, ended)

    def _add_piece(
        self, first: int, rows: slice, block: BodyBlock, ended: NDArray[np.float64] | None
    ) -> None:
        """Count bodies of one window and cycle."""
        window = np.searchsorted(self._borders, first + rows.start, side="right") - 1
        if self._begins[first + rows.start]:
            self._origin = float(block.start[rows.start].min())
            self._spent[:] = 0.0
            self._done = self._ideal_done = 0.0
        self._spent += block.duration[rows].sum(axis=0)
        self._local[window] += block.local[rows].sum(axis=0)
        # Clock errors may place a rank's end before its start.
        last_s = float((block.start[rows.stop - 1] + block.duration[rows.stop - 1]).max())
        done = max(last_s - self._origin, float(self._spent.max()), self._done)
        self._run_time[window] += done - self._done
        self._done = done
        if ended is not None:
            done = max(float(ended[rows.stop - 1].max()), self._ideal_done)
            self._ideal[window] += done - self._ideal_done
            self._ideal_done = done

    def result(self) -> RunParts:
        """Return the efficiencies, after the last body."""
        run_time_s, local = float(self._run_time.sum()), self._local.sum(axis=0)
        ideal_s = None if self._network is None else float(self._ideal.sum())
        if local.size == 1:  # waits for nobody, with or without events
            ideal_s = float(local[0])
        return RunParts(
            whole=Efficiencies.of_ranks(local, run_time_s, ideal_s),
            windows=tuple(
                Window(
                    first=int(self._borders[at]),
                    last=int(self._borders[at + 1]),
                    efficiencies=self._of_window(at, ideal_s is not None),
                )
                for at in range(self._borders.size - 1)
            ),
            nodes={
                name: Efficiencies.of_ranks(local[self._nodes == name], run_time_s, ideal_s)
                for name in dict.fromkeys(self._nodes.tolist())
            },
            places=self._places.result(self._split_places) if self._places is not None else {},
        )

    def _of_window(self, at: int, split: bool) -> Efficiencies:
        """Return the efficiencies of a window; a rank may work longer in it than the last did."""
        local = self._local[at]
        run_time_s = max(float(self._run_time[at]), float(local.max()))
        ideal_s = min(max(float(self._ideal[at]), float(local.max())), run_time_s)
        return Efficiencies.of_ranks(local, run_time_s, ideal_s if split else None)

    @property
    def local_s(self) -> float:
        """Local work of all ranks together so far, in seconds."""
        return float(self._local.sum())


class PlaceTally:
    """Sums of bodies at the same place of the restart cycle.

    Parameters
    ----------
    position : int array, shape (iteration,)
    """

    def __init__(self, position: NDArray[np.int32], ranks: int) -> None:
        self._position = position
        shape = (int(position.max()) + 1, ranks)
        self._duration, self._local, self._ideal = (np.zeros(shape) for _ in range(3))
        self._last = np.zeros(ranks)

    def add(self, first: int, block: BodyBlock, ended: NDArray[np.float64] | None) -> None:
        """Count bodies, and the times at which they end on the ideal network."""
        position = self._position[first : first + len(block.duration)]
        alone = None
        if ended is not None:
            alone = np.diff(ended, axis=0, prepend=self._last[None, :])
            begins = position == 0
            alone[begins] = ended[begins]
            self._last = ended[-1].copy()
        for place in np.unique(position):
            rows = position == place
            self._duration[place] += block.duration[rows].sum(axis=0)
            self._local[place] += block.local[rows].sum(axis=0)
            if alone is not None:
                self._ideal[place] += alone[rows].sum(axis=0)

    def result(self, split: bool) -> dict[int, Efficiencies]:
        """Return the efficiencies by place."""
        if self._local.shape[1] == 1:  # waits for nobody, with or without events
            self._ideal, split = self._local, True
        return {
            place: Efficiencies.of_ranks(
                self._local[place],
                float(duration.max()),
                float(self._ideal[place].max()) if split else None,
            )
            for place, duration in enumerate(self._duration)
            if duration.any()
        }


def repeats(position: NDArray[np.int32]) -> bool:
    """Tell whether there are several cycles, short enough to be analysed by place."""
    return bool(np.count_nonzero(position == 0) > 1 and position.max() < MOST_PLACES)


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
