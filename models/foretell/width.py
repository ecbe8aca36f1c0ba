"""How wide the interval of a prediction is.

The width is what nine of ten held-out points of other experiments needed (`experience`; quantile
regression), given three logarithms of errors: those of the kernel's own last points by the weighted
candidates, the median of the other kernels' last ones, and how far the weighted candidates are
apart at the target. So it is wide where the last step was a surprise, where the experiment's other
kernels surprise, and far ahead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.foretell.experience import Experience
from hindmost.models.foretell.held_out import Trials
from hindmost.models.foretell.stacking import Stack, weighted_median

LEAST_ERROR = 0.003
"""Error, as a difference of logarithms, that is added to all: timers and machines are no better."""
FORGETTING = 0.6
"""Weight of a held-out point over that of its successor."""
WIDEST = 12.0
"""Logarithm of the high end over the prediction that no interval exceeds."""


def width_features(trials: Trials, stack: Stack) -> NDArray[np.float64]:
    """Return what the width depends on.

    Returns
    -------
    float64 array, shape (kernel, 4)
        1, then logarithms: of the kernel's own errors, of those of other kernels, and of the
        distance between candidates. Errors are those expected at the distance of the target.
    """
    off = np.abs(weighted_median(trials.errors, stack.weights[:, None]))
    off *= np.maximum(trials.ahead[:, None] / trials.distance, 1.0)  # errors of slopes grow so
    there = np.isfinite(trials.age)
    weight = np.where(there, FORGETTING ** np.where(there, trials.age, 0.0), 0.0)
    own = (weight * np.log(off + LEAST_ERROR)).sum(axis=1) / weight.sum(axis=1)
    others = median_of_others(np.log(off[:, 0] + LEAST_ERROR))
    apart = (trials.predicted - stack.predicted[:, None]) ** 2
    spread = np.sqrt((stack.weights * apart).sum(axis=1))
    return np.column_stack([np.ones_like(own), own, others, np.log(spread + LEAST_ERROR)])


def half_width(trials: Trials, stack: Stack, experience: Experience) -> NDArray[np.float64]:
    """Return the logarithm of the interval's high end over the prediction: shape (kernel,)."""
    wide = np.exp(width_features(trials, stack) @ experience.width)
    return np.asarray(np.minimum(wide, WIDEST))


def median_of_others(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each value the median of all others; of a single one itself."""
    count = values.size
    if count == 1:
        return values
    order = np.argsort(values, kind="stable")
    place = np.empty(count, np.intp)
    place[order] = np.arange(count)
    ordered = values[order]
    # Without the value at `place`, the numbers behind it move up by one.
    low, high = (count - 2) // 2, (count - 1) // 2
    return np.asarray(0.5 * (ordered[low + (place <= low)] + ordered[high + (place <= high)]))
