"""Log-linear bins, computed from the bits of a number instead of its logarithm.

Let d be the distance from the centre in units of the floor. The leading bits of 1 + d are the
number of the bin: bins are equally wide up to d = 1, and double their width with every octave
beyond.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared

BITS = 12
"""Leading bits of the mantissa: 4096 bins per octave."""
OCTAVES = 40
"""Values 2^40 floors away and beyond share the last bin of their side."""
SHIFT = 52 - BITS
BATCH = 1024
KEPT = ~((1 << SHIFT) - 1)
ORIGIN = 1023 << BITS
"""Leading bits of 1.0."""
LAST = (OCTAVES << BITS) - 1
LAST_EDGE = 2.0 ** (OCTAVES - 1) * (2.0 - 2.0**-BITS)


@declared("(f8[::1], f8[:,::1], f8[::1], f8, f8)")
def bin_values(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    ends: NDArray[np.float64],
    centre: float,
    inverse: float,
) -> None:
    """Add values to the table of their bins; compiled by the caller.

    Parameters
    ----------
    x : float64 array, shape (value,)
    table : float64 array, shape (bin, 3)
        Number of values, and sum and sum of squares of their distances from the bin's inner edge,
        in floors. Bins ascend: those below the centre come first.
    ends : float64 array, shape (2,)
        The smallest and the largest value so far.
    centre, inverse : float
        The centre, where bins are narrow, and 1 / floor.
    """
    stretched = np.empty(BATCH)
    bits = stretched.view(np.int64)
    edge = np.empty(BATCH)
    edge_bits = edge.view(np.int64)
    target = np.empty(BATCH, np.int64)
    smallest, largest = ends[0], ends[1]
    for begin in range(0, x.size, BATCH):
        count = min(BATCH, x.size - begin)
        # First loop, vectorised: the bin of each value, and the inner edge of that bin.
        for i in range(count):
            value = x[begin + i]
            smallest, largest = min(smallest, value), max(largest, value)
            distance = (value - centre) * inverse
            stretched[i] = abs(distance) + 1.0
            # 1 + d without its trailing bits is the inner edge; its leading bits count the bins.
            edge_bits[i] = bits[i] & KEPT
            bin_ = (bits[i] >> SHIFT) - ORIGIN
            if bin_ >= LAST:
                bin_ = LAST
                edge[i] = LAST_EDGE
            target[i] = LAST + 1 + bin_ if distance >= 0.0 else LAST - bin_
        # Second loop, which scatters: number, sum and sum of squares of each bin.
        for i in range(count):
            inside = stretched[i] - edge[i]
            table[target[i], 0] += 1.0
            table[target[i], 1] += inside
            table[target[i], 2] += inside * inside
    ends[0], ends[1] = smallest, largest


def left_edges() -> NDArray[np.float64]:
    """Return the distance of each bin's inner edge from the centre, in floors, shape (bin,)."""
    side = ((np.arange(LAST + 1, dtype=np.int64) + ORIGIN) << SHIFT).view(np.float64) - 1.0
    return np.concatenate([side[::-1], side])
