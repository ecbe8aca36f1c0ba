"""Run time, local work and ideal time of stretches of a run, summed over those of a part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.ranks.ideal_network import IdealNetwork, Meeting

SKEWED = 0.05
"""Largest skew of the ranks at the start of a window, over its length, to split communication."""
NOTHING_TO_SPLIT = 0.99
"""Work of one rank over the run time, from which on there is no communication to split."""


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
