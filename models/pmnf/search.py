"""Least squares over a search space, for many kernels at once: the compiled loop.

All hypotheses of a kernel are held against the same weights: first 1 / |y|^(2 gamma), from whose
best one-term model come the final ones, 1 / f^(2 gamma), which noise does not sway. Terms that
grow are only added: costs add up, and one that is subtracted fits noise. One term that falls may be
subtracted from the constant, as in what approaches a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled, part

KEPT = 4
"""Hypotheses that are kept of each kernel: the best one and the runners-up."""

NONE = -1
"""In place of a term's number, where there is no such term."""

DIGITS = 1e-28
"""Squared, what rounding leaves of a value."""

LEAST_ANGLE = 1e-9
"""Squared sine between two columns, below which they are one."""

Best = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
"""Terms, coefficients and criterion of a kernel's hypotheses, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best hypotheses of each kernel, best first.

    Attributes
    ----------
    terms : int32 array, shape (kernel, hypothesis, 2)
        Numbers of columns; -1 for none.
    coefficients : float64 array, shape (kernel, hypothesis, 3)
        Of the constant and of both terms; 0 where there is no term.
    criterion : float64 array, shape (kernel, hypothesis)
        The less the better; infinite where there is no such hypothesis.
    weights : float64 array, shape (kernel, point)
        The final ones, relative.
    """

    terms: NDArray[np.int32]
    coefficients: NDArray[np.float64]
    criterion: NDArray[np.float64]
    weights: NDArray[np.float64]


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    columns: NDArray[np.float64],
    *,
    gamma: float,
    penalties: NDArray[np.float64],
) -> Found:
    """Find the best hypotheses of a constant and up to two terms.

    Parameters
    ----------
    values : float64 array, shape (kernel, point)
    shares : float64 array, shape (kernel, point)
        What each point weighs apart from the noise model: repetitions, doubts.
    columns : float64 array, shape (term, point)
        The terms at the points.
    gamma : float
        The noise's variance grows like the value to 2 gamma.
    penalties : float64 array, shape (3,)
        Added to n log RSS for 0, 1 and 2 terms; infinite: such hypotheses are left out.

    Returns
    -------
    Found
    """
    kernels, points = values.shape
    scale = np.abs(columns).max(axis=1)
    unit = np.ascontiguousarray(columns / scale[:, None])
    terms = np.full((kernels, KEPT, 2), NONE, np.int32)
    coefficients = np.zeros((kernels, KEPT, 3))
    criterion = np.full((kernels, KEPT), np.inf)
    weights = np.empty((kernels, points))
    compiled(search_loop)(
        np.ascontiguousarray(values),
        np.ascontiguousarray(shares),
        unit,
        gamma,
        penalties,
        terms,
        coefficients,
        criterion,
        weights,
    )
    for at in range(2):
        there = terms[:, :, at] != NONE
        coefficients[:, :, at + 1][there] /= scale[terms[:, :, at][there]]
    return Found(terms=terms, coefficients=coefficients, criterion=criterion, weights=weights)


def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    columns: NDArray[np.float64],
    gamma: float,
    penalties: NDArray[np.float64],
    terms: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel."""
    many, points = columns.shape
    centred = np.empty((many, points))
    along = np.empty(many)
    for k in range(values.shape[0]):
        y, best = values[k], (terms[k], coefficients[k], criterion[k])
        weight = shares[k] * np.abs(y) ** (-2.0 * gamma)
        try_singles(y, weight, columns, penalties, centred, along, best)
        if gamma != 0.0:
            fitted = coefficients[k, 0, 0] * np.ones(points)
            if terms[k, 0, 0] != NONE:
                fitted += coefficients[k, 0, 1] * columns[terms[k, 0, 0]]
            fitted = np.maximum(fitted, 0.5 * np.abs(y).min())
            weight = shares[k] * fitted ** (-2.0 * gamma)
            try_singles(y, weight, columns, penalties, centred, along, best)
        if penalties[2] < np.inf:
            try_pairs(y, weight, columns, penalties, centred, along, best)
        weights[k] = weight


@part
def try_singles(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    penalties: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    best: Best,
) -> None:
    """Begin the list of the best with the constant and one term each.

    Leaves in `weight` the weights of sum 1, in `centred` the columns without their mean, times the
    root of the weights and of length 1, and in `along` the values' components along them.
    """
    points = y.size
    weight /= weight.sum()
    root = np.sqrt(weight)
    mean = (weight * y).sum()
    target = root * (y - mean)
    spread = (target * target).sum()
    tiny = DIGITS * (mean * mean + spread)
    terms, coefficients, criterion = best
    terms[:] = NONE
    coefficients[:] = 0.0
    criterion[:] = np.inf
    criterion[0] = points * np.log(spread + tiny) + penalties[0]
    coefficients[0, 0] = mean
    for q in range(columns.shape[0]):
        middle = 0.0
        for a in range(points):
            middle += weight[a] * columns[q, a]
        length = 0.0
        component = 0.0
        for a in range(points):
            entry = root[a] * (columns[q, a] - middle)
            centred[q, a] = entry
            length += entry * entry
            component += entry * target[a]
        if length < DIGITS:  # where there is weight, the column does not vary: it says nothing
            along[q] = 0.0
            centred[q] = 0.0
            continue
        norm = np.sqrt(length)
        component /= norm
        along[q] = component
        rss = 0.0
        for a in range(points):
            centred[q, a] /= norm
            rss += (target[a] - component * centred[q, a]) ** 2
        falls = columns[q, 0] > columns[q, points - 1]
        if component > 0.0 or falls:
            value = points * np.log(rss + tiny) + penalties[1]
            slope = component / norm
            keep(best, value, q, NONE, mean - slope * middle, slope, 0.0)


@part
def try_pairs(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    penalties: NDArray[np.float64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    best: Best,
) -> None:
    """Add to the list of the best what two terms do better, after `try_singles`."""
    points = y.size
    criterion = best[2]
    root = np.sqrt(weight)
    mean = (weight * y).sum()
    target = root * (y - mean)
    spread = (target * target).sum()
    tiny = DIGITS * (mean * mean + spread)
    for q in range(1, columns.shape[0]):
        for r in range(q):
            alike = 0.0
            for a in range(points):
                alike += centred[q, a] * centred[r, a]
            apart = 1.0 - alike * alike
            if apart < LEAST_ANGLE:
                continue
            on_q = (along[q] - alike * along[r]) / apart
            on_r = (along[r] - alike * along[q]) / apart
            if on_q <= 0.0 or on_r <= 0.0:
                continue
            rss = max(spread - on_q * along[q] - on_r * along[r], 0.0)
            if points * np.log(rss + tiny) + penalties[2] >= criterion[KEPT - 1]:
                continue
            rss = 0.0  # once more, as the difference above may have no digits left
            for a in range(points):
                rss += (target[a] - on_q * centred[q, a] - on_r * centred[r, a]) ** 2
            value = points * np.log(rss + tiny) + penalties[2]
            if value >= criterion[KEPT - 1]:
                continue
            middle_q = (weight * columns[q]).sum()
            middle_r = (weight * columns[r]).sum()
            slope_q = on_q / np.sqrt((weight * (columns[q] - middle_q) ** 2).sum())
            slope_r = on_r / np.sqrt((weight * (columns[r] - middle_r) ** 2).sum())
            constant = mean - slope_q * middle_q - slope_r * middle_r
            keep(best, value, q, r, constant, slope_q, slope_r)


@part
def keep(
    best: Best,
    value: float,
    first: int,
    second: int,
    constant: float,
    of_first: float,
    of_second: float,
) -> None:
    """Put a hypothesis in its place in the list of the best, if it has one."""
    terms, coefficients, criterion = best
    if value >= criterion[KEPT - 1]:
        return
    at = KEPT - 1
    while at > 0 and value < criterion[at - 1]:
        criterion[at] = criterion[at - 1]
        terms[at] = terms[at - 1]
        coefficients[at] = coefficients[at - 1]
        at -= 1
    criterion[at] = value
    terms[at, 0], terms[at, 1] = first, second
    coefficients[at, 0], coefficients[at, 1], coefficients[at, 2] = constant, of_first, of_second
