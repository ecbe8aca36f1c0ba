"""The interval of places where a change may lie, at a stated probability.

Every place near a change is weighted by its likelihood under the bounded loss. The interval is the
shortest run of places around the best one that contains the probability (a credible interval with
a flat prior over the places).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.fits import losses

FARTHEST = 30
"""Nights from the best place up to which places are tried."""
FEWEST = 2
"""Nights that stay on either side."""


def place_interval(
    y: NDArray[np.float64],
    bounds: tuple[int, int, int],
    levels: tuple[float, float],
    sigma: NDArray[np.float64],
    level: float,
) -> tuple[int, int]:
    """Return the first and the last place at which the new level may begin.

    Parameters
    ----------
    y, sigma : float64 arrays, shape (observation,)
        Logarithms, and the noise.
    bounds : (int, int, int)
        Where the old level begins, where the new one does, and where it ends.
    levels : (float, float)
        The old and the new one.
    level : float
        Probability that the interval contains.
    """
    begin, change, end = bounds
    # The change itself is a place also where fewer nights are on a side, as in the report's method.
    first = min(max(begin + FEWEST, change - FARTHEST), change)
    last = max(min(end - FEWEST, change + FARTHEST), change)
    near = slice(first, last)
    # A place one night later has that night at the old level.
    old, new = (losses((y[near] - each) / sigma[near]) for each in levels)
    cost = np.concatenate(([0.0], np.cumsum(old - new)))
    # The loss is -2 log likelihood; a flat prior makes the weights probabilities.
    weight = np.exp(-0.5 * (cost - cost.min()))
    weight /= weight.sum()
    # Widen the interval on the more probable side until it contains the level.
    low = high = change - first
    held = weight[low]
    while held < level and (low > 0 or high < last - first):
        more_low = weight[low - 1] if low > 0 else -1.0
        more_high = weight[high + 1] if high < last - first else -1.0
        if more_high >= more_low:
            high += 1
            held += weight[high]
        else:
            low -= 1
            held += weight[low]
    return first + low, first + high
