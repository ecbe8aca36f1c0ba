"""Work that grows from iteration to iteration, by the quickest iterations.

Other processes on a core make many iterations longer, and seldom the quickest ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.culprit import HALF_AS_FAST, QUICKEST, Times, quickest_of

MIN_SIDE, MIN_SHARE = 30, 0.2
"""Iterations before and after work has grown, and share of all of them, at least."""
MIDDLE, USUAL = 0.3, 0.9
"""Quantiles: of earlier iterations, which the quickest later ones exceed; of usual later ones."""
STEPWISE = 0.5
"""Part of what a line leaves unexplained that a step leaves at most, to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkGrowth:
    """How the work of an iteration grows over a run.

    Attributes
    ----------
    begin_s, end_s : float64 array, shape (rank,), seconds
        Of the quickest iterations (the quantile `QUICKEST`), before and after the step that
        explains most; of gradual growth that of the first and of the last third.
    grows : int array, shape (rank,)
        1 if the quickest after it exceed the quantile `MIDDLE` before it; 2 if they take twice as
        long; else 0.
    more_s : float64 array, shape (rank,), seconds
        What an iteration has more than at first, on average over the parts of the run.
    since : int array, shape (rank,)
        The iteration from which on there is more, where it grows in one step; else 0.
    """

    begin_s: Times
    end_s: Times
    grows: NDArray[np.int64]
    more_s: Times
    since: NDArray[np.int64]

    @classmethod
    def of(cls, work: Times, numbers: NDArray[np.int64]) -> WorkGrowth:
        """Return that of some iterations; of few no growth is told.

        Parameters
        ----------
        work : float64 array, shape (iteration, rank), seconds
        numbers : int64 array, shape (iteration,)
            Of these iterations in the run.
        """
        count, ranks = work.shape
        begin_s, end_s, more_s = np.zeros((3, ranks))
        grows, since = np.zeros((2, ranks), np.int64)
        side = max(MIN_SIDE, int(MIN_SHARE * count))
        for rank in range(ranks if count >= 2 * side else 0):
            here = work[:, rank]
            at, is_step = step_in(here, side)
            begin_s[rank], first_s = np.quantile(here[:at], (QUICKEST, MIDDLE))
            end_s[rank] = np.quantile(here[at:], QUICKEST)
            # Without work at first the program went another way.
            if not (begin_s[rank] > 0.0 and first_s < end_s[rank]):
                continue
            grows[rank] = 1 + int(HALF_AS_FAST * first_s < end_s[rank])
            since[rank] = numbers[at] if is_step else 0
            parts_s = quickest_of(here)[2:]
            place = (np.arange(parts_s.size) + 0.5) * count / parts_s.size
            first, last = (at, at) if is_step else (count / 3.0, count / 1.5)
            begin_s[rank] = parts_s[place < first].mean()
            end_s[rank] = parts_s[place >= last].mean()
            more_s[rank] = np.maximum(parts_s - begin_s[rank], 0.0).mean()
        return cls(begin_s=begin_s, end_s=end_s, grows=grows, more_s=more_s, since=since)


def step_in(work: Times, side: int) -> tuple[int, bool]:
    """Return the step that explains values best, and whether it does better than a line.

    Parameters
    ----------
    work : float64 array, shape (iteration,), seconds
    side : int
        Iterations before and after it, at least.
    """
    values = np.minimum(work, np.quantile(work[-side:], USUAL))
    values = values - values.mean()
    before = np.arange(1.0, values.size)
    place = np.arange(values.size) - 0.5 * (values.size - 1)
    by_step = np.cumsum(values)[:-1] ** 2 * values.size / (before * before[::-1])
    by_line, whole = (place @ values) ** 2 / (place @ place), values @ values
    at = side - 1 + int(by_step[side - 1 : values.size - side].argmax())
    return at + 1, bool(whole - by_step[at] < STEPWISE * (whole - by_line))
