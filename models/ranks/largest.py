"""The ranks with the largest scores of every group, without gathering the scores.

A radix selection: histograms of one byte of the scores at a time, summed over all processes, give
the smallest score that every group keeps. Equal scores go to the lower rank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions


def largest(
    scores: NDArray[np.float64],
    quota: NDArray[np.int64],
    *,
    groups: NDArray[np.int64] | None = None,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.bool_]:
    """Return which ranks of this process are among the largest of their group; collective.

    Parameters
    ----------
    scores : float64 array, shape (rank,)
        Minus infinity: never.
    quota : int64 array, shape (group,)
        Most ranks of every group.
    groups : int64 array, shape (rank,), optional
        All in group 0 if not given.
    ids : int64 array, shape (rank,), optional
        Numbers of the ranks, which settle ties; from 0 if not given.

    Returns
    -------
    bool array, shape (rank,)
    """
    count = scores.size
    groups = np.zeros(count, np.int64) if groups is None else groups
    ids = np.arange(count, dtype=np.int64) if ids is None else ids
    digits = _digits(scores, ids)
    open_ = scores > -np.inf
    chosen = np.zeros(count, bool)
    left = np.array(quota, np.int64)
    for place in range(digits.shape[1]):
        digit = digits[:, place].astype(np.int64)
        counts = np.bincount(groups[open_] * 256 + digit[open_], minlength=256 * left.size)
        counts = reductions.total(counts.astype(np.int64)).reshape(left.size, 256)
        # from the largest digit down: those that are surely in, and the digit where it ends
        above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        fits = above <= left[:, None]
        border = np.where(fits.all(axis=1), -1, 255 - np.argmin(fits[:, ::-1], axis=1))
        sure = open_ & (digit > border[groups])
        chosen |= sure
        open_ &= ~sure & (digit == border[groups])
        taken = np.where(border < 255, above[np.arange(left.size), np.minimum(border + 1, 255)], 0)
        left = left - taken
    return chosen


def _digits(scores: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return bytes, the weightiest first, that order scores up and then ranks down."""
    bits = (scores + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    negative = bits >> np.uint64(63) == 1
    ordered = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    both = np.stack([ordered, ~ids.astype(np.uint64)], axis=1).astype(">u8")
    return np.ascontiguousarray(both).view(np.uint8).reshape(scores.size, 16)
