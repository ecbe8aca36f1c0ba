"""Where the growth of work over the places of a restart cycle changes: vectors leave a cache.

At place k an orthogonalisation reads k + 1 vectors of the basis, each time all of them, so a cache
that does not hold them holds none of them when they are read again. The time per vector follows the
time per byte that a probe of the memory measured for as many bytes. Up to the last recorded place
the growth is as recorded; beyond it, each vector costs more by the ratio of the probed times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OTHERS = 3.0
"""Vectors beside the basis: what is orthogonalised, the product, and Jacobi's diagonal."""
RISES = 1.1
"""Ratio of the times per byte from which on a change is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLevels:
    """The probed time per byte over the bytes that a rank reads again and again.

    Attributes
    ----------
    bytes, seconds_per_byte : tuple of float
        In ascending order of the bytes; all ranks of a node read at once.
    """

    bytes: tuple[float, ...]
    seconds_per_byte: tuple[float, ...]

    def per_byte_s(self, bytes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the time per byte, in a line between probed sizes on a logarithmic scale.

        Fewer bytes never take longer, and noise only adds: a size takes no longer than any larger.
        """
        rising = np.minimum.accumulate(self.seconds_per_byte[::-1])[::-1]
        return np.interp(np.log(bytes), np.log(self.bytes), rising)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorGrowth:
    """What the work at a place is in proportion to.

    Attributes
    ----------
    levels : MemoryLevels
    vector_bytes : float
        Of a vector on a rank.
    last : float
        The last recorded place.
    """

    levels: MemoryLevels
    vector_bytes: float
    last: float

    def ratio(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much more a vector costs than at the last recorded place."""
        bytes = self.vector_bytes * (np.maximum(place, self.last) + 1.0 + OTHERS)
        here = self.vector_bytes * (np.array([self.last]) + 1.0 + OTHERS)
        return np.asarray(self.levels.per_byte_s(bytes) / self.levels.per_byte_s(here))

    def __call__(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the vectors that are read, in units of one at the last recorded place."""
        return np.asarray((place + 1.0) * self.ratio(place))

    def change(self, places: int) -> int | None:
        """Return the first place at which a vector costs notably more; None if none of these."""
        at = np.arange(self.last, float(places))
        above = np.flatnonzero(self.ratio(at) >= RISES) if at.size else at
        return int(at[above[0]]) if above.size else None
