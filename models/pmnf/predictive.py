"""Predictive distributions of many kernels: mixtures of Student's t, and intervals cut from them.

A kernel's exponents are not known, so a new measurement is predicted by many functions, each
weighted by how probable the measured values make it (Bayesian model averaging; Hoeting, Madigan,
Raftery and Volinsky 1999). Given its terms, a function predicts with Student's t about its weighted
least-squares fit. Which functions are averaged, `lattice` says for one parameter and
`several.averaging` for several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

MIN_SHARE = 1e-4
"""Components of less weight than this share of the best one are left out."""
NODES = 21
"""Points of equal probability in place of the law of a component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Functions of equally many terms.

    Attributes
    ----------
    share : float64 array, shape (function,)
        Logarithm of the probability, up to a constant.
    centre : float64 array, shape (function, target)
    error : float64 array, shape (function,)
        Residual variance of a point of weight 1 in all.
    leverage : float64 array, shape (function, target)
        Variance of the prediction, for residuals of variance 1.
    freedom : int array, shape (function,)
    """

    share: NDArray[np.float64]
    centre: NDArray[np.float64]
    error: NDArray[np.float64]
    leverage: NDArray[np.float64]
    freedom: NDArray[np.intp]


def mixture_interval(
    parts: Sequence[Component],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    gamma: float,
    level: float,
) -> NDArray[np.float64]:
    """Return the quantiles (1 -+ level) / 2 of a mixture of Student's t: shape (2, target).

    Parameters
    ----------
    parts : sequence of Component
    y, weight : float64 array, shape (point,)
    gamma, level : float
    """
    share, centre, error, leverage, freedom = (
        np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Component)
    )
    kept = share > share.max() + np.log(MIN_SHARE)
    # What a point of the noise model's variance f^(2 gamma) weighs.
    base = (weight * np.abs(y) ** (2.0 * gamma)).mean()
    noise = np.abs(centre[kept]) ** (2.0 * gamma) / base
    deviation = np.sqrt(error[kept, None] * (noise + leverage[kept]))
    nodes = stdtrit(freedom[kept, None], (np.arange(NODES) + 0.5) / NODES)
    outcomes = centre[kept, None] + deviation[:, None] * nodes[:, :, None]
    mass = np.repeat(np.exp(share[kept] - share.max()), NODES)
    mass /= mass.sum()
    outcomes = outcomes.reshape(mass.size, -1).T
    return np.array(
        [weighted_quantile(outcomes, mass, 0.5 * (1.0 + side * level)) for side in (-1, 1)]
    )


def weighted_quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], share: float = 0.5
) -> NDArray[np.float64]:
    """Return a quantile of the last axis, linear between values.

    Parameters
    ----------
    values : float64 array, shape (..., value)
    weights : float64 array, shape (..., value) or (value,)
        Weights of 0 take no part; their sum is 1.
    share : float
        From 0 to 1: 0.5 is the weighted median.

    Returns
    -------
    float64 array, shape (...)
    """
    # What takes no part stands behind the others and is no neighbour to interpolate to.
    order = np.argsort(np.where(weights > 0.0, values, np.inf), axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, -1)
    mass = np.take_along_axis(np.broadcast_to(weights, values.shape), order, -1)
    middle = np.cumsum(mass, axis=-1) - 0.5 * mass
    last = (mass > 0.0).sum(axis=-1) - 1
    above = np.minimum((middle < share).sum(axis=-1), last)[..., None]
    below = np.maximum(above - 1, 0)
    low, high = np.take_along_axis(middle, below, -1), np.take_along_axis(middle, above, -1)
    gap = np.where(high > low, high - low, 1.0)
    part = np.clip(np.where(high > low, (share - low) / gap, 1.0), 0.0, 1.0)
    ends = np.take_along_axis(ordered, below, -1), np.take_along_axis(ordered, above, -1)
    return np.asarray(((1.0 - part) * ends[0] + part * ends[1])[..., 0])
