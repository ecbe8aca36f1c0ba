"""The efficiencies of a run and of its parts, counted block by block.

Efficiencies cover the bodies (iterations), without restarts, lead-in and lead-out. The run time T
is summed over restart cycles, each from the start of the first rank to the end of the last. Parts
are windows of bodies, nodes, and places in the restart cycle. A window is walked through by itself,
and all ranks start it together, as when a trace is cut. If they start it far apart, its
communication efficiency is not split. A place is one body of every cycle and no period of time: its
T and I are the largest sums over cycles of any rank, on the clock and on the ideal network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.ranks.ideal_network import IdealNetwork
from hindmost.models.ranks.stretches import BodyBlock, StretchTally, meetings

MOST_PLACES = 512
"""Longer restart cycles are not analysed by place."""

APART = "ranks start this window too far apart to separate serialisation from transfer"


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
