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


class WorkTally:
    """The work of every iteration, or of every nth of each block."""

    def __init__(self, run: Run) -> None:
        self._stride = -(-run.bodies * run.columns // MOST_SAMPLES) or 1
        self._work: list[NDArray[np.float64]] = []

    def add(self, block: Block) -> None:
        """Take the next iterations."""
        self._work.append(np.array(block.work[:: self._stride]))

    def result(self) -> NDArray[np.float64]:
        """Return mean and median of an iteration: shape (2, rank), seconds."""
        work = np.concatenate(self._work)
        self._work.clear()
        return np.stack([work.mean(axis=0), np.median(work, axis=0)])


TYPICAL_WORK: Wanted[NDArray[np.float64]] = Wanted(WorkTally, checked=False)
"""Mean and median work of an iteration on each rank with full records: shape (2, rank), seconds."""


def work_of_rank(run: Run, rank: int) -> WorkOfRank | None:
    """Compare the work of a rank with that of all; None if not all ranks have full records."""
    if run.columns != run.header.ranks or not run.bodies:
        return None
    of_all_s = tallied(run, TYPICAL_WORK)
    if not of_all_s.mean(axis=1).min() > 0.0:
        return None
    times, typical_times = (of_all_s[:, rank] / of_all_s.mean(axis=1)).tolist()
    return WorkOfRank(rank=rank, times=times, typical_times=typical_times)
