"""Models chosen by how well they foretell each point from the others, as Extra-P does.

A hypothesis is a constant and at most one growing term, fitted by unweighted least squares to the
mean of the repetitions. Each point is foretold by the fit to all other points, and the least
symmetric mean absolute error wins (SMAPE; Calotoiu et al. 2013, Ritter et al. 2020). The constant
competes with the error of its fit. Extra-P 4.2.5 takes a constant of a fold that is small beside
the values for 0, and leaves out terms that contribute next to nothing; so does this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.lattice import average_over_lattice
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.observations import Observations
from hindmost.models.pmnf.space import search_space
from hindmost.models.pmnf.term import columns

SMALL = 0.0005
"""Share of the least value below which a constant counts as 0, and of the values below which a
term contributes nothing."""


def fit_left_out(
    observations: Observations, *, space: str, parameter: str, terms: int = 1
) -> ScalingModels:
    """Fit a constant and at most one growing term to each kernel.

    Parameters
    ----------
    observations : Observations
        Over one parameter, without gaps; at least 3 points.
    space : str
        A name of `SEARCH_SPACES`; terms that fall are left out.
    parameter : str
    terms : int
        0 for constants only.
    """
    chosen = search_space(space)
    points, values = observations.points, observations.values
    number = np.full(values.shape[0], -1)  # the constant
    constant, slope = values.mean(axis=1), np.zeros(values.shape[0])
    least = symmetric_error(constant[:, None], values)
    exact = ((values - constant[:, None]) ** 2).sum(axis=1) == 0.0
    growing = [at for at, (power, _) in enumerate(chosen.exponents) if power >= 0]
    for at in growing if terms else ():
        exponents = chosen.exponents[at]
        if exponents[1] and points[0] < 1.0:  # the logarithm is below 0
            continue
        column = columns([exponents], points)[0]
        error = left_out_error(column, values)
        own_constant, own_slope = line(column, values)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.abs(own_slope[:, None] * column / values).max(axis=1)
        better = (error < least) & (part >= SMALL) & (own_slope != 0.0) & ~exact
        number[better], least[better] = at, error[better]
        constant[better], slope[better] = own_constant[better], own_slope[better]
    fitted = constant[:, None] + slope[:, None] * columns(chosen.exponents, points)[number]
    fitted = np.maximum(np.abs(fitted), 0.5 * np.abs(values).min(axis=1, keepdims=True))
    gamma = observations.noise.kind.gamma
    weights = observations.shares * fitted ** (-2.0 * gamma) if gamma else observations.shares
    return ScalingModels(
        parameters=(parameter,),
        space=chosen,
        observations=observations,
        hypotheses=Hypotheses(
            terms=(number + 1).astype(np.int16)[:, None, None, None],
            coefficients=np.stack([constant, slope], axis=1)[:, None],
            criterion=least[:, None],
            weights=weights / weights.sum(axis=1, keepdims=True),
        ),
        average=average_over_lattice,
    )


def line(
    column: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return constant and slope of the unweighted least squares of values over a column.

    Parameters
    ----------
    column : float64 array, shape (point,)
    values : float64 array, shape (kernel, point)

    Returns
    -------
    constant, slope : float64 array, shape (kernel,)
        The mean and 0 where the column does not vary.
    """
    scale = np.abs(column).max() or 1.0
    apart = (column - column.mean()) / scale
    length = (apart**2).sum()
    mean = values.mean(axis=1)
    if length == 0.0:
        return mean, np.zeros_like(mean)
    slope = (values - mean[:, None]) @ apart / length / scale
    return mean - slope * column.mean(), slope


def left_out_error(column: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the error, in percent, with which each point is foretold from all others.

    Parameters
    ----------
    column : float64 array, shape (point,)
    values : float64 array, shape (kernel, point)

    Returns
    -------
    float64 array, shape (kernel,)
    """
    foretold = np.empty_like(values)
    for out in range(column.size):
        rest = np.arange(column.size) != out
        constant, slope = line(column[rest], values[:, rest])
        least = values[:, rest].min(axis=1)
        least = np.where(least == 0.0, 1.0, least)
        constant = np.where(np.abs(constant / least) < SMALL, 0.0, constant)
        foretold[:, out] = constant + slope * column[out]
    return symmetric_error(foretold, values)


def symmetric_error(
    predicted: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the symmetric mean absolute error in percent, shape (kernel,)."""
    size = np.abs(predicted) + np.abs(values)
    off = np.divide(np.abs(predicted - values), size, out=np.zeros_like(values), where=size > 0.0)
    return np.asarray(200.0 * off.mean(axis=1))
