"""How wide the interval of a prediction is, on either side.

Surprises are mostly slower than what was foretold, so the high side is learnt apart from the low
one. Each width is what held-out points of other experiments needed (`experience`; quantile
regression), given two logarithms of errors: the larger of those of the kernel's own last points by
the weighted candidates and of how far these are apart at the target, and the error that one in ten
of the last points of all kernels of the experiment exceeds. So it is wide where the last step was a
surprise, where the experiment's other kernels surprise, and far ahead.
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
TAIL = 0.9
"""Share of the errors of all kernels below the one that counts."""
JUMP, STEEPEST = 0.5, 1.25
"""No interval is wider, as a logarithm on each side, than a jump and a change of the slope beyond
the last point; real growth seldom exceeds that."""


def width_features(trials: Trials, stack: Stack) -> NDArray[np.float64]:
    """Return what the width depends on.

    Returns
    -------
    float64 array, shape (kernel, 3)
        1, then logarithms: of the larger of the kernel's own errors and the distance between
        candidates, and of the large errors of all kernels. Errors are those expected at the
        distance of the target.
    """
    off = np.abs(weighted_median(trials.errors, stack.weights[:, None]))
    off *= np.maximum(trials.ahead[:, None] / trials.distance, 1.0)  # errors of slopes grow so
    there = np.isfinite(trials.age)
    weight = np.where(there, FORGETTING ** np.where(there, trials.age, 0.0), 0.0)
    size = np.log(off + LEAST_ERROR)
    own = (weight * size).sum(axis=1) / weight.sum(axis=1)
    tail = np.full_like(own, weighted_quantile(size[there], weight[there], TAIL))
    apart = (trials.predicted - stack.predicted[:, None]) ** 2
    spread = np.sqrt((stack.weights * apart).sum(axis=1))
    return np.column_stack([np.ones_like(own), np.maximum(own, np.log(spread + LEAST_ERROR)), tail])


def widths(trials: Trials, stack: Stack, experience: Experience) -> NDArray[np.float64]:
    """Return how far the interval's low and high end are from the prediction, as logarithms.

    Returns
    -------
    float64 array, shape (2, kernel)
        Both above 0.
    """
    wide = np.exp(experience.widths @ width_features(trials, stack).T)
    return np.asarray(np.minimum(wide, JUMP + STEEPEST * trials.ahead))


def weighted_quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], share: float
) -> float:
    """Return the value below which a share of the weight lies, linear between values."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return float(np.interp(share, (mass - 0.5 * weights[order]) / mass[-1], values[order]))
