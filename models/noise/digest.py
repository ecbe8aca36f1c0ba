"""Statistics of a solve for the models of whole bodies, from one pass over its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.times import IterationTimes, SolveTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A solve as one number per body and one sample of all bodies.

    Attributes
    ----------
    fastest, slowest, middle : float64 array, shape (iteration,), seconds
        Least, greatest and mean time of the ranks, in every body.
    mean_s, deviation_s : float
        Of all bodies on all ranks.
    sample : Sample
        The bodies that laws are fitted to: all except those that only fill a pipeline (prologue).
    """

    fastest: NDArray[np.float64]
    slowest: NDArray[np.float64]
    middle: NDArray[np.float64]
    mean_s: float
    deviation_s: float
    sample: Sample

    @classmethod
    def of(cls, times: SolveTimes) -> Digest:
        """Read a solve once.

        Raises
        ------
        DataError
            All bodies only fill a pipeline.
        """
        if times.fill.all():
            raise DataError(f"All {times.iterations} iterations only fill a pipeline; record more.")
        if times.all_ranks is not None:
            # What was reduced over all ranks before only some of them kept their bodies.
            bodies = times.all_ranks.bodies
            return cls(
                fastest=bodies.least,
                slowest=bodies.most,
                middle=bodies.mean,
                mean_s=bodies.mean_s,
                deviation_s=bodies.deviation_s,
                sample=bodies.sample(times.fill),
            )
        gathered = Gathered(times.iterations)
        sample = Sample.from_blocks(gathered.fitted_blocks(times))
        count = times.iterations * times.ranks
        mean = gathered.sum_s / count
        return cls(
            fastest=gathered.fastest,
            slowest=gathered.slowest,
            middle=gathered.middle,
            mean_s=mean,
            deviation_s=float(np.sqrt(max(gathered.sum_of_squares / count - mean**2, 0.0))),
            sample=sample,
        )


class Gathered:
    """Statistics of the blocks that pass by on their way into a sample."""

    def __init__(self, iterations: int) -> None:
        self.fastest = np.empty(iterations)
        self.slowest = np.empty(iterations)
        self.middle = np.empty(iterations)
        self.sum_s = 0.0
        self.sum_of_squares = 0.0

    def fitted_blocks(self, times: SolveTimes) -> Iterator[IterationTimes]:
        """Yield the bodies that laws are fitted to, block by block."""
        for rows in times.blocks():
            block = times.durations_in(rows)
            block.min(axis=1, out=self.fastest[rows])
            block.max(axis=1, out=self.slowest[rows])
            block.mean(axis=1, out=self.middle[rows])
            self.sum_s += float(block.sum())
            self.sum_of_squares += float(np.vdot(block, block))
            fill = times.fill[rows]
            yield block if not fill.any() else block[~fill]
