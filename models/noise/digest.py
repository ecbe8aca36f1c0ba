"""Statistics of a solve for the models of whole bodies, from one pass over its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.laws.sample import Sample

if TYPE_CHECKING:
    from hindmost.models.noise.times import IterationTimes, SolveTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A solve as a few numbers per body and one sample of all bodies.

    Attributes
    ----------
    fastest, slowest, middle : float64 array, shape (iteration,), seconds
        Least, greatest and mean time of the ranks, in every body.
    sample : Sample
        The bodies that laws are fitted to: all except those that only fill a pipeline (prologue).
    """

    fastest: NDArray[np.float64]
    slowest: NDArray[np.float64]
    middle: NDArray[np.float64]
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
            return times.all_ranks.digest
        fastest, slowest, middle = np.empty((3, times.iterations))

        def fitted() -> Iterator[IterationTimes]:
            for rows in times.blocks():
                block = times.durations_in(rows)
                block.min(axis=1, out=fastest[rows])
                block.max(axis=1, out=slowest[rows])
                block.mean(axis=1, out=middle[rows])
                fill = times.fill[rows]
                yield block if not fill.any() else block[~fill]

        sample = Sample.from_blocks(fitted())
        return cls(fastest=fastest, slowest=slowest, middle=middle, sample=sample)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllRanks:
    """What models need of all ranks of a solve of which only some have columns.

    Attributes
    ----------
    ranks : int
    kept : int64 array, shape (column,)
        Numbers of the ranks that have columns, ascending.
    total_s : float64 array, shape (rank,), seconds
        The time of all bodies of every rank.
    digest : Digest
        Of all ranks, reduced before only some of them kept their bodies.
    """

    ranks: int
    kept: NDArray[np.int64]
    total_s: NDArray[np.float64]
    digest: Digest
