"""Time profiles: how many ranks are at work in every interval, and the two slopes of Lee (2009).

Activity is summed over the ranks on the common clock. A profile of a whole run would smear its
bodies, so bodies are laid over each other as well: time since the body's first rank began, over the
length of the body, all bodies together. There the heuristics of the thesis are computed rather than
looked for: ranks that end their work one after another make the curve fall gradually, which hints
at load imbalance; ranks that begin one after another make it rise gradually, which hints at slow
communication.

Own work is taken to come first in a body and waiting after it; that is right for bodies that end
with a reduction, and for others to the length of a body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.compiled import compiled

GRADUAL = 0.05
"""A rise or fall that takes this share of a body, or more, is worth a word."""
HIGH, LOW = 0.9, 0.1
"""Between these shares of its highest value the slopes of a curve are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Activity over time.

    Attributes
    ----------
    edges : float64 array, shape (interval + 1,)
        Seconds; of bodies laid over each other, shares of a body.
    busy : float64 array, shape (interval,)
        Ranks at work, the mean over the interval.
    ranks : int
    """

    edges: NDArray[np.float64]
    busy: NDArray[np.float64]
    ranks: int

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Share of the ranks that are at work: float64, shape (interval,)."""
        return self.busy / self.ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """The rise and the fall of a folded profile.

    Attributes
    ----------
    rise_s, fall_s : float
        From 10 to 90 % of the highest value, and back, in seconds.
    rise_share, fall_share : float
        The same over the length of the mean body.
    upward, downward : float
        Slopes by least squares over these stretches, share of the ranks per second; downward is
        negative. 0 where a stretch is shorter than three intervals.
    late_begin_share, early_end_share : float
        Share of the time of all ranks that lies before a rank begins, and after it has ended its
        work.
    """

    rise_s: float
    fall_s: float
    rise_share: float
    fall_share: float
    upward: float
    downward: float
    late_begin_share: float
    early_end_share: float

    def explain(self) -> str:
        """Say in words what the slopes hint at."""
        said = []
        if self.fall_share >= GRADUAL:
            said.append(
                f"ranks end their work one after another, over {100 * self.fall_share:.0f} % of a "
                f"body (slope {1e-4 * self.downward:.3g} % of the ranks a us): a hint at load "
                f"imbalance, {100 * self.early_end_share:.1f} % of the time of all ranks"
            )
        if self.rise_share >= GRADUAL:
            said.append(
                f"ranks begin one after another, over {100 * self.rise_share:.0f} % of a body "
                f"(slope {1e-4 * self.upward:+.3g} % of the ranks a us): a hint at slow "
                f"communication, {100 * self.late_begin_share:.1f} % of the time of all ranks"
            )
        if not said:
            return (
                "No gradual slope: ranks begin and end their work together, within "
                f"{100 * max(self.rise_share, self.fall_share):.0f} % of a body."
            )
        text = "; ".join(said)
        return text[0].upper() + text[1:] + "."


class ProfileSum:
    """A profile over intervals of the run, and one of bodies laid over each other.

    Parameters
    ----------
    ranks : int
    end_s : float
        Where the last interval ends.
    intervals : int
        Of each profile.
    """

    def __init__(self, ranks: int, end_s: float, intervals: int = 200) -> None:
        if ranks < 1 or intervals < 1 or not end_s > 0.0:
            raise UsageError(
                f"A profile of {ranks} ranks, {intervals} intervals and {end_s:g} s; all must be "
                "above zero."
            )
        self._ranks = ranks
        # Of the run and of the folded body: parts of intervals, and where whole ones begin and end.
        self._parts = np.zeros((2, intervals + 1))
        self._turns = np.zeros((2, intervals + 1), np.int64)
        self._steps = np.array([end_s / intervals, 1.0 / intervals])
        self._sums = np.zeros(4)

    def add(
        self,
        start: NDArray[np.float64],
        work: NDArray[np.floating[Any]],
        duration: NDArray[np.float64],
    ) -> None:
        """Add bodies.

        Parameters
        ----------
        start, work, duration : float array, shape (iteration, rank), seconds
            On the common clock; own work; begin to end.
        """
        if not start.shape == work.shape == duration.shape or start.shape[1:] != (self._ranks,):
            raise DataError(
                f"Starts {start.shape}, work {work.shape} and durations {duration.shape} of "
                f"{self._ranks} ranks; all must be (iteration, rank)."
            )
        compiled(accumulate)(
            start, work, duration, self._steps, self._parts, self._turns, self._sums
        )

    @property
    def of_run(self) -> Profile:
        """The profile of the whole run."""
        return self._profile(0, 1.0)

    @property
    def of_body(self) -> Profile:
        """The profile of all bodies laid over each other."""
        return self._profile(1, max(self._sums[0], 1.0))

    def _profile(self, which: int, of: float) -> Profile:
        """Return a profile, as the mean of so many."""
        step = float(self._steps[which])
        busy = self._parts[which] / step + np.cumsum(self._turns[which])
        edges = np.arange(busy.size) * step
        return Profile(edges=edges, busy=busy[:-1] / of, ranks=self._ranks)

    def slopes(self) -> Slopes:
        """Return the slopes of the folded profile."""
        bodies, length, late, early = self._sums
        mean = length / max(bodies, 1.0)
        profile = self.of_body
        share, middle = profile.utilisation, (profile.edges[:-1] + profile.edges[1:]) / 2.0
        highest = float(share.max())
        full = np.flatnonzero(share >= HIGH * highest)
        some = np.flatnonzero(share >= LOW * highest)
        up, down = slice(some[0], full[0] + 1), slice(full[-1], some[-1] + 1)
        rise = float(middle[full[0]] - middle[some[0]])
        fall = float(middle[some[-1]] - middle[full[-1]])
        per_s = 1.0 / mean if mean else 0.0
        whole = max(length * self._ranks, 1e-300)
        return Slopes(
            rise_s=rise * mean,
            fall_s=fall * mean,
            rise_share=rise,
            fall_share=fall,
            upward=line_slope(middle[up], share[up]) * per_s,
            downward=line_slope(middle[down], share[down]) * per_s,
            late_begin_share=float(late / whole),
            early_end_share=float(early / whole),
        )


def line_slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the slope of the line of least squares; 0 for fewer than three points."""
    if x.size < 3:
        return 0.0
    off = x - x.mean()
    return float((off * y).sum() / (off * off).sum())


def accumulate(
    start: NDArray[np.float64],
    work: NDArray[np.float64],
    duration: NDArray[np.float64],
    steps: NDArray[np.float64],
    parts: NDArray[np.float64],
    turns: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Add the time at work to the intervals of both profiles, in a time that knows no intervals.

    ``parts`` are of the intervals in which a rank begins or ends its work; between them, ``turns``
    counts who came to work with an interval, less who had left. Both have an interval more, for
    what lies behind the end. ``sums``: bodies, their length, time before ranks begin, and time
    after they have ended.
    """
    intervals = parts.shape[1] - 1
    for body in range(start.shape[0]):
        first, last = np.inf, -np.inf
        for rank in range(start.shape[1]):
            first = min(first, start[body, rank])
            last = max(last, start[body, rank] + duration[body, rank])
        length = last - first
        if not length > 0.0:
            continue
        sums[0] += 1.0
        sums[1] += length
        for rank in range(start.shape[1]):
            begin = start[body, rank]
            end = begin + work[body, rank]
            sums[2] += begin - first
            sums[3] += last - end
            for which in range(2):
                step = steps[which]
                a, b = begin, end
                if which == 1:
                    a, b = (begin - first) / length, (end - first) / length
                a, b = min(max(a / step, 0.0), intervals), min(max(b / step, 0.0), intervals)
                if b <= a:
                    continue
                come, leave = int(a), int(b)
                if come == leave:
                    parts[which, come] += (b - a) * step
                else:
                    parts[which, come] += (come + 1 - a) * step
                    parts[which, leave] += (b - leave) * step
                    turns[which, come + 1] += 1
                    turns[which, leave] -= 1
