"""Statistics of a solve for the models of whole bodies, from one pass over its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.laws.sample import Sample


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
