"""Rewriting the cells in order: four for one that divides, one for four that combine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rewrite_loop(
    owned: int,
    levels: int,
    target: NDArray[np.int8],
    i: NDArray[np.int32],
    j: NDArray[np.int32],
    level: NDArray[np.int8],
    key: NDArray[np.int64],
    state: NDArray[np.float64],
    new_i: NDArray[np.int32],
    new_j: NDArray[np.int32],
    new_level: NDArray[np.int8],
    new_key: NDArray[np.int64],
    new_state: NDArray[np.float64],
) -> None:
    """Rewrite the cells: four for one that divides, one for four that combine.

    Children get their parent's state, a parent the mean of its children's. States are densities, so
    that sums are conserved; the order of summation is fixed, so that all ranks get the same result.
    """
    columns = state.shape[1]
    n = 0
    c = 0
    while c < owned:
        depth = level[c]
        if target[c] > depth:
            size = 1 << 2 * (levels - depth - 1)
            for child in range(4):
                new_i[n] = 2 * i[c] + (child & 1)
                new_j[n] = 2 * j[c] + (child >> 1)
                new_level[n] = depth + 1
                new_key[n] = key[c] + child * size
                for column in range(columns):
                    new_state[n, column] = state[c, column]
                n += 1
            c += 1
        elif target[c] < depth:
            new_i[n] = i[c] >> 1
            new_j[n] = j[c] >> 1
            new_level[n] = depth - 1
            new_key[n] = key[c]
            for column in range(columns):
                low = state[c, column] + state[c + 1, column]
                high = state[c + 2, column] + state[c + 3, column]
                new_state[n, column] = 0.25 * (low + high)
            n += 1
            c += 4
        else:
            new_i[n] = i[c]
            new_j[n] = j[c]
            new_level[n] = depth
            new_key[n] = key[c]
            for column in range(columns):
                new_state[n, column] = state[c, column]
            n += 1
            c += 1
