"""Where the level of a series changes: the best segmentation, by exact dynamic programming.

Of all ways to cut a series into segments, each with a level of its own, the one with the least
squared error plus a penalty for every cut. The recursion is over the cost as a function of the
level of the last segment: for each level only the last cut that is best there is kept, and a cut
that is best for no level is dropped (functional pruning; Rigaill 2015; Maidstone, Hocking,
Rigaill and Fearnhead 2017). With n points and c cuts that can still be the last one it takes n c
steps; c grows like log n, also where nothing changes, which costs other prunings n^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.compiled import declared


def segment_starts(series: NDArray[np.float64], penalty: float) -> NDArray[np.intp]:
    """Return where the segments of the best segmentation begin.

    Parameters
    ----------
    series : float64 array, shape (point,)
    penalty : float
        What a cut costs, in squared units of the series.

    Returns
    -------
    int array, shape (segment,)
        In ascending order; the first is 0.

    Raises
    ------
    DataError
        No point, or one that is not finite.
    UsageError
        A penalty that is not above 0.
    """
    if series.ndim != 1 or series.size == 0:
        raise DataError(
            f"A series of shape {series.shape}; it must be (point,), with at least one."
        )
    if not np.isfinite(series).all():
        raise DataError("A point of the series is not a number; leave it out.")
    if not penalty > 0.0:
        raise UsageError(f"A penalty of {penalty}; a cut must cost more than nothing.")
    # Far from 0, squares would drown the differences.
    centred = np.ascontiguousarray(series - series.mean())
    last_cut = best_last_cuts(centred, penalty)
    starts = [int(last_cut[-1])]
    while starts[-1] > 0:
        starts.append(int(last_cut[starts[-1]]))
    return np.array(starts[::-1], np.intp)


@declared("(f8[::1], f8)")
def best_last_cuts(series: NDArray[np.float64], penalty: float) -> NDArray[np.int64]:
    """Return for every t where the last segment of the best segmentation of the first t begins.

    Piece i says that for levels of low[i] to high[i] the segment that began at start[i] is the
    best last one. Its cost at level m is cost[start] + penalty + the sum of (y - m)^2 since.
    """
    size = len(series)
    total = np.zeros(size + 1)
    squares = np.zeros(size + 1)
    for t in range(size):
        total[t + 1] = total[t] + series[t]
        squares[t + 1] = squares[t] + series[t] ** 2
    cost = np.zeros(size + 1)
    cost[0] = -penalty
    last_cut = np.zeros(size + 1, np.int64)

    room = 64
    low, high, start = np.empty(room), np.empty(room), np.empty(room, np.int64)
    new_low, new_high, new_start = np.empty(room), np.empty(room), np.empty(room, np.int64)
    low[0], high[0], start[0] = series.min(), series.max(), 0
    pieces = 1
    for t in range(1, size + 1):
        best = np.inf
        for i in range(pieces):
            began = start[i]
            length = t - began
            summed = total[t] - total[began]
            level = min(max(summed / length, low[i]), high[i])
            value = cost[began] + penalty + squares[t] - squares[began]
            value += length * level * level - 2.0 * level * summed
            if value < best:
                best = value
                last_cut[t] = began
        cost[t] = best
        # A cut here costs the same at every level: it takes all levels where others cost more.
        if 3 * pieces + 1 > room:
            room = 6 * pieces + 2
            grown_low, grown_high, grown_start = (
                np.empty(room),
                np.empty(room),
                np.empty(room, np.int64),
            )
            grown_low[:pieces] = low[:pieces]
            grown_high[:pieces] = high[:pieces]
            grown_start[:pieces] = start[:pieces]
            low, high, start = grown_low, grown_high, grown_start
            new_low, new_high = np.empty(room), np.empty(room)
            new_start = np.empty(room, np.int64)
        count = 0
        for i in range(pieces):
            began = start[i]
            length = t - began
            mean = (total[t] - total[began]) / length
            least = cost[began] + penalty + squares[t] - squares[began] - length * mean * mean
            spare = best + penalty - least
            reach = np.sqrt(spare / length) if spare > 0.0 else -1.0
            left = max(low[i], mean - reach)
            right = min(high[i], mean + reach)
            if spare <= 0.0 or left >= right:
                left = right = high[i]
            if left > low[i]:
                if count > 0 and new_start[count - 1] == t:
                    new_high[count - 1] = left
                else:
                    new_low[count], new_high[count], new_start[count] = low[i], left, t
                    count += 1
            if right > left:
                new_low[count], new_high[count], new_start[count] = left, right, began
                count += 1
            if right < high[i]:
                new_low[count], new_high[count], new_start[count] = right, high[i], t
                count += 1
        low, new_low = new_low, low
        high, new_high = new_high, high
        start, new_start = new_start, start
        pieces = count
        if pieces == 0:  # a constant series: its only level lies in no interval
            low[0], high[0], start[0] = series[0], series[0], last_cut[t]
            pieces = 1
    return last_cut
