"""Which kernels stand first: those that grow most, if they matter at all.

Growth alone would put first what is next to nothing and fits noise, and size alone what is large
and does not grow. So kernels that are worth looking at come first, the steepest of them at the top,
and then all others in the same order. Of two that grow alike, to two digits, the larger one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MATTERS = 0.01
"""Share of the total from which a kernel is worth looking at ..."""
OF_EVEN = 0.1
"""... or, of many kernels, this part of what each would have if all were alike."""

ALIKE = 100.0
"""Steps of growth to a factor of 10."""


def rank(growth: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers of the kernels, the worst first.

    Parameters
    ----------
    growth : float64 array, shape (kernel,)
        From the largest measured point to the target; NaN counts as none.
    share : float64 array, shape (kernel,)
        Of the total at the target.
    """
    matters = share >= min(MATTERS, OF_EVEN / max(share.size, 1))
    steep = np.where(np.isnan(growth) | (growth <= 0.0), -np.inf, growth)
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = np.where(steep > 0.0, np.rint(ALIKE * np.log10(steep)), -np.inf)
    return np.asarray(np.lexsort((-share, -steep, ~matters)), np.intp)
