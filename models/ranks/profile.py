"""Time profiles: the number of ranks at work in every interval, after Lee (2009).

Activity is summed over the ranks on the common clock. A profile of a whole run would smear its
bodies (iterations), so there is a second one with all bodies laid over each other: time since the
body's first rank started, over the length of the body.

Events show when ranks work within a body. Without events the order of work and waiting is unknown:
work is spread evenly over the body, which limits the resolution of the run's profile to a body, and
bodies are not laid over each other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.compiled import compiled, declared
from hindmost.models.simulation.blocks import NONE, POST, EventBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Activity over time.

    Attributes
    ----------
    edges : float64 array, shape (interval + 1,)
        Seconds; of bodies laid over each other, shares of a body.
    busy : float64 array, shape (interval,)
        Mean number of ranks at work.
    ranks : int
    """

    edges: NDArray[np.float64]
    busy: NDArray[np.float64]
    ranks: int

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Share of the ranks that are at work: float64, shape (interval,)."""
        return self.busy / self.ranks


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
        self._turns = np.zeros((2, intervals + 1))
        self._steps = np.array([end_s / intervals, 1.0 / intervals])
        self._bodies = 0
        self._ordered = True

    def add(
        self,
        start: NDArray[np.float64],
        work: NDArray[np.floating[Any]],
        duration: NDArray[np.float64],
    ) -> None:
        """Add bodies without events.

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
        self._ordered = False
        # Without an order within bodies there is no profile of a body.
        compiled(spread)(
            start,
            duration,
            work[:, :, None],
            float(self._steps[0]),
            self._parts[:1],
            self._turns[:1],
        )

    def add_events(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        block: EventBlock,
        share: NDArray[np.float64] | None = None,
    ) -> None:
        """Add bodies with events, between which own work lies.

        Parameters
        ----------
        start, duration : float64 array, shape (iteration, rank), seconds
        block : EventBlock
            Of the same bodies.
        share : float64 array, shape (iteration, rank), optional
            Of the time between events, what is own work; all if not given.
        """
        ones = np.ones(start.shape) if share is None else share
        begin = start
        for event in range(block.kind.shape[1]):
            there = (block.kind[:, event] != NONE)[:, None]
            # Starting a reduction is the rank's own doing; in any other event it waits.
            posts = (block.kind[:, event] == POST)[:, None]
            inside = np.where(there, block.duration[:, :, event], 0.0)
            end = begin + np.where(there, block.work[:, :, event], 0.0)
            self._place(begin, end + np.where(posts, inside, 0.0), ones, start, duration)
            begin = end + inside
        self._place(begin, begin + block.rest, ones, start, duration)

    def add_between(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        block: EventBlock,
        share: NDArray[np.float64],
    ) -> None:
        """Add a share, shape (iteration, rank), of the time of bodies between their events."""
        begin = start
        for event in range(block.kind.shape[1]):
            there = (block.kind[:, event] != NONE)[:, None]
            end = begin + np.where(there, block.work[:, :, event], 0.0)
            self._place(begin, end, share, start, duration)
            begin = end + np.where(there, block.duration[:, :, event], 0.0)
        self._place(begin, begin + block.rest, share, start, duration)

    def add_inside(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        block: EventBlock,
        kinds: Collection[int],
    ) -> None:
        """Add the time of bodies in events of some kinds."""
        whole = np.ones(start.shape)
        begin = start
        for event in range(block.kind.shape[1]):
            there = (block.kind[:, event] != NONE)[:, None]
            chosen = np.isin(block.kind[:, event], list(kinds))[:, None]
            inside = np.where(there, block.duration[:, :, event], 0.0)
            end = begin + np.where(there, block.work[:, :, event], 0.0)
            self._place(end, end + np.where(chosen, inside, 0.0), whole, start, duration)
            begin = end + inside

    def _place(
        self,
        begin: NDArray[np.float64],
        end: NDArray[np.float64],
        share: NDArray[np.float64],
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
    ) -> None:
        """Put stretches of work, one a body and rank, into the intervals."""
        first = start.min(axis=1)
        length = (start + duration).max(axis=1) - first
        if begin is start:
            self._bodies += int((length > 0.0).sum())
        accumulate(begin, end, share, first, length, self._steps, self._parts, self._turns)

    @property
    def of_run(self) -> Profile:
        """The profile of the whole run."""
        return self._profile(0, 1.0)

    @property
    def of_body(self) -> Profile | None:
        """The profile of all bodies laid over each other; None without events."""
        return self._profile(1, max(self._bodies, 1.0)) if self._ordered else None

    def _profile(self, which: int, of: float) -> Profile:
        """Return a profile, divided by a number of bodies."""
        step = float(self._steps[which])
        busy = at_work(self._parts[which], self._turns[which], step)
        edges = np.arange(busy.size) * step
        return Profile(edges=edges, busy=busy[:-1] / of, ranks=self._ranks)


class PhaseProfiles:
    """The profiles of the phases of a run without events, each spread evenly over its bodies.

    Parameters
    ----------
    ranks, phases : int
    end_s : float
        Where the last interval ends.
    intervals : int
        Of each profile.
    """

    def __init__(self, ranks: int, phases: int, end_s: float, intervals: int = 200) -> None:
        self._ranks, self._step = ranks, end_s / intervals
        self._parts = np.zeros((phases, intervals + 1))
        self._turns = np.zeros((phases, intervals + 1))

    def add(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        phases: NDArray[np.floating[Any]],
    ) -> None:
        """Add bodies.

        Parameters
        ----------
        start, duration : float64 array, shape (iteration, rank), seconds
            On the common clock.
        phases : float array, shape (iteration, rank, phase), seconds
        """
        compiled(spread)(start, duration, phases, self._step, self._parts, self._turns)

    def result(self) -> list[Profile]:
        """Return the profile of every phase."""
        edges = np.arange(self._parts.shape[1]) * self._step
        return [
            Profile(edges=edges, busy=at_work(parts, turns, self._step)[:-1], ranks=self._ranks)
            for parts, turns in zip(self._parts, self._turns, strict=True)
        ]


def at_work(
    parts: NDArray[np.float64], turns: NDArray[np.float64], step: float
) -> NDArray[np.float64]:
    """Return the mean number of ranks at work in every interval, of what `accumulate` counted."""
    # Where shares of a rank come and go, rounding may leave less than nothing.
    return np.asarray(np.maximum(parts / step + np.cumsum(turns), 0.0))


def spread(
    start: NDArray[np.float64],
    duration: NDArray[np.float64],
    times: NDArray[np.floating[Any]],
    step: float,
    parts: NDArray[np.float64],
    turns: NDArray[np.float64],
) -> None:
    """Add times of bodies to the intervals, spread evenly over their bodies; see `accumulate`.

    ``times`` has the shape (iteration, rank, phase), and each phase has intervals of its own. Where
    a body begins and ends is computed once for all of its phases.
    """
    intervals = parts.shape[1] - 1
    for body in range(start.shape[0]):
        for rank in range(start.shape[1]):
            length = duration[body, rank]
            if not length > 0.0:
                continue
            a, b = start[body, rank], start[body, rank] + length
            a, b = min(max(a / step, 0.0), intervals), min(max(b / step, 0.0), intervals)
            if b <= a:
                continue
            come, leave = int(a), int(b)
            for phase in range(times.shape[2]):
                time = float(times[body, rank, phase])
                if time == 0.0:
                    continue
                weight = time / length
                if come == leave:
                    parts[phase, come] += (b - a) * step * weight
                else:
                    parts[phase, come] += (come + 1 - a) * step * weight
                    parts[phase, leave] += (b - leave) * step * weight
                    turns[phase, come + 1] += weight
                    turns[phase, leave] -= weight


@declared("(f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1])")
def accumulate(
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    share: NDArray[np.float64],
    first: NDArray[np.float64],
    length: NDArray[np.float64],
    steps: NDArray[np.float64],
    parts: NDArray[np.float64],
    turns: NDArray[np.float64],
) -> None:
    """Add the time at work to the intervals of both profiles, in a time that knows no intervals.

    ``parts`` are of the intervals in which a rank begins or ends its work; between them, ``turns``
    counts who came to work with an interval, less who had left. Both have an interval more, for
    what lies behind the end. A rank counts as much as its share says. ``first`` and ``length``:
    when a body's first rank begins, and how long the body lasts over all ranks.
    """
    intervals = parts.shape[1] - 1
    for body in range(begin.shape[0]):
        if not length[body] > 0.0:
            continue
        for rank in range(begin.shape[1]):
            weight = share[body, rank]
            for which in range(2):
                step = steps[which]
                a, b = begin[body, rank], end[body, rank]
                if which == 1:
                    a, b = (a - first[body]) / length[body], (b - first[body]) / length[body]
                a, b = min(max(a / step, 0.0), intervals), min(max(b / step, 0.0), intervals)
                if b <= a:
                    continue
                come, leave = int(a), int(b)
                if come == leave:
                    parts[which, come] += (b - a) * step * weight
                else:
                    parts[which, come] += (come + 1 - a) * step * weight
                    parts[which, leave] += (b - leave) * step * weight
                    turns[which, come + 1] += weight
                    turns[which, leave] -= weight
