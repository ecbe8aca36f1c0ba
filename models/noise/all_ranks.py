"""What models need of the bodies of all ranks, where only some ranks keep their records.

Sums, least and greatest values over the ranks are exact however many there are, and cost one
number a body. With them the models of whole bodies are those of a complete run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.laws.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyExtremes:
    """The bodies of all ranks, as a few numbers a body and a histogram.

    Attributes
    ----------
    least, most, mean, deviation : float64 array, shape (iteration,), seconds
        Of the times of the ranks.
    bin_count : int64 array, shape (bin,)
        Bodies of all ranks by their time, without those that only fill a pipeline (prologue).
    bin_mean, bin_deviation : float64 array, shape (bin,), seconds
        Of the bodies in a bin; bins ascend, and none is empty.
    """

    least: NDArray[np.float64]
    most: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    bin_count: NDArray[np.int64]
    bin_mean: NDArray[np.float64]
    bin_deviation: NDArray[np.float64]

    @property
    def mean_s(self) -> float:
        """Mean of all bodies on all ranks, in seconds."""
        return float(self.mean.mean())

    @property
    def deviation_s(self) -> float:
        """Standard deviation of all bodies on all ranks, in seconds."""
        return float(np.sqrt((self.deviation**2).mean() + self.mean.var()))

    def sample(self, fill: NDArray[np.bool_]) -> Sample:
        """Return the bodies that laws are fitted to.

        Parameters
        ----------
        fill : bool array, shape (iteration,)
            Bodies that only fill a pipeline; not all of them.
        """
        return Sample(
            point=self.bin_mean,
            count=self.bin_count.astype(np.float64),
            variance=self.bin_deviation**2,
            smallest=float(self.least[~fill].min()),
            largest=float(self.most[~fill].max()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AllRanks:
    """All ranks of a solve of which only some have columns.

    Attributes
    ----------
    ranks : int
    kept : int64 array, shape (column,)
        Numbers of the ranks that have columns, ascending.
    total_s : float64 array, shape (rank,), seconds
        The time of all bodies of every rank.
    bodies : BodyExtremes
    """

    ranks: int
    kept: NDArray[np.int64]
    total_s: NDArray[np.float64]
    bodies: BodyExtremes
