"""The interval of places where a change may lie, at a stated probability; needs numba.

Every place between the neighbouring changes is weighted by its likelihood under the bounded loss,
with both levels fitted again for it. The interval is the shortest run of places around the best one
that contains the probability (a credible interval with a flat prior over the places).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust import loops

FARTHEST = 30
"""Nights from the best place up to which places are tried."""
FEWEST = 2
"""Nights that stay on either side."""


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
        Probability that the interval contains.
    """
    # The change itself is a place also where fewer nights are on a side, as in the report's method.
    first = min(max(begin + FEWEST, change - FARTHEST), change)
    last = max(min(end - FEWEST, change + FARTHEST), change)
    cost = np.full(last - first + 1, np.inf)
    loops.add_place_costs(y, begin, change, end, sigma, above, below, may_change, first, cost)
    # The loss is -2 log likelihood; a flat prior makes the weights probabilities.
    weight = np.exp(-0.5 * (cost - cost.min()))
    weight /= weight.sum()
    # Widen the interval on the more probable side until it contains the level.
    low = high = change - first
    held = weight[low]
    while held < level:
        more_low = weight[low - 1] if low > 0 else -1.0
        more_high = weight[high + 1] if high + 1 < weight.size else -1.0
        # An impossible place, as between two runs of a day, is passed over to the next one.
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
