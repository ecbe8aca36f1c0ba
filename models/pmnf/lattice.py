"""Prediction intervals over one parameter: averages over a lattice of exponents.

The value at a new point is predicted by every term of a lattice of exponents that is finer than any
search space, and by every pair of terms of the search space. Part of the prior of single terms lies
on the search space, whose terms are the ones that algorithms have, the rest evenly on the lattice.
Where the values are a constant and noise, the interval is that of the constant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part
from hindmost.models.pmnf.predictive import LEAST_SHARE, KernelFits, cut, student_nodes
from hindmost.models.pmnf.search import DIGITS, LEAST_ANGLE
from hindmost.models.pmnf.space import FINE
from hindmost.models.pmnf.term import columns

SHARE_OF_SPACE = 0.4
"""Prior probability of the search space's terms, of all single terms."""
OF_CONSTANT, OF_PAIRS = 0.05, 1.0
"""Prior probability of the constant and of all pairs of terms, over that of all single terms."""
CHANCE = (3.6, 12.0)
"""a and b of a + b / (n - 2): by more than that, n log RSS falls in one case of ten when the best
term is added to n values that are a constant and noise. Where a constant was chosen and a term
makes less of a difference, only the constant predicts."""
NODES = (41, 7)
"""Most and fewest points of equal probability in place of a component's law."""
MOST_OUTCOMES = 16384
"""Points of all components together, beyond which each has fewer."""


def average_over_lattice(
    fits: KernelFits, at: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a new measurement lies with the given probability.

    Parameters
    ----------
    fits : KernelFits
    at : float64 array, shape (target, 1)
    level : float

    Returns
    -------
    low, high : float64 array, shape (kernel, target)
    """
    # All single terms, those of the search space first, and the logarithms of their prior shares.
    own, even = fits.space.exponents, FINE.exponents
    prior = np.log(
        np.repeat(
            [SHARE_OF_SPACE / len(own), (1.0 - SHARE_OF_SPACE) / len(even)], [len(own), len(even)]
        )
    )
    here, there = columns([*own, *even], fits.points[:, 0]), columns([*own, *even], at[:, 0])
    scale = np.abs(here).max(axis=1)
    scale[scale == 0.0] = 1.0
    kernels, count = fits.values.shape
    nodes = np.zeros((NODES[0] + 1, 3, NODES[0]))  # by how many there are, and terms used
    for many in range(NODES[1], NODES[0] + 1):
        for used in range(3):
            if count - used - 1 > 0:
                nodes[many, used, :many] = student_nodes(count - used - 1, many)
    intervals = np.empty((2, kernels, at.shape[0]))
    interval_loop(
        fits.values,
        fits.hypotheses.weights,
        fits.gamma,
        np.ascontiguousarray(here / scale[:, None]),
        np.ascontiguousarray(there / scale[:, None]),
        prior,
        len(own),
        fits.hypotheses.constant,
        nodes,
        level,
        intervals,
    )
    # The average over all terms may differ from the best one, which must lie in its interval.
    return np.minimum(intervals[0], fits.predicted), np.maximum(intervals[1], fits.predicted)


@declared(
    "(f8[:,::1], f8[:,::1], f8, f8[:,::1], f8[:,::1], f8[::1], i8, b1[::1], f8[:,:,::1], f8, "
    "f8[:,:,::1])",
    division="numpy",
)
def interval_loop(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    gamma: float,
    here: NDArray[np.float64],
    there: NDArray[np.float64],
    prior: NDArray[np.float64],
    of_space: int,
    constant: NDArray[np.bool_],
    nodes: NDArray[np.float64],
    level: float,
    intervals: NDArray[np.float64],
) -> None:
    """Fill the results of `average_over_lattice`, kernel by kernel.

    Components are the terms, then the constant, then every pair of terms of the search space.
    """
    many, targets = there.shape
    count = values.shape[1]
    pairs = of_space * (of_space - 1) // 2
    share = np.empty(many + 1 + pairs)  # log posterior probability, up to a constant
    error = np.empty(share.size)  # residual variance of a point of weight 1 in all
    middle = np.empty(many)
    slope = np.empty(many)
    length = np.empty(many)
    centred = np.empty((of_space, count))
    along = np.empty(of_space)
    target = np.empty(count)
    of_pair = np.zeros((pairs, 3))  # components along both columns, cosine between them
    pair = np.empty((pairs, 2), np.int64)
    kept = np.empty(share.size, np.int64)
    outcome = np.empty(max(MOST_OUTCOMES, share.size * NODES[1]))
    mass = np.empty(outcome.size)
    ends = np.empty(2)
    at = 0
    for q in range(1, of_space):
        for r in range(q):
            pair[at, 0], pair[at, 1] = q, r
            at += 1
    chance = CHANCE[0] + CHANCE[1] / max(count - 2, 1)
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        # The constant: the weighted mean, and what is left around it.
        mean = 0.0
        for a in range(count):
            mean += weight[a] * y[a]
        spread = 0.0
        for a in range(count):
            spread += weight[a] * ((y[a] - mean) * (y[a] - mean))
        tiny = DIGITS * (mean * mean + spread)
        size = 0.5 * np.log(mean * mean + spread)
        for c in range(share.size):
            share[c] = -np.inf
        share[many] = np.log(OF_CONSTANT) - 0.5 * (count - 1) * np.log(spread + tiny)
        error[many] = (spread + tiny) / (count - 1)
        # A constant and one term: marginal likelihood RSS^(-(n - 2) / 2) times the prior.
        least = spread
        for q in range(many):
            rss = fit_single(y, weight, here[q], mean, q, middle, slope, length)
            falls = here[q, 0] > here[q, count - 1]
            if (slope[q] > 0.0 or falls) and count > 2:
                share[q] = prior[q] - 0.5 * (count - 2) * np.log(rss + tiny) - size
                error[q] = (rss + tiny) / (count - 2)
                if q < of_space:
                    least = min(least, rss)
        if constant[k] and count * np.log((spread + tiny) / (least + tiny)) < chance:
            for q in range(many):
                share[q] = -np.inf
        elif count > 3:
            for a in range(count):
                target[a] = np.sqrt(weight[a]) * (y[a] - mean)
            fit_pairs(
                target,
                weight,
                here,
                middle,
                length,
                pair,
                centred,
                along,
                tiny,
                of_pair,
                share,
                error,
            )
            scale = np.log(OF_PAIRS / pairs) - 2.0 * size
            for c in range(many + 1, share.size):
                share[c] += scale
        # The components that matter.
        best = -np.inf
        for c in range(share.size):
            best = max(best, share[c])
        components = 0
        for c in range(share.size):
            if share[c] > best + np.log(LEAST_SHARE):
                kept[components] = c
                components += 1
        if components == 0:  # nothing but zeros
            for t in range(targets):
                intervals[0, k, t] = intervals[1, k, t] = mean
            continue
        # What a point of the noise model's variance f^(2 gamma) weighs.
        base = 0.0
        for a in range(count):
            base += weight[a] * np.abs(y[a]) ** (2.0 * gamma) / count
        each = min(max(MOST_OUTCOMES // components, NODES[1]), NODES[0])
        for t in range(targets):
            filled = 0
            for one in range(components):
                at = kept[one]
                # Its prediction, and the variance of that for residuals of variance 1.
                centre = mean
                more = 1.0
                used = 0
                if at < many:
                    used = 1
                    apart = there[at, t] - middle[at]
                    centre = mean + slope[at] * apart
                    more += apart * apart / length[at]
                elif at > many:
                    used = 2
                    q, r = pair[at - many - 1, 0], pair[at - many - 1, 1]
                    alike = of_pair[at - many - 1, 2]
                    u = (there[q, t] - middle[q]) / np.sqrt(length[q])
                    v = (there[r, t] - middle[r]) / np.sqrt(length[r])
                    centre = mean + of_pair[at - many - 1, 0] * u + of_pair[at - many - 1, 1] * v
                    more += (u * u + v * v - 2.0 * alike * u * v) / (1.0 - alike * alike)
                # Student's t about it, as points of equal probability.
                noise = np.abs(centre) ** (2.0 * gamma) / base
                deviation = np.sqrt(error[at] * (noise + more))
                for node in range(each):
                    outcome[filled] = centre + deviation * nodes[each, used, node]
                    mass[filled] = np.exp(share[at] - best)
                    filled += 1
            cut(outcome, mass, filled, level, ends)
            intervals[0, k, t], intervals[1, k, t] = ends[0], ends[1]


@part
def fit_pairs(
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    columns: NDArray[np.float64],
    middle: NDArray[np.float64],
    length: NDArray[np.float64],
    pair: NDArray[np.int64],
    centred: NDArray[np.float64],
    along: NDArray[np.float64],
    tiny: float,
    of_pair: NDArray[np.float64],
    share: NDArray[np.float64],
    error: NDArray[np.float64],
) -> None:
    """Fit a constant and two terms that are added, for every pair, after the single terms.

    Fills `of_pair` with the values' components along both columns of length 1 and the cosine
    between these, and the last entries of `share` and `error`: the marginal likelihood up to the
    prior's scale, and the residual variance. The coefficients of columns that are alike are little
    fixed by the values, so that many such pairs are left: that is the cosine's part.
    """
    count = target.size
    first = share.size - pair.shape[0]
    # Columns without their mean, times the root of the weights, of length 1.
    for q in range(along.size):
        along[q] = 0.0
        for a in range(count):
            centred[q, a] = 0.0
            if length[q] >= DIGITS:
                centred[q, a] = (
                    np.sqrt(weight[a]) * (columns[q, a] - middle[q]) / np.sqrt(length[q])
                )
            along[q] += centred[q, a] * target[a]
    for at in range(pair.shape[0]):
        q, r = pair[at, 0], pair[at, 1]
        alike = 0.0
        for a in range(count):
            alike += centred[q, a] * centred[r, a]
        apart = 1.0 - alike * alike
        if apart < LEAST_ANGLE:
            continue
        on_q = (along[q] - alike * along[r]) / apart
        on_r = (along[r] - alike * along[q]) / apart
        if on_q <= 0.0 or on_r <= 0.0:  # terms are added, not subtracted
            continue
        rss = 0.0
        for a in range(count):
            rest = target[a] - on_q * centred[q, a] - on_r * centred[r, a]
            rss += rest * rest
        of_pair[at, 0], of_pair[at, 1], of_pair[at, 2] = on_q, on_r, alike
        share[first + at] = -0.5 * (count - 3) * np.log(rss + tiny) - 0.5 * np.log(apart)
        error[first + at] = (rss + tiny) / (count - 3)


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
    if norm < DIGITS:  # where there is weight, the column does not vary: it says nothing
        return np.inf
    slope[q] = along / norm
    rss = 0.0
    for a in range(y.size):
        rest = y[a] - mean - slope[q] * (column[a] - centre)
        rss += weight[a] * (rest * rest)
    return rss
