"""Work that grows from iteration to iteration, by the quickest iterations.

Other processes on a core make many iterations longer, and seldom the quickest ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.culprit import (
    HALF_AS_FAST,
    QUICK,
    QUICKEST,
    STEADY,
    Times,
    quickest_of,
)

MIN_THIRD = 10
"""Iterations of a third of a run, from which on quantiles of it are told."""
USUAL = 0.9
"""Quantile of iterations up to which they are usual."""
STEPWISE = 0.5
"""Part of what a line leaves unexplained that a step leaves at most, to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkGrowth:
    """How the work of an iteration grows over a run.

    Attributes
    ----------
    begin_s, end_s : float64 array, shape (rank,), seconds
        Of the quickest iterations (the quantile `QUICKEST`) of the first and of the last third;
        where it grows, the means of parts of these, or of those before and after a step.
    grows : int array, shape (rank,)
        1 if the quickest of the last third agree and are above the quicker quarter of the first; 2
        if they take twice as long; else 0.
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
    def of(cls, work: Times, numbers: NDArray[np.int64], iterations: int) -> WorkGrowth:
        """Return that of some iterations; of few no growth is told.

        Parameters
        ----------
        work : float64 array, shape (iteration, rank), seconds
        numbers : int64 array, shape (iteration,)
            Of these iterations in the run.
        iterations : int
            Of the run.
        """
        nothing = np.zeros(work.shape[1], np.int64)
        grown = cls(
            begin_s=1.0 * nothing, end_s=1.0 * nothing, grows=nothing, more_s=1.0 * nothing,
            since=nothing.copy(),
        )  # fmt: skip
        first, last = work[3 * numbers < iterations], work[3 * numbers >= 2 * iterations]
        if min(len(first), len(last)) < MIN_THIRD:
            return grown
        begin_s, first_s = np.quantile(first, (QUICKEST, QUICK), axis=0)
        end_s, later_s = np.quantile(last, (QUICKEST, QUICK), axis=0)
        # Without work at first the program went another way.
        more = (begin_s > 0.0) & (first_s < end_s)
        clear = more & (HALF_AS_FAST * first_s < end_s)
        grows = np.where(clear, 2, more & (later_s <= STEADY * end_s))
        for rank in np.flatnonzero(grows):
            parts_s, step = quickest_of(work[:, rank])[2:], step_in(work[:, rank])
            place = (np.arange(parts_s.size) + 0.5) * len(work) / parts_s.size
            ends = (step, step) if step else (len(work) / 3.0, len(work) / 1.5)
            begin_s[rank] = parts_s[place < max(ends[0], place[0] + 1.0)].mean()
            end_s[rank] = parts_s[place >= min(ends[1], place[-1])].mean()
            grown.more_s[rank] = np.maximum(parts_s - begin_s[rank], 0.0).mean()
            grown.since[rank] = numbers[step] if step else 0
        return replace(grown, begin_s=begin_s, end_s=end_s, grows=grows)


def step_in(work: Times) -> int:
    """Return from where on values are larger; 0 if a line explains them as well as a step.

    Parameters
    ----------
    work : float64 array, shape (iteration,), seconds
    """
    values = np.minimum(work, np.quantile(work[-(len(work) // 3) :], USUAL))
    values = values - values.mean()
    before = np.arange(1.0, values.size)
    place = np.arange(values.size) - 0.5 * (values.size - 1)
    by_step = np.cumsum(values)[:-1] ** 2 * values.size / (before * before[::-1])
    by_line, whole = (place @ values) ** 2 / (place @ place), values @ values
    at = int(by_step.argmax())
    return at + 1 if whole - by_step[at] < STEPWISE * (whole - by_line) else 0
