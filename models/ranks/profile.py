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
from hindmost.models.compiled import declared
from hindmost.models.simulation.blocks import NONE, EventBlock


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
        share = np.divide(work, duration, out=np.zeros(start.shape), where=duration > 0.0)
        nowhere = np.zeros(len(start))  # without an order within bodies no body has a profile
        accumulate(
            start, start + duration, share, nowhere, nowhere + 1.0, self._steps, self._parts,
            self._turns,
        )  # fmt: skip

    def add_events(
        self,
        start: NDArray[np.float64],
        duration: NDArray[np.float64],
        block: EventBlock,
        *,
        between: NDArray[np.float64] | None = None,
        inside: Collection[int] = (),
    ) -> None:
        """Add bodies with events: time between these, and in some of them.

        Parameters
        ----------
        start, duration : float64 array, shape (iteration, rank), seconds
        block : EventBlock
            Of the same bodies.
        between : float64 array, shape (iteration, rank), optional
            The share of the time between events that counts; none if not given.
        inside : collection of int
            Kinds of events whose time counts.
        """
        first = start.min(axis=1)
        length = (start + duration).max(axis=1) - first
        self._bodies += int((length > 0.0).sum())
        whole = np.ones(start.shape)

        def place(
            begin: NDArray[np.float64], end: NDArray[np.float64], share: NDArray[np.float64]
        ) -> None:
            accumulate(begin, end, share, first, length, self._steps, self._parts, self._turns)

        begin = start
        for event in range(block.kind.shape[1]):
            kind = block.kind[:, event, None]
            end = begin + np.where(kind != NONE, block.work[:, :, event], 0.0)
            if between is not None:
                place(begin, end, between)
            begin = end + np.where(kind != NONE, block.duration[:, :, event], 0.0)
            chosen = np.isin(kind, list(inside))
            if chosen.any():
                place(end, np.where(chosen, begin, end), whole)
        if between is not None:
            place(begin, begin + block.rest, between)

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
        # Where shares of a rank come and go, rounding may leave less than nothing.
        busy = np.maximum(self._parts[which] / step + np.cumsum(self._turns[which]), 0.0)
        edges = np.arange(busy.size) * step
        return Profile(edges=edges, busy=busy[:-1] / of, ranks=self._ranks)


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
