"""Whether ranks start and finish their work together: the two slopes of time profiles, measured.

In a time profile a gradual fall suggests load imbalance, and a gradual rise slow communication
(Lee 2009). Bodies (iterations) of different length smear both when they are laid over each other,
so slopes are measured in each body, between the reductions in which all ranks meet:

- the *fall* is the spread of the ranks' work since the last meeting. It needs no common clock, and
  does not count the time of the reduction itself;
- the *rise* is the spread of the moments, on the common clock, at which ranks leave a blocking
  reduction. Each rank leaves a posted reduction when it comes, so such a reduction shows no rise.

A fall may have two causes. If the same ranks finish late in all bodies it is load imbalance, which
``lasting_share`` is; if it is another rank each time, it is noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import COMPLETE, POST, EventBlock
from hindmost.models.simulation.recorded import moments

HIGH, LOW = 0.9, 0.1
"""Shares of the ranks at work between which a slope is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """How ranks finish and start their work.

    Attributes
    ----------
    meetings, releases : int
        Reductions in which all ranks meet, and those of them that block.
    rise_share, fall_share : float
        From 10 to 90 % of the ranks at work, and back, over the length of the mean body.
    upward, downward : float
        Slopes of a single rise and fall, share of the ranks per second; downward is negative. 0
        where they take less than a hundredth of a body.
    late_begin_share, early_end_share : float
        Share of the time of all ranks between the first rank's start and their own, and between
        the end of their work and of the last rank's.
    lasting_share : float
        The part of the latter due to the ranks with most work in the whole run.
    clock_share : float
        Uncertainty of the common clock, over the length of the mean body.
    """

    meetings: int
    releases: int
    rise_share: float
    fall_share: float
    upward: float
    downward: float
    late_begin_share: float
    early_end_share: float
    lasting_share: float
    clock_share: float


class SlopeSum:
    """Slopes of a run, summed block by block.

    Parameters
    ----------
    ranks : int
    clock_s : float
        Uncertainty of the common clock, in seconds.
    """

    def __init__(self, ranks: int, clock_s: float = 0.0) -> None:
        self._clock_s = clock_s
        self._since = np.zeros(ranks)  # own work since all ranks met
        self._work_s = np.zeros(ranks)  # own work that a meeting followed
        self._bodies = self._meetings = self._releases = 0
        self._length_s = self._early_s = self._fall_s = self._late_s = self._rise_s = 0.0

    def add(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        block: EventBlock,
        share: NDArray[np.float64] | None = None,
    ) -> None:
        """Add bodies whose events were recorded.

        Parameters
        ----------
        start, duration : float64 array, shape (iteration, rank), seconds
            On the common clock.
        block : EventBlock
            Of the same bodies.
        share : float64 array, shape (iteration, rank), optional
            Of the time between events, what is own work; all if not given.
        """
        length = np.maximum((start + duration).max(axis=1) - start.min(axis=1), 0.0)
        self._bodies += int(np.count_nonzero(length))
        self._length_s += float(length.sum())
        self._add_meetings(block, share)
        self._add_releases(start, block)

    def _add_meetings(self, block: EventBlock, share: NDArray[np.float64] | None) -> None:
        """Add how the work of ranks since the last meeting differs, at each reduction."""
        bodies, events = block.kind.shape
        ranks = self._since.size
        # The own work that leads to each event and, last, to the end of each body.
        own = np.zeros((bodies, events + 1, ranks))
        recorded = block.recorded[:, :, None]
        np.copyto(own[:, :-1], block.work.transpose(0, 2, 1), where=recorded)
        own[:, -1] = block.rest
        if share is not None:
            own *= share[:, None, :]
        posts = recorded & (block.kind == POST)[:, :, None]
        np.add(own[:, :-1], block.duration.transpose(0, 2, 1), out=own[:, :-1], where=posts)
        meets = np.zeros((bodies, events + 1), np.bool_)
        meets[:, :-1] = block.meetings | (block.recorded & (block.kind == COMPLETE))
        # Sum it from meeting to meeting; what leads to a new cycle instead is left out.
        begins = np.zeros(bodies * (events + 1), np.bool_)
        begins[1:] = meets.ravel()[:-1]
        begins[:: events + 1] |= block.cycle_begins
        steps = own.reshape(-1, ranks)
        if not begins[0]:
            steps[0] += self._since
        begins[0] = True
        first = np.flatnonzero(begins)
        sums = np.add.reduceat(steps, first, axis=0)
        since = sums[meets.ravel()[np.append(first[1:], begins.size) - 1]]
        self._since = sums[-1]
        self._meetings += len(since)
        self._early_s += float((since.max(axis=1, keepdims=True) - since).sum())
        self._fall_s += spread_of(since)
        self._work_s += since.sum(axis=0)

    def _add_releases(self, start: NDArray[np.float64], block: EventBlock) -> None:
        """Add how the moments differ at which ranks leave blocking reductions."""
        leave = moments(start, block)[1][block.meetings]
        self._releases += len(leave)
        self._late_s += float((leave - leave.min(axis=1, keepdims=True)).sum())
        self._rise_s += spread_of(leave)

    def result(self) -> Slopes:
        """Return the slopes so far."""
        bodies, ranks = max(self._bodies, 1), self._since.size
        length_s = max(self._length_s, 1e-300)
        whole_s = max(self._length_s * ranks, 1e-300)
        body_s = self._length_s / bodies
        lasting_s = float(self._work_s.max() * ranks - self._work_s.sum())
        return Slopes(
            meetings=self._meetings,
            releases=self._releases,
            rise_share=self._rise_s / length_s,
            fall_share=self._fall_s / length_s,
            upward=steepness(self._rise_s, self._releases, body_s),
            downward=-steepness(self._fall_s, self._meetings, body_s),
            late_begin_share=self._late_s / whole_s,
            early_end_share=self._early_s / whole_s,
            lasting_share=min(lasting_s, self._early_s) / whole_s,
            clock_share=self._clock_s / body_s if body_s > 0.0 else 0.0,
        )


def spread_of(values: NDArray[np.float64]) -> float:
    """Return how far 80 % of the ranks lie apart, summed over rows: of shape (row, rank)."""
    low, high = (round(share * (values.shape[1] - 1)) for share in (LOW, HIGH))
    some = np.partition(values, (low, high), axis=1)
    return float((some[:, high] - some[:, low]).sum())


def steepness(total_s: float, count: float, body_s: float) -> float:
    """Return the share of the ranks per second that goes by in a slope of the mean length."""
    mean = total_s / count if count else 0.0
    return (HIGH - LOW) / mean if mean > 0.01 * body_s else 0.0
