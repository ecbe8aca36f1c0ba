"""The largest relative jump at each cell."""

from __future__ import annotations

import numpy as np

from hindmost.harness.adaptive.physics.loops.first_order import Array, Rows, vectors


@vectors
def largest_jumps(lower: Rows, upper: Rows, values: Array, jump: Array) -> None:
    """Raise each cell's jump to the largest of its faces across one axis.

    The jump of a and b is ``|a - b| / min(a, b)``.

    Parameters
    ----------
    values : float64 array, shape (row, quantity)
        Positive.
    jump : float64 array, shape (row,)
    """
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        largest = 0.0
        for column in range(values.shape[1]):
            a = values[low, column]
            b = values[high, column]
            largest = max(largest, abs(a - b) / min(a, b))
        jump[low] = max(jump[low], largest)
        jump[high] = max(jump[high], largest)


@vectors
def spread(lower: Rows, upper: Rows, before: Array, jump: Array) -> None:
    """Raise each cell's jump to the largest previous jump of its neighbours across one axis."""
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        jump[low] = max(jump[low], before[high])
        jump[high] = max(jump[high], before[low])
