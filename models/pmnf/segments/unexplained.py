"""How large the noise of series is that nothing was repeated of, from many of them together.

Thresholds are simulated at noise of up to 15 %; larger noise makes evidence where nothing changes.
Without repetitions, two things say how large it is, for whole experiments: what the best two
growths of each kernel leave unexplained, and how far values lie from the line between their
neighbours. The former includes changes that are more than one, the latter every bend. So the lesser
of both counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.evidence import unexplained_variance
from hindmost.models.pmnf.noise import LEAST_POOLED, MOST_ASKED
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES
from hindmost.models.pmnf.segments.thresholds import NOISE, null_series

LEAST_ASKED = 8
"""Points from which two growths leave something of the noise."""
DRAWN = 60
"""Series of each family that say how much they leave."""
CERTAIN = (0.10, 0.112)
"""Noise of series of one growth and of two, both with uniform noise of 15 %, is estimated to be up
to the first; from the second, more is taken for granted."""
GRANTED = 0.068
"""Estimated noise that is taken for granted: chosen so that at most 1 % of sums of two terms over
10 points, with normal noise of 15 and 30 %, are taken for segmented."""
NORMAL = 0.6745
"""Median of the sizes of standard normal deviates."""


def unexplained_noise(observations: Observations) -> float:
    """Estimate the noise that kernels without repetitions have in common.

    Parameters
    ----------
    observations : Observations
        Over one parameter.

    Returns
    -------
    float
        Standard deviation as a share of the values, or of their series' mean; 0 where points are
        repeated or few, kernels are few, or the kind of noise is not known.
    """
    points = observations.points
    if observations.scatter or not observations.noise.known or points.size < LEAST_ASKED:
        return 0.0
    complete = np.flatnonzero(np.isfinite(observations.values).all(axis=1))
    if complete.size < LEAST_POOLED:
        return 0.0
    some = complete[np.linspace(0, complete.size - 1, min(complete.size, MOST_ASKED)).astype(int)]
    values, shares = observations.values[some], observations.shares[some]
    gamma = observations.noise.kind.gamma
    drawn = np.concatenate(
        [null_series(points, gamma, family, NOISE)[:DRAWN] for family in FAMILIES]
    )
    left = [
        np.median(unexplained_variance(points, each, of_each, gamma))
        for each, of_each in ((values, shares), (drawn, np.ones_like(drawn)))
    ]
    uniform = NOISE / np.sqrt(3.0)
    of_growths = float(uniform * np.sqrt(left[0] / left[1]))
    return min(of_growths, off_neighbours(points, values, gamma))


def off_neighbours(points: NDArray[np.float64], values: NDArray[np.float64], gamma: float) -> float:
    """Return the typical distance of values from the lines between their neighbours.

    Parameters
    ----------
    points : float64 array, shape (point,)
    values : float64 array, shape (kernel, point)

    Returns
    -------
    float
        As a standard deviation of single values, as a share of them or of their series' mean.
    """
    along = np.log(points)
    before = (along[2:] - along[1:-1]) / (along[2:] - along[:-2])
    after = 1.0 - before
    line = before * values[:, :-2] + after * values[:, 2:]
    if (values > 0.0).all():  # powers are lines in logarithms
        line = values[:, :-2] ** before * values[:, 2:] ** after
    level = np.abs(values).mean(axis=1, keepdims=True)
    size = np.abs(values[:, 1:-1]) ** gamma * level ** (1.0 - gamma)
    off = np.abs(values[:, 1:-1] - line) / size / np.sqrt(1.0 + before**2 + after**2)
    return float(np.median(off) / NORMAL)


def granted_for(noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many times the floors of the evidence are granted to noise of this size."""
    surely = np.clip((noise - CERTAIN[0]) / (CERTAIN[1] - CERTAIN[0]), 0.0, 1.0)
    return np.asarray(1.0 + surely * (noise / GRANTED - 1.0))
