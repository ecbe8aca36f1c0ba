"""Functions whose exponents are real numbers near those of a hypothesis, by importance sampling.

The search space has a grid of exponents; the truth need not lie on it. Around a hypothesis the
posterior of real exponents is approximated by a normal law (`likeliest`), exponents are drawn from
it (`wander`), and each draw joins the mixture of predictions with its importance weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.several.hypothesis import (
    NO_TERM,
    Target,
    digit,
    fill_column,
    fit_columns,
)

POWERS = (-3.0, 3.0)
LOGARITHMS = (0.0, 2.0)
WIDER = 1.3
"""Draws are wider than the normal approximation, so that they cover its tails."""
RIDGE = 1e-9
"""Share of the largest precision of an exponent that each gets, against rounding."""
DRAWN = 1
"""Kind of a component that was drawn; a hypothesis has kind 0."""

Mixture = tuple[
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]
"""Log weight, number of terms, kind, residual variance, predictions and leverages of components."""


@part
def predict(
    columns: NDArray[np.float64],
    used: int,
    target: Target,
    constant: bool,
    centre: NDArray[np.float64],
    lever: NDArray[np.float64],
) -> tuple[float, float]:
    """Fit the columns at the points (their first entries) and predict at the targets (the others).

    Writes the predictions to ``centre`` and to ``lever`` their variance, for residuals of variance
    1 at a point of weight 1. Returns the weighted RSS, infinite if columns are linearly dependent,
    and the smallest coefficient.
    """
    count = target[2].size
    factors = np.empty(MOST_PRODUCTS + 1)
    triangle = np.empty((MOST_PRODUCTS, MOST_PRODUCTS + 1))
    scratch = np.empty((MOST_PRODUCTS + 1, count))
    rss = fit_columns(columns, used, target, factors, scratch, triangle, constant)
    if rss == np.inf:
        return rss, 0.0
    least = np.inf
    for q in range(used):
        least = min(least, factors[q + 1])
    apart = np.empty(MOST_PRODUCTS)
    # At each target x: the prediction c_0 + sum_q c_q x_q, and the leverage 1 + |R^-T x|^2, where
    # R is the triangle of the fit (forward substitution) and the 1 is that of the constant.
    for t in range(centre.size):
        centre[t] = factors[0]
        lever[t] = 1.0 if constant else 0.0
        for q in range(used):
            centre[t] += factors[q + 1] * columns[q, count + t]
            apart[q] = columns[q, count + t] - triangle[q, 0]
            for r in range(q):
                apart[q] -= triangle[r, q + 1] * apart[r]
            apart[q] /= triangle[q, q + 1]
            lever[t] += apart[q] * apart[q]
    return rss, least


@part
def wander(
    terms: NDArray[np.int64],
    axes: NDArray[np.float64],
    logarithms: NDArray[np.float64],
    powers: NDArray[np.float64],
    target: Target,
    constant: bool,
    draws: NDArray[np.float64],
    mixture: Mixture,
    own: int,
    filled: int,
) -> int:
    """Add functions near a hypothesis to the mixture; return its new number of components.

    Parameters
    ----------
    axes : float64 array, shape (parameter, 1 + exponents, point and target)
    logarithms : float64 array, shape (parameter, 2, point and target)
        Logarithms of the parameter, and of its binary logarithm.
    powers : float64 array, shape (1 + exponents, 2)
    draws : float64 array, shape (draw, at least twice the pairs of exponents)
        Standard normal.
    own : int
        The component of the hypothesis itself.
    """
    share, used, kind, error, centre, lever = mixture
    many, base, places = axes.shape
    count = target[2].size
    columns = np.empty((MOST_PRODUCTS, places))
    present = np.empty(MOST_PRODUCTS, np.int64)
    width = 0
    # The columns of the hypothesis's terms, at points and targets.
    for one in range(MOST_PRODUCTS):
        if terms[one] != NO_TERM:
            fill_column(terms[one], axes, columns[width])
            present[width] = terms[one]
            width += 1
    # The directions in which exponents move: for each pair of exponents that occurs, its power of
    # the parameter (0), and its power of the logarithm (1) if the parameter exceeds 1 everywhere.
    # The prior of real exponents is uniform over their ranges, 1 / area; that of a pair on the grid
    # is one over the number of pairs, of which a third have the same power of the parameter.
    direction = np.empty((2 * MOST_PRODUCTS * many, 3), np.int64)
    free = 0
    prior = 0.0
    for axis in range(many):
        for number in range(1, base):
            occurs = False
            for one in range(width):
                occurs = occurs or digit(present[one], axis, base) == number
            if not occurs:
                continue
            direction[free, 0], direction[free, 1], direction[free, 2] = axis, number, 0
            free += 1
            if logarithms[axis, 0].min() > 0.0 and powers[number, 0] >= 0.0:
                direction[free, 0], direction[free, 1], direction[free, 2] = axis, number, 1
                free += 1
                area = (POWERS[1] - POWERS[0]) * (LOGARITHMS[1] - LOGARITHMS[0])
                prior += np.log((base - 1) / area)
            else:
                prior += np.log((base - 1) / 3.0 / (POWERS[1] - POWERS[0]))
    # d log(term) / d exponent, for each direction: log(x) or log(log2(x)) where the pair occurs.
    slopes = np.zeros((free, width, places))
    for v in range(free):
        axis, number, which = direction[v]
        for one in range(width):
            if digit(present[one], axis, base) == number:
                slopes[v, one] = logarithms[axis, which]
    step, lower, scale = likeliest(columns, slopes, direction, width, target, constant)
    trial = np.empty((MOST_PRODUCTS, places))
    apart = np.empty(free)
    begin = filled
    total = 0.0
    # Importance sampling: draw exponents from N(step, WIDER^2 precision^-1), fit their function,
    # and weight it by likelihood times prior over the density of the draw.
    for draw in range(draws.shape[0]):
        proposal = -free * np.log(WIDER) - 0.5 * free * np.log(2.0 * np.pi) + scale
        for v in range(free - 1, -1, -1):  # solves lower^T apart = WIDER draw
            value = WIDER * draws[draw, v]
            proposal -= 0.5 * draws[draw, v] ** 2
            for u in range(v + 1, free):
                value -= lower[u, v] * apart[u]
            apart[v] = value / lower[v, v]
        # Exponents outside the ranges of the prior have no weight.
        inside = True
        for v in range(free):
            low, high = POWERS if direction[v, 2] == 0 else LOGARITHMS
            exponent = powers[direction[v, 1], direction[v, 2]] + step[v] + apart[v]
            inside = inside and low <= exponent <= high
        if not inside:
            continue
        # The terms with the drawn exponents: each column times exp(change of its exponents).
        for one in range(width):
            for a in range(places):
                exponent = 0.0
                for v in range(free):
                    exponent += (step[v] + apart[v]) * slopes[v, one, a]
                trial[one, a] = columns[one, a] * np.exp(exponent)
        rss, least = predict(trial, width, target, constant, centre[filled], lever[filled])
        if rss == np.inf or least <= 0.0:
            continue
        # Log weight relative to the hypothesis: prior plus likelihood ratio, less the proposal.
        left = count - width - 1
        error[filled] = (rss + target[4]) / left
        used[filled] = width
        kind[filled] = DRAWN
        better = 0.5 * left * np.log(error[own] / error[filled])
        share[filled] = share[own] + prior + better - proposal - np.log(draws.shape[0])
        filled += 1
    if filled == begin:
        return filled
    # Truncate the weights at sum / sqrt(draws), which bounds their variance (Ionides 2008).
    most = share[begin:filled].max()
    for c in range(begin, filled):
        total += np.exp(share[c] - most)
    limit = most + np.log(total) - 0.5 * np.log(draws.shape[0])
    for c in range(begin, filled):
        share[c] = min(share[c], limit)
    return filled


@part
def likeliest(
    columns: NDArray[np.float64],
    slopes: NDArray[np.float64],
    direction: NDArray[np.int64],
    width: int,
    target: Target,
    constant: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return a Gauss-Newton step of the exponents, the root of its precision, and log det of that.

    The coefficients are functions of the exponents (variable projection; Kaufman 1975).
    """
    weight, root, wanted, _, tiny, _ = target
    count = wanted.size
    free = slopes.shape[0]
    factors = np.empty(MOST_PRODUCTS + 1)
    basis = np.empty((MOST_PRODUCTS + 1, count))
    triangle = np.empty((MOST_PRODUCTS, MOST_PRODUCTS + 1))
    rss = fit_columns(columns, width, target, factors, basis, triangle, constant)
    variance = (rss + tiny) / (count - width - 1)
    # Residuals: what is wanted, without its projection on the basis of the columns.
    rest = wanted.copy()
    for q in range(width):
        rest -= (basis[q] * wanted).sum() * basis[q]
    # Gradient of the fitted values by each exponent, projected out of the columns as well: the
    # coefficients adapt to that part (Kaufman's approximation).
    gradient = np.zeros((free, count))
    for v in range(free):
        for one in range(width):
            for a in range(count):
                gradient[v, a] += factors[one + 1] * columns[one, a] * slopes[v, one, a]
        middle = (weight * gradient[v]).sum() if constant else 0.0
        gradient[v] = root * (gradient[v] - middle)
        for q in range(width):
            gradient[v] -= (basis[q] * gradient[v]).sum() * basis[q]
    precision = gradient @ gradient.T / variance
    largest = 1.0
    for v in range(free):
        largest = max(largest, precision[v, v])
    for v in range(free):
        # Prior: exponents vary by about 1. Of values without noise the precision is so large that
        # this is lost to rounding, and two directions that are alike would leave no root.
        precision[v, v] += 1.0 + RIDGE * largest
    # Step and precision of the normal approximation; steps are limited to half a power.
    lower = np.linalg.cholesky(precision)
    scale = 0.0
    for v in range(free):
        scale += np.log(lower[v, v])
    step = np.linalg.solve(precision, gradient @ rest / variance)
    return np.minimum(np.maximum(step, -0.5), 0.5), lower, scale
