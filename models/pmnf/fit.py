"""Scaling models of many kernels at once, over one parameter.

Prediction intervals over one parameter: averages over a lattice of exponents.

The value at a new point is predicted by every term of a lattice of exponents that is finer than any
search space, and by every pair of terms of the search space. Part of the prior of single terms lies
on the search space, whose terms are the ones that algorithms have, the rest evenly on the lattice.
Where the values are a constant and noise, the interval is that of the constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.pmnf.hypotheses import Hypotheses, search_by_pattern
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import MIN_POINTS, Observations, observe
from hindmost.models.pmnf.predictive import Component, mixture_interval
from hindmost.models.pmnf.search import DIGITS, MAX_TERMS, MIN_ANGLE, penalties, search
from hindmost.models.pmnf.space import FINE, columns, search_space, searched_columns

SHARE_OF_SPACE = 0.4
"""Prior probability of the search space's terms, of all single terms."""
OF_CONSTANT, OF_PAIRS = 0.05, 1.0
"""Prior probability of the constant and of all pairs of terms, over that of all single terms."""
CHANCE = (3.6, 12.0)
"""a and b of a + b / (n - 2): by more than that, n log RSS falls in one case of ten when the best
term is added to n values that are a constant and noise. Where a constant was chosen and a term
makes less of a difference, only the constant predicts."""


def average_over_lattice(
    models: ScalingModels, at: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a new measurement lies with the given probability.

    Parameters
    ----------
    models : ScalingModels
        Of kernels that have all points.
    at : float64 array, shape (target, 1)
    level : float

    Returns
    -------
    low, high : float64 array, shape (kernel, target)
    """
    # All single terms, those of the search space first, and the logarithms of their prior shares.
    own, even = models.space.exponents, FINE.exponents
    prior = np.log(
        np.repeat(
            [SHARE_OF_SPACE / len(own), (1.0 - SHARE_OF_SPACE) / len(even)], [len(own), len(even)]
        )
    )
    here, there = (
        columns([*own, *even], models.observations.points),
        columns([*own, *even], at[:, 0]),
    )
    scale = np.abs(here).max(axis=1, keepdims=True)
    scale[scale == 0.0] = 1.0
    predicted, gamma = models.predict(at), models.observations.noise.kind.gamma
    ends = np.empty((2, *predicted.shape))
    for kernel, constant in enumerate(models.hypotheses.constant):
        y, weight = models.observations.values[kernel], models.hypotheses.weights[kernel]
        if not y.any():
            ends[:, kernel] = 0.0
            continue
        parts = components(y, weight, here / scale, there / scale, prior, len(own), constant)
        ends[:, kernel] = mixture_interval(parts, y, weight, gamma, level)
    # The average over all terms may differ from the best one, which must lie in its interval.
    return np.minimum(ends[0], predicted), np.maximum(ends[1], predicted)


def components(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    prior: NDArray[np.float64],
    of_space: int,
    constant: bool,
) -> list[Component]:
    """Return the constant, all terms that grow, and all pairs of terms of the search space.

    Parameters
    ----------
    y, weight : float64 array, shape (point,)
    here, there : float64 array, shape (term, point) and (term, target)
        The search space's terms first.
    prior : float64 array, shape (term,)
        Logarithms.
    of_space : int
        Terms of the search space.
    constant : bool
        Whether the best hypothesis is one.
    """
    count, mean = y.size, weight @ y
    spread = weight @ (y - mean) ** 2
    tiny = DIGITS * (mean**2 + spread)
    size = 0.5 * np.log(mean**2 + spread)
    found = [
        Component(
            share=np.log([OF_CONSTANT]) - 0.5 * (count - 1) * np.log(spread + tiny),
            centre=np.full((1, there.shape[1]), mean),
            error=np.array([(spread + tiny) / (count - 1)]),
            leverage=np.ones((1, there.shape[1])),
            freedom=np.array([count - 1]),
        )
    ]
    if count < 3:
        return found
    # A constant and one term: columns of mean 0 and length 1. Their marginal likelihood is
    # RSS^(-(n - 2) / 2) times the prior.
    root = np.sqrt(weight)
    middle = here @ weight
    length = np.sqrt((here - middle[:, None]) ** 2 @ weight)
    exists = length**2 >= DIGITS
    inverse = 1.0 / np.where(exists, length, np.inf)
    unit = root * (here - middle[:, None]) * inverse[:, None]
    ahead = (there - middle[:, None]) * inverse[:, None]
    target = root * (y - mean)
    along = unit @ target
    rss = ((target - along[:, None] * unit) ** 2).sum(axis=1)
    grows = exists & ((along > 0.0) | (here[:, 0] > here[:, -1]))
    least = rss[:of_space].min(where=grows[:of_space], initial=spread)
    chance = CHANCE[0] + CHANCE[1] / (count - 2)
    if constant and count * np.log((spread + tiny) / (least + tiny)) < chance:
        return found
    found.append(
        Component(
            share=(prior - 0.5 * (count - 2) * np.log(rss + tiny) - size)[grows],
            centre=mean + along[grows, None] * ahead[grows],
            error=(rss + tiny)[grows] / (count - 2),
            leverage=1.0 + ahead[grows] ** 2,
            freedom=np.full(grows.sum(), count - 2),
        )
    )
    if count < 4:
        return found
    # Two terms that are added. The coefficients of columns that are alike are little fixed by the
    # values, so that many such pairs are left: that is the part of the cosine between them.
    q, r = np.tril_indices(of_space, -1)
    pairs, cosine = q.size, (unit @ unit.T)[q, r]
    sine = np.maximum(1.0 - cosine**2, MIN_ANGLE)
    on_q, on_r = (along[q] - cosine * along[r]) / sine, (along[r] - cosine * along[q]) / sine
    add = exists[q] & exists[r] & (1.0 - cosine**2 >= MIN_ANGLE) & (on_q > 0.0) & (on_r > 0.0)
    q, r, cosine, sine = q[add], r[add], cosine[add], sine[add]
    on_q, on_r = on_q[add, None], on_r[add, None]
    rss = ((target - on_q * unit[q] - on_r * unit[r]) ** 2).sum(axis=1)
    u, v, alike = ahead[q], ahead[r], cosine[:, None]
    found.append(
        Component(
            share=np.log(OF_PAIRS / pairs)
            - 2.0 * size
            - 0.5 * ((count - 3) * np.log(rss + tiny) + np.log(sine)),
            centre=mean + on_q * u + on_r * v,
            error=(rss + tiny) / (count - 3),
            leverage=1.0 + (u * u + v * v - 2.0 * alike * u * v) / sine[:, None],
            freedom=np.full(q.size, count - 3),
        )
    )
    return found


def fit(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    space: str = "paper",
    noise: str | None = None,
    parameter: str = "p",
) -> ScalingModels:
    """Fit one model over all points to each kernel.

    Parameters
    ----------
    points : float64 array, shape (point,)
        Values of the parameter, above 0, ascending.
    values : float64 array, shape (point,), (kernel, point) or (kernel, point, repetition)
        In the metric's unit; NaN where a measurement is missing.
    space : str
        ``paper``, ``extrap`` or ``fine``.
    noise : str, optional
        ``additive``, ``root`` or ``multiplicative``; found out if not given.
    parameter : str
        Its name in expressions.

    Raises
    ------
    DataError
        What `observe` refuses, or a kernel of fewer than 5 points.
    UsageError
        An unknown space or kind of noise.
    """
    observations = observe(points, values, noise)
    of_one_parameter(observations)
    return fit_observations(observations, space=space, parameter=parameter)


def of_one_parameter(observations: Observations) -> None:
    """Refuse points of several parameters.

    Raises
    ------
    UsageError
    """
    if observations.points.ndim != 1:
        raise UsageError(
            f"Points of {observations.points.shape[1]} parameters; use pmnf.several.fit_parameters."
        )


def fit_observations(
    observations: Observations,
    *,
    space: str = "paper",
    parameter: str = "p",
    terms: int = MAX_TERMS,
    least_points: int = MIN_POINTS,
) -> ScalingModels:
    """Fit models of at most so many terms to what `observe` gave; else as `fit`."""
    chosen = search_space(space)
    ways = len(chosen.exponents) + sum(power < 0 for power, _ in chosen.exponents)

    def find(there: NDArray[np.bool_], kernels: NDArray[np.intp]) -> Hypotheses:
        count = int(there.sum())
        if count < least_points:
            raise DataError(
                f"Kernel {kernels[0]} has {count} points; a model needs {least_points}: measure "
                f"{least_points - count} more, or leave it out."
            )
        return search(
            observations.values[kernels][:, there],
            observations.shares[kernels][:, there],
            searched_columns(chosen, observations.points[there]),
            gamma=observations.noise.kind.gamma,
            penalties=penalties(count, ways, most=terms),
            above_zero=True,
        )

    return ScalingModels(
        parameters=(parameter,),
        space=chosen,
        observations=observations,
        hypotheses=search_by_pattern(observations.values, find),
        average=average_over_lattice,
    )
