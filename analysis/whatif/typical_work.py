"""The work that is typical of a rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.tallies import Block, Wanted
from hindmost.harness.runfile.reader import Run

MAX_SAMPLES = 1 << 23
"""Work of all iterations and ranks that is looked at; beyond, that of every nth iteration."""


class WorkTally:
    """The work of every iteration, or of every nth of each block."""

    def __init__(self, run: Run) -> None:
        self._stride = -(-run.bodies * run.columns // MAX_SAMPLES) or 1
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
