"""Prediction intervals over several parameters: averages over hypotheses.

A new point is predicted by all hypotheses that the search kept, each with Student's t about its
weighted least squares. As over one parameter (`lattice`), a hypothesis of k coefficients weighs
RSS^(-(n - k) / 2), what is left of the likelihood of n values when the coefficients are integrated
out over the size of the values, times its prior probability: the price of its terms in the search.
The corrected Akaike criterion, by which the search ranks, is no such likelihood: among few points
it trusts the best hypothesis far too much.

d parameters have 2^d - 1 - d sets of two and more that may act together. Points on lines, along
each of which one parameter changes, show none of these. With fewer points off the lines than sets,
how values grow beyond the points is open, whatever the hypotheses say, and there is no interval.

How likely a kind of noise is, by models over several parameters: the restricted likelihood.

It is the likelihood of n - k numbers that do not depend on the k coefficients of a model (Patterson
and Thompson 1971). On lines, some points fix a coefficient alone and have no residual. The plain
likelihood counts these as values that were predicted exactly, and so takes to a kind of noise under
which they weigh much; here their weights cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.models import ScalingModels
from hindmost.models.pmnf.predictive import Component, mixture_interval
from hindmost.models.pmnf.search import DIGITS, corrected_akaike
from hindmost.models.pmnf.space import SearchSpace, tabulate


def average_over_hypotheses(
    models: ScalingModels, at: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a new measurement lies with the given probability.

    Parameters
    ----------
    models : ScalingModels
        Of kernels that have all points.
    at : float64 array, shape (target, parameter)
    level : float

    Returns
    -------
    low, high : float64 array, shape (kernel, target)
        NaN beyond points that are `lacking_together`.
    """
    points = models.observations.table
    axes = tabulate(models.space, np.concatenate([points, at]))
    ends = np.empty((2, len(models), len(at)))
    for kernel in range(len(models)):
        ends[:, kernel] = interval_of(models, kernel, axes, level)
    if lacking_together(points):
        inside = (points.min(axis=0) <= at) & (at <= points.max(axis=0))
        ends[:, :, ~inside.all(axis=1)] = np.nan
    return ends[0], ends[1]


def lacking_together(points: NDArray[np.float64]) -> int:
    """Return how many points are lacking to see how parameters act together; 0 if none is.

    Those that show it differ in two parameters or more from the commonest value of each.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    """
    usual = []
    for column in points.T:
        values, count = np.unique(column, return_counts=True)
        usual.append(values[count.argmax()])
    off = int(((points != usual).sum(axis=1) >= 2).sum())
    many = points.shape[1]
    return int(max(2**many - 1 - many - off, 0))


def interval_of(
    models: ScalingModels, kernel: int, axes: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return low and high of one kernel: shape (2, target).

    Parameters
    ----------
    axes : float64 array, shape (parameter, 1 + exponents, point and target)
        All terms, after a row of ones.
    """
    y, weight = models.observations.values[kernel], models.hypotheses.weights[kernel]
    found, count = models.hypotheses.rows(np.array([kernel])), y.size
    terms, criterion = found.terms[0], found.criterion[0]
    there = np.concatenate([found.coefficients[0, :, :1] != 0.0, terms.any(axis=2)], axis=1)
    free = count - there.sum(axis=1)
    kept = np.flatnonzero((free > 0) & np.isfinite(criterion) & there.any(axis=1))
    if not kept.size:
        return np.zeros((2, axes.shape[2] - count))
    there, terms, free = there[kept], terms[kept], free[kept]
    columns, lacking = design(terms, there, axes, count)
    root = np.sqrt(weight)
    basis, triangle = np.linalg.qr(
        np.concatenate([root[:, None] * columns[:, :count], lacking], axis=1)
    )
    basis = basis[:, :count]
    along = root * y @ basis
    rest = root * y - np.einsum("hpc,hc->hp", basis, along)
    size = (weight * y**2).sum()
    rss = (rest**2).sum(axis=1) + DIGITS * size
    price = (
        criterion[kept]
        - count * np.log(rss)
        - corrected_akaike(count, terms.any(axis=2).sum(axis=1))
    )
    share = -0.5 * (free * np.log(rss) + (count - free) * np.log(size) + price)
    # At a target x: the prediction x c, and its leverage |R^-T x|^2.
    ahead = np.linalg.solve(triangle.transpose(0, 2, 1), columns[:, count:].transpose(0, 2, 1))
    part = Component(
        share=share,
        centre=np.einsum("hct,hc->ht", ahead, along),
        error=rss / free,
        leverage=(ahead**2).sum(axis=1),
        freedom=free,
    )
    return mixture_interval([part], y, weight, models.observations.noise.kind.gamma, level)


def design(
    terms: NDArray[np.int16], there: NDArray[np.bool_], axes: NDArray[np.float64], points: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns of hypotheses, the constant first, of largest value 1 at the points.

    Parameters
    ----------
    terms : int16 array, shape (hypothesis, term, parameter)
    there : bool array, shape (hypothesis, 1 + term)
        Whether a hypothesis has a constant, and each term.
    axes : float64 array, shape (parameter, 1 + exponents, place)
        All terms, after a row of ones, at the points and then at other places.
    points : int

    Returns
    -------
    columns : float64 array, shape (hypothesis, place, 1 + term)
    lacking : float64 array, shape (hypothesis, 1 + term, 1 + term)
        A row more for each column that a hypothesis lacks, which keeps its coefficient at 0.
    """
    columns = np.ones((*there.shape, axes.shape[2]))
    for axis, values in enumerate(axes):
        columns[:, 1:] *= values[terms[:, :, axis]]
    columns /= np.abs(columns[:, :, :points]).max(axis=2, keepdims=True)
    columns = np.where(there[:, :, None], columns, 0.0).transpose(0, 2, 1)
    return columns, np.eye(there.shape[1]) * ~there[:, None]


def widened(
    predicted: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    wider: NDArray[np.float64] | float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals that are several times as wide in logarithms, where these are numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        below = predicted * (np.maximum(low, 0.0) / predicted) ** wider
        above = predicted * (high / predicted) ** wider
    right = (predicted > 0.0) & (low <= predicted) & (predicted <= high)
    return np.where(right, below, low), np.where(right, above, high)


def restricted_likelihood(
    found: Hypotheses,
    values: NDArray[np.float64],
    points: NDArray[np.float64],
    space: SearchSpace,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how likely the best model of each kernel is, and what it leaves.

    Parameters
    ----------
    found : Hypotheses
    values : float64 array, shape (kernel, point)
    points : float64 array, shape (point, parameter)
    space : SearchSpace
        That of the hypotheses.

    Returns
    -------
    likelihood : float64 array, shape (kernel,)
        Its logarithm, up to what all kinds of noise have in common.
    left : float64 array, shape (kernel,)
        Root mean square of the residuals over that of the values, both weighted.
    """
    terms, weights = found.terms[:, 0], found.weights
    there = np.concatenate([found.coefficients[:, 0, :1] != 0.0, terms.any(axis=2)], axis=1)
    columns, lacking = design(terms, there, tabulate(space, points), len(points))
    root = np.sqrt(weights)
    basis, weighted = np.linalg.qr(np.concatenate([root[:, :, None] * columns, lacking], axis=1))
    plain = np.linalg.qr(np.concatenate([columns, lacking], axis=1), mode="r")
    target, basis = root * values, basis[:, : len(points)]
    rest = target - np.einsum("kpc,kc->kp", basis, np.einsum("kpc,kp->kc", basis, target))
    rss = (rest**2).sum(axis=1)
    free = np.maximum(len(points) - there.sum(axis=1), 1)
    # With columns X and weights W, log |X^T X| - log |X^T W X| over 2.
    diagonals = np.abs(np.diagonal(np.stack([plain, weighted]), axis1=2, axis2=3))
    of_plain, of_weighted = np.log(diagonals).sum(axis=2)
    # Models of more coefficients explain fewer numbers: the others have the size of the values.
    size = np.log((values**2).mean(axis=1))
    with np.errstate(divide="ignore"):
        fit = free * np.log(rss) + (len(points) - free) * size
    likelihood = 0.5 * (np.log(weights).sum(axis=1) - fit) + of_plain - of_weighted
    return likelihood, np.sqrt(rss / (target**2).sum(axis=1))
