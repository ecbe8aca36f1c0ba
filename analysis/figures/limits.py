"""Where an axis or a scale of colours ends, so that a few detours do not squeeze the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

QUANTILES = (0.01, 0.995)
FARTHEST = 3.0
"""From the median, in distances between the first and the last tenth of the values."""


def worth_showing(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits within which nearly all values lie, and none that lies far out.

    Parameters
    ----------
    values : float64 array, any shape
    """
    low, high = np.quantile(values, QUANTILES)
    first, middle, last = np.quantile(values, (0.1, 0.5, 0.9))
    reach = FARTHEST * (last - first)
    if reach > 0.0:
        low, high = max(low, middle - reach), min(high, middle + reach)
    return float(low), float(high)
