"""Straight lines in place of flights of steps: a drift is one trend; needs numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops

LEVEL, LINE = 0, 1
NARROW = 5
FARTHEST = 30
"""An end of a line moves at most FARTHEST nights, and NARROW nights stay on both sides of it."""


def straighten(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    sigma: NDArray[np.float64],
    fitted: NDArray[np.float64],
    above: float,
    below: float,
    penalty: float,
    extra: float,
    shortest: int,
    least: float,
    is_held: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Replace consecutive segments by one line wherever that costs less, by optimal partitioning.

    Parameters
    ----------
    y, sigma, fitted : float64 arrays, shape (night,)
    starts : int64 array, shape (segment,)
    above, below : float
    penalty, extra : float
        Cost of a segment, and the additional cost of a slope.
    shortest : int
        Nights that a line has at least.
    least : float
        Least rise from end to end; a line with less is a level.
    is_held : bool array, shape (night,)
        Changes that no line replaces.

    Returns
    -------
    starts, kinds : int64 arrays, shape (segment,)
        A kind is LEVEL or LINE.
    """
    count = starts.size
    ends = np.empty(count, np.int64)
    for s in range(count):
        ends[s] = starts[s + 1] if s + 1 < count else y.size
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(count + 1, np.int64)
    kind = np.zeros(count + 1, np.int64)
    # best[j]: least cost of the first j segments, the last of them a level, or a line over several.
    for j in range(1, count + 1):
        begin, end = starts[j - 1], ends[j - 1]
        own = loops.cost_of(y, begin, end, sigma, fitted[begin], 0.0, above, below)
        best[j] = best[j - 1] + own + penalty
        before[j] = j - 1
        for i in range(j - 2, -1, -1):
            if is_held[starts[i + 1]]:
                break
            if end - starts[i] < shortest:
                continue
            cost = loops.fit_line(y, starts[i], end, sigma, fitted, above, below)[0]
            cost += best[i] + penalty + extra
            if cost < best[j]:
                best[j], before[j], kind[j] = cost, i, LINE
    # Walk back along the cheapest choices.
    rows, j = 0, count
    while j > 0:
        rows, j = rows + 1, before[j]
    kinds = np.empty(rows, np.int64)
    first = np.empty(rows, np.int64)
    j = count
    for k in range(rows - 1, -1, -1):
        kinds[k] = kind[j]
        first[k] = starts[before[j]]
        end = ends[j - 1]
        j = before[j]
        if kinds[k] == LINE:
            slope = loops.fit_line(y, first[k], end, sigma, fitted, above, below)[2]
            # A line that rises less than the least change is a level.
            if abs(slope) * (end - first[k] - 1) < least:
                kinds[k] = LEVEL
    return first, kinds


def settle_seams(
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sigma: NDArray[np.float64],
    fitted: NDArray[np.float64],
    above: float,
    below: float,
    may_change: NDArray[np.bool_],
    is_held: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Move the ends of lines to where they cost least: so far they are ends of steps.

    Returns
    -------
    int64 array, shape (segment,)
    """
    settled = starts.copy()
    for s in range(1, starts.size):
        if (kinds[s - 1] != LINE and kinds[s] != LINE) or is_held[starts[s]]:
            continue
        begin, seam = settled[s - 1], starts[s]
        end = starts[s + 1] if s + 1 < starts.size else y.size
        least = np.inf
        # Try every place near the seam; the segments on both sides are fitted anew for each.
        first = max(begin + NARROW, seam - FARTHEST)
        for place in range(first, min(end - NARROW, seam + FARTHEST) + 1):
            if place != seam and not may_change[place]:
                continue
            cost = 0.0
            for side in range(2):
                a, b = (begin, place) if side == 0 else (place, end)
                if kinds[s - 1 + side] == LINE:
                    cost += loops.fit_line(y, a, b, sigma, fitted, above, below)[0]
                else:
                    level = loops.level_of(y[a:b], above * sigma[seam - 1 + side])
                    cost += loops.cost_of(y, a, b, sigma, level, 0.0, above, below)
            if cost < least:
                least, settled[s] = cost, place
    return settled
