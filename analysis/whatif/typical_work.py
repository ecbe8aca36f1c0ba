"""The work that is typical of a rank, and whether a rank has more of it or only at times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.tallies import Block, Wanted, tallied
from hindmost.harness.runfile.reader import Run

MOST_SAMPLES = 1 << 23
"""Work of all iterations and ranks that is looked at; beyond, that of every nth iteration."""
SYSTEMATIC = 0.5
"""Part of the additional work of a rank that its median iteration must have."""


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
    """

    rank: int
    times: float
    typical_times: float

    @property
    def systematic(self) -> bool:
        """Whether it has more work in its typical iteration, not only at times."""
        return self.typical_times - 1.0 > SYSTEMATIC * (self.times - 1.0) > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOfRanks:
    """What the work of the ranks with full records is like.

    Attributes
    ----------
    mean_s, median_s : float64 array, shape (rank,), seconds
        Of an iteration.
    """

    mean_s: NDArray[np.float64]
    median_s: NDArray[np.float64]


def typical_work(run: Run) -> WorkOfRanks:
    """Return the work of the ranks with full records in a typical iteration."""
    return tallied(run, typical_of_ranks())


def typical_of_ranks() -> Wanted[WorkOfRanks]:
    """Return what `typical_work` reads of a run, to be read together with other results."""
    return Wanted(WorkTally, checked=False)


class WorkTally:
    """The work of every iteration, or of every nth of each block."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stride = -(-run.bodies * run.columns // MOST_SAMPLES) or 1
        self._work: list[NDArray[np.float64]] = []

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        self._work.append(np.array(block.work[:: self._stride]))

    def result(self) -> WorkOfRanks:
        """Return means and medians."""
        work = np.concatenate(self._work)
        self._work.clear()
        return WorkOfRanks(
            mean_s=work.mean(axis=0),
            median_s=np.asarray(np.median(work, axis=0), np.float64),
        )


def work_of_rank(run: Run, rank: int) -> WorkOfRank | None:
    """Compare the work of a rank with that of all; None if not all ranks have full records."""
    if run.columns != run.header.ranks or not run.bodies:
        return None
    work = typical_work(run)
    mean, median = work.mean_s, work.median_s
    if not (mean.mean() > 0.0 and median.mean() > 0.0):
        return None
    return WorkOfRank(
        rank=rank,
        times=float(mean[rank] / mean.mean()),
        typical_times=float(median[rank] / median.mean()),
    )
