"""Where a change may lie as well: an interval of first nights at a stated level; needs numba.

Every place between the neighbouring changes is weighed by its likelihood under the bounded loss,
with both levels fitted anew for it, and the shortest run of places around the best that holds the
level is the interval (a flat prior over the places).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.level import cost_of, level_near, level_of
from hindmost.models.compiled import compiled

FARTHEST = 30
"""Nights from the best place that are looked at."""
HOPELESS = 40.0
"""Squared standard deviations that no place beyond makes up for."""
FEWEST = 2
"""Nights that stay on either side."""


@compiled
def place_interval(
    y: NDArray[np.float64],
    begin: int,
    change: int,
    end: int,
    sigma: NDArray[np.float64],
    above: float,
    below: float,
    may_change: NDArray[np.bool_],
    level: float,
) -> tuple[int, int]:
    """Return the first and the last place at which the new level may begin.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
    begin, change, end : int
        Of the two segments.
    above, below : float
    may_change : bool array, shape (observation,)
    level : float
        Probability that the interval is to hold.
    """
    first = max(begin + FEWEST, change - FARTHEST)
    last = min(end - FEWEST, change + FARTHEST)
    cost = np.full(max(last - first + 1, 1), np.inf)
    if last < first:
        return change, change
    least = np.inf
    before = level_of(y[begin:change], above * sigma[begin])
    after = level_of(y[change:end], above * sigma[end - 1])
    for way in (1, -1):
        place = change if way == 1 else change - 1
        while first <= place <= last:
            if place == change or may_change[place]:
                left = level_near(y[begin:place], before, above * sigma[begin])
                right = level_near(y[place:end], after, above * sigma[end - 1])
                here = cost_of(y, begin, place, sigma, left, 0.0, above, below)
                here += cost_of(y, place, end, sigma, right, 0.0, above, below)
                cost[place - first] = here
                least = min(least, here)
                if here > least + HOPELESS:
                    break
            place += way
    weight = np.exp(-0.5 * (cost - cost.min()))
    weight /= weight.sum()
    low = high = change - first
    held = weight[low]
    while held < level:
        more_low = weight[low - 1] if low > 0 else -1.0
        more_high = weight[high + 1] if high + 1 < weight.size else -1.0
        # A place that cannot be, as between two runs of a day, is stepped over with the next.
        if more_low < 0.0 and more_high < 0.0:
            break
        if more_high >= more_low and high + 1 < weight.size and weight[high + 1 :].sum() > 0.0:
            high += 1
            held += weight[high]
        elif low > 0:
            low -= 1
            held += weight[low]
        else:
            high += 1
            held += weight[high]
    return first + low, first + high
