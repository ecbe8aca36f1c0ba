"""The work that is typical of a rank, and whether a rank has more of it or only at times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.reader import Run

MOST_SAMPLES = 1 << 23
"""Work of all iterations and ranks that is looked at; beyond, that of every nth iteration."""
SYSTEMATIC = 0.5
"""Part of the additional work of a rank that its median iteration must have."""
LONG = 1.5
"""Work of an iteration over the median of its rank, from which on it is long."""
FEWEST_LONG = 5
REGULAR = 0.8
"""Share of equal distances between long iterations, from which on they are regular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOfRank:
    """How the work of a rank compares with that of all.

    Attributes
    ----------
    rank : int
    times : float
        Its mean work over the mean of all ranks.
    typical_times : float
        Its median work over the mean of the medians.
    every : int
        Its long iterations come every so many; 0 if they are not regular.
    """

    rank: int
    times: float
    typical_times: float
    every: int

    @property
    def systematic(self) -> bool:
        """Whether it has more work in its typical iteration, not only at times."""
        return self.typical_times - 1.0 > SYSTEMATIC * (self.times - 1.0) > 0.0


def sampled_work(run: Run) -> NDArray[np.float64]:
    """Return the work of the ranks with full records: shape (iteration, rank), seconds."""
    stride = -(-run.bodies * run.columns // MOST_SAMPLES) or 1
    return np.concatenate([run.work_in(rows)[::stride] for rows in run.blocks()])


def typical_work(run: Run) -> NDArray[np.float64]:
    """Return the median work of an iteration of every rank with full records, in seconds."""
    return np.asarray(np.median(sampled_work(run), axis=0), np.float64)


def work_of_rank(run: Run, rank: int) -> WorkOfRank | None:
    """Compare the work of a rank with that of all; None if not all ranks have full records."""
    if run.columns != run.header.ranks or not run.bodies:
        return None
    work = sampled_work(run)
    mean, median = work.mean(axis=0), np.median(work, axis=0)
    if not (mean.mean() > 0.0 and median.mean() > 0.0):
        return None
    whole = len(work) == run.bodies
    return WorkOfRank(
        rank=rank,
        times=float(mean[rank] / mean.mean()),
        typical_times=float(median[rank] / median.mean()),
        every=distance(work[:, rank]) if whole else 0,
    )


def distance(work: NDArray[np.float64]) -> int:
    """Return after how many iterations long ones come again; 0 if that is not regular.

    Parameters
    ----------
    work : float64 array, shape (iteration,), seconds
        Of one rank.
    """
    gaps = np.diff(np.flatnonzero(work > LONG * np.median(work)))
    if gaps.size < FEWEST_LONG:
        return 0
    counts = np.bincount(gaps)
    usual = int(counts.argmax())
    return usual if usual > 1 and counts[usual] >= REGULAR * gaps.size else 0
