"""Prediction intervals that know that the exponents are not known.

The value at a new point is predicted by every term of a lattice of exponents that is finer than any
search space, each weighted by how probable the measured values make it (Bayesian model averaging;
Hoeting, Madigan, Raftery and Volinsky 1999): part of the prior lies on the search space, whose
terms are the ones that algorithms have, the rest evenly on the lattice. Given a term, the
prediction is Student's t about its weighted least-squares fit. The interval is cut from the mixture
of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from hindmost.models.compiled import compiled, part
from hindmost.models.pmnf.search import DIGITS, NONE
from hindmost.models.pmnf.space import SearchSpace, lattice
from hindmost.models.pmnf.term import Exponents, columns

COARSE, FINE = (24, 8), (48, 16)
"""Steps of the lattice from one whole exponent to the next: of powers, of logarithms."""
FEW = 40
"""Components of the coarse lattice that matter, below which the fine one is taken."""
SHARE_OF_SPACE = 0.4
SHARE_OF_CONSTANT = 0.05
SHARE_OF_PAIRS = 0.05
NODES = (41, 7)
"""Most and fewest points of equal probability in place of a component's law."""
MOST_OUTCOMES = 16384
"""Points of all components together, beyond which each has fewer."""
LEAST_SHARE = 1e-4
"""Components of less weight than this share of the best one are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What predictions of many kernels need.

    Attributes
    ----------
    points : float64 array, shape (point,)
    values, weights : float64 array, shape (kernel, point)
    gamma : float
    terms : int32 array, shape (kernel, hypothesis, 2)
        Numbers of terms in the search space; -1 for none.
    coefficients : float64 array, shape (kernel, hypothesis, 3)
    space : SearchSpace
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    gamma: float
    terms: NDArray[np.int32]
    coefficients: NDArray[np.float64]
    space: SearchSpace


@cache
def components(
    space: SearchSpace, steps: tuple[int, int]
) -> tuple[tuple[Exponents, ...], NDArray[np.float64]]:
    """Return the exponents of all components and the logarithms of their prior shares.

    The terms of the search space come first.

    Parameters
    ----------
    steps : (int, int)
        Of an exponent, from one whole number to the next: of powers and of logarithms.
    """
    even = lattice(*steps)
    of_space = np.full(len(space.exponents), SHARE_OF_SPACE / len(space.exponents))
    of_even = np.full(len(even), (1.0 - SHARE_OF_SPACE) / len(even))
    return (*space.exponents, *even), np.log(np.concatenate([of_space, of_even]))


def predict_intervals(
    fitted: Fitted, at: NDArray[np.float64], *, level: float = 0.9
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a new measurement lies with the given probability.

    Parameters
    ----------
    fitted : Fitted
    at : float64 array, shape (target,)
    level : float
        Between 0 and 1.

    Returns
    -------
    low, high : float64 array, shape (kernel, target)
    """
    low, high, kept = cut_intervals(fitted, at, level, COARSE)
    few = np.flatnonzero(kept < FEW)
    if few.size:
        part = replace(
            fitted,
            values=fitted.values[few],
            weights=fitted.weights[few],
            terms=fitted.terms[few],
            coefficients=fitted.coefficients[few],
        )
        low[few], high[few], _ = cut_intervals(part, at, level, FINE)
    return low, high


def cut_intervals(
    fitted: Fitted, at: NDArray[np.float64], level: float, steps: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the intervals by a lattice, and how many components each comes from."""
    exponents, prior = components(fitted.space, steps)
    here, there = columns(exponents, fitted.points), columns(exponents, at)
    scale = np.abs(here).max(axis=1)
    scale[scale == 0.0] = 1.0
    count = fitted.points.size
    nodes = np.zeros((NODES[0] + 1, 3, NODES[0]))  # by how many there are, and terms used
    for many in range(NODES[1], NODES[0] + 1):
        for used in range(3):
            if count - used - 1 > 0:
                middles = (np.arange(many) + 0.5) / many
                nodes[many, used, :many] = stdtrit(count - used - 1, middles)
    intervals = np.empty((2, fitted.values.shape[0], at.size))
    kept = np.empty(fitted.values.shape[0], np.int64)
    compiled(interval_loop)(
        fitted.values,
        fitted.weights,
        fitted.gamma,
        np.ascontiguousarray(here / scale[:, None]),
        np.ascontiguousarray(there / scale[:, None]),
        prior,
        fitted.terms,
        fitted.coefficients,
        scale,
        nodes,
        level,
        intervals,
        kept,
    )
    return intervals[0], intervals[1], kept


def interval_loop(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    gamma: float,
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    prior: NDArray[np.float64],
    terms: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    scale: NDArray[np.float64],
    nodes: NDArray[np.float64],
    level: float,
    intervals: NDArray[np.float64],
    number: NDArray[np.int64],
) -> None:
    """Fill the results of `cut_intervals`, kernel by kernel."""
    many, targets = there.shape
    hypotheses = terms.shape[1]
    components = many + 1 + hypotheses
    share = np.empty(components)
    used = np.ones(components, np.int64)
    error = np.empty(components)  # residual variance of a point of weight 1 in all
    middle = np.empty(many)
    slope = np.empty(many)
    length = np.empty(many)
    count = values.shape[1]
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        mean = (weight * y).sum()
        spread = (weight * (y - mean) ** 2).sum()
        tiny = DIGITS * (mean * mean + spread)
        size = 0.5 * np.log(mean * mean + spread)
        used[:] = 1
        for q in range(many):
            share[q] = -np.inf
            rss = fit_single(y, weight, here[q], mean, q, middle, slope, length)
            falls = here[q, 0] > here[q, count - 1]
            if (slope[q] > 0.0 or falls) and count > 2:
                share[q] = prior[q] - 0.5 * (count - 2) * np.log(rss + tiny) - size
                error[q] = (rss + tiny) / (count - 2)
        constant = np.log(SHARE_OF_CONSTANT) - 0.5 * (count - 1) * np.log(spread + tiny)
        share[many], used[many], error[many] = constant, 0, (spread + tiny) / (count - 1)
        for h in range(hypotheses):
            at = many + 1 + h
            share[at], used[at] = -np.inf, 2
            if terms[k, h, 1] == NONE or count <= 3:
                continue
            rss = 0.0
            for a in range(count):
                fit = coefficients[k, h, 0]
                for c in range(2):
                    q = terms[k, h, c]
                    fit += coefficients[k, h, c + 1] * scale[q] * here[q, a]
                rss += weight[a] * (y[a] - fit) ** 2
            share[at] = np.log(SHARE_OF_PAIRS / hypotheses) - 2.0 * size
            share[at] -= 0.5 * (count - 3) * np.log(rss + tiny)
            error[at] = (rss + tiny) / (count - 3)
        best = share.max()
        kept = np.flatnonzero(share > best + np.log(LEAST_SHARE))
        number[k] = kept.size
        if kept.size == 0:  # nothing but zeros
            intervals[:, k] = mean
            continue
        # What a point of the noise model's variance f^(2 gamma) weighs.
        base = 0.0
        for a in range(count):
            base += weight[a] * np.abs(y[a]) ** (2.0 * gamma) / count
        each = min(max(MOST_OUTCOMES // kept.size, NODES[1]), NODES[0])
        outcome = np.empty(kept.size * each)
        mass = np.empty(outcome.size)
        for t in range(targets):
            filled = 0
            for at in kept:
                more = 1.0
                if at < many:
                    apart = there[at, t] - middle[at]
                    centre = mean + slope[at] * apart
                    more += apart * apart / length[at]
                elif at == many:
                    centre = mean
                else:
                    h = at - many - 1
                    centre = coefficients[k, h, 0]
                    for c in range(2):
                        q = terms[k, h, c]
                        centre += coefficients[k, h, c + 1] * scale[q] * there[q, t]
                    more += 2.0
                noise = np.abs(centre) ** (2.0 * gamma) / base
                deviation = np.sqrt(error[at] * (noise + more))
                for node in nodes[each, used[at], :each]:
                    outcome[filled] = centre + deviation * node
                    mass[filled] = np.exp(share[at] - best)
                    filled += 1
            order = np.argsort(outcome)
            total = np.cumsum(mass[order])
            total /= total[-1]
            for side in range(2):
                wanted = 0.5 * (1.0 + (2 * side - 1) * level)
                found = 0
                while found < order.size - 1 and total[found] < wanted:
                    found += 1
                intervals[side, k, t] = outcome[order[found]]


@part
def fit_single(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    column: NDArray[np.float64],
    mean: float,
    q: int,
    middle: NDArray[np.float64],
    slope: NDArray[np.float64],
    length: NDArray[np.float64],
) -> float:
    """Fit a constant and one column; return the weighted residual sum of squares."""
    centre = 0.0
    for a in range(y.size):
        centre += weight[a] * column[a]
    norm = 0.0
    along = 0.0
    for a in range(y.size):
        apart = column[a] - centre
        norm += weight[a] * apart * apart
        along += weight[a] * apart * (y[a] - mean)
    middle[q], length[q], slope[q] = centre, norm, 0.0
    if norm < DIGITS:
        return np.inf
    slope[q] = along / norm
    rss = 0.0
    for a in range(y.size):
        rss += weight[a] * (y[a] - mean - slope[q] * (column[a] - centre)) ** 2
    return rss
