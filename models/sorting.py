"""Sorting inside compiled loops: Shell's sort with Knuth's gaps.

Numpy's own sort is slow to compile, and series are short.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part


@part
def sort_with(values: NDArray[np.float64], partners: NDArray[np.float64], size: int) -> None:
    """Sort the first values in place, ascending, and their partners with them.

    Parameters
    ----------
    values, partners : float64 array, shape (at least size,)
    size : int
    """
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        # Insertion among values that are `gap` apart.
        for begin in range(gap, size):
            value, partner = values[begin], partners[begin]
            at = begin
            while at >= gap and values[at - gap] > value:
                values[at], partners[at] = values[at - gap], partners[at - gap]
                at -= gap
            values[at], partners[at] = value, partner
        gap //= 3
