"""The efficiencies of a run and of its parts, counted block by block.

Efficiencies cover the bodies (iterations), without restarts, lead-in and lead-out. The run time T
is summed over restart cycles, each from the start of the first rank to the end of the last. Parts
are windows of bodies, nodes, and places in the restart cycle. A window is walked through by itself,
and all ranks start it together, as when a trace is cut. If they start it far apart, its
communication efficiency is not split. A place is one body of every cycle and no period of time: its
T and I are the largest sums over cycles of any rank, on the clock and on the ideal network.

On an ideal network messages and reductions cost nothing: the recursion of
`hindmost.models.simulation.event_simulator` with every cost left out. It gives the least time that
the run could have taken with this work and these dependencies, whatever the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.event_simulator import FEW_EVENTS, EventSimulator

SKEWED = 0.05
"""Largest skew of the ranks at the start of a window, over its length, to split communication."""
NOTHING_TO_SPLIT = 0.99
"""Work of one rank over the run time, from which on there is no communication to split."""
MOST_PLACES = 512
"""Longer restart cycles are not analysed by place."""

APART = "ranks start this window too far apart to separate serialisation from transfer"


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


class StretchTally:
    """Sums over stretches: consecutive bodies that all ranks start together.

    A window may start where ranks do not meet. It then starts for each rank with its own first
    body, so that its time excludes the skew from before.

    Parameters
    ----------
    meeting : uint8 array, shape (iteration,)
        See `Meeting`; a stretch starts at every meeting, the first one with the first body.
    part : int array, shape (iteration,)
        Part of the run that a body belongs to, from 0; parts start with stretches.
    network : IdealNetwork or None
        None if events are unknown.
    """

    def __init__(
        self,
        ranks: int,
        meeting: NDArray[np.uint8],
        part: NDArray[np.intp],
        network: IdealNetwork | None,
    ) -> None:
        self._meeting, self._part, self._network = meeting, part, network
        parts = int(part[-1]) + 1
        self.local = np.zeros((parts, ranks))
        self.run_time = np.zeros(parts)
        self.ideal = np.zeros(parts)
        self.skewed = np.zeros(parts, np.bool_)
        self._cuts = np.append(np.flatnonzero(meeting), meeting.size)
        self._spent = np.zeros(ranks)
        self._begin = np.zeros(ranks)

    def add(self, first: int, block: BodyBlock) -> NDArray[np.float64] | None:
        """Count bodies; return when they end on the ideal network."""
        count = len(block.duration)
        ended = None
        if self._network is not None and block.kind is not None and block.work is not None:
            meeting = self._meeting[first : first + count]
            ended = self._network.advance(
                block.kind, block.work, block.rest, meeting, block.absent, block.group
            )
        low, high = np.searchsorted(self._cuts, (first, first + count), side="right")
        inside = self._cuts[low:high] - first
        for begin, end in pairwise(dict.fromkeys([0, *inside.tolist(), count])):
            self._add_piece(first, begin, end, block, ended)
        return ended

    def _add_piece(
        self, first: int, begin: int, end: int, block: BodyBlock, ended: NDArray[np.float64] | None
    ) -> None:
        """Count bodies of one stretch; its time is known after its last body."""
        part = self._part[first + begin]
        if self._meeting[first + begin]:
            cut = self._meeting[first + begin] == Meeting.WINDOW
            self._begin[:] = block.start[begin] if cut else block.start[begin].min()
            self._spent[:] = 0.0
        self._spent += block.duration[begin:end].sum(axis=0)
        self.local[part] += block.local[begin:end].sum(axis=0)
        if first + end == self._meeting.size or self._meeting[first + end]:
            ends = block.start[end - 1] + block.duration[end - 1]
            # Clock errors may place a rank's end before its start.
            span = max(float((ends - self._begin).max()), float(self._spent.max()))
            self.run_time[part] += span
            self.skewed[part] |= bool(np.ptp(self._begin) > SKEWED * span)
            if ended is not None:
                self.ideal[part] += ended[end - 1].max()

    def efficiencies(self, parts: slice, ranks: NDArray[np.intp] | None = None) -> Efficiencies:
        """Return the efficiencies of some parts of the run, for all or some ranks."""
        local = self.local[parts].sum(axis=0)
        if ranks is not None:
            local = local[ranks]
        run_time_s = float(self.run_time[parts].sum())
        ideal_s = None if self._network is None else float(self.ideal[parts].sum())
        if ideal_s is not None and self.skewed[parts].any():
            # The ideal run does not know which ranks came late, and which ones wait for them.
            split = local.max(initial=0.0) < NOTHING_TO_SPLIT * run_time_s
            ideal_s = None if split else min(ideal_s, run_time_s)
        if self.local.shape[1] == 1:  # waits for nobody, with or without events
            ideal_s = float(local[0])
        return Efficiencies.of_ranks(local, run_time_s, ideal_s)


def meetings(position: NDArray[np.int32], borders: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return where ranks meet: at the starts of cycles and of windows.

    Parameters
    ----------
    position : int array, shape (iteration,)
        Place in the restart cycle.
    borders : int array, shape (window,)
        First bodies of windows; may be empty.
    """
    meeting = np.zeros(position.size, np.uint8)
    meeting[borders] = Meeting.WINDOW
    meeting[position == 0] = Meeting.CYCLE
    meeting[0] = Meeting.CYCLE
    return meeting


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Bodies from ``first`` up to ``last``, which is the first of the next window.

    Attributes
    ----------
    not_split : str
        Why communication is not split although that of the run is; empty if it is.
    """

    first: int
    last: int
    efficiencies: Efficiencies
    not_split: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the borders and the efficiencies between them."""
        return {
            "bodies": [self.first, self.last],
            **self.efficiencies.to_json(),
            "not_split": self.not_split or None,
        }


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
        ranks, bodies = len(nodes), position.size
        self._nodes = nodes
        self._borders = window_borders(position, windows)
        first = self._borders[:-1]
        part = np.searchsorted(first, np.arange(bodies), side="right") - 1

        def tally(cuts: NDArray[np.intp], parts: NDArray[np.intp]) -> StretchTally:
            network = None
            if with_events:
                network = IdealNetwork(
                    ranks, edge_source, edge_target, exchanges_meet=exchanges_meet
                )
            return StretchTally(ranks, meetings(position, cuts), parts, network)

        self._windows = tally(first, part)
        # Windows that start with cycles cut nothing: the run is their sum, and is walked once.
        cycles = meetings(position, first[:0])
        self._whole = (
            self._windows
            if np.array_equal(cycles, meetings(position, first))
            else tally(first[:0], np.zeros(bodies, np.intp))
        )
        self._places = PlaceTally(position, ranks) if repeats(position) else None
        self._split_places = with_events and not overlapping

    def add(self, first: int, block: BodyBlock) -> None:
        """Count the bodies from the first on; blocks come in the order of the run."""
        ended = self._whole.add(first, block)
        if self._windows is not self._whole:
            self._windows.add(first, block)
        if self._places is not None:
            self._places.add(first, block, ended)

    def result(self) -> RunParts:
        """Return the efficiencies, after the last body."""
        names = np.array(self._nodes)
        whole = self._whole.efficiencies(slice(None))
        of_windows = [
            self._windows.efficiencies(slice(at, at + 1)) for at in range(self._borders.size - 1)
        ]
        return RunParts(
            whole=whole,
            windows=tuple(
                Window(
                    first=int(self._borders[at]),
                    last=int(self._borders[at + 1]),
                    efficiencies=each,
                    not_split=APART if whole.ideal_s is not None and each.ideal_s is None else "",
                )
                for at, each in enumerate(of_windows)
            ),
            nodes={
                name: self._whole.efficiencies(slice(None), np.flatnonzero(names == name))
                for name in dict.fromkeys(self._nodes)
            },
            places=self._places.result(self._split_places) if self._places is not None else {},
        )

    @property
    def local_s(self) -> float:
        """Local work of all ranks together so far, in seconds."""
        return float(self._whole.local.sum())


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
