"""Prediction intervals over several parameters: averages over hypotheses and what lies near them.

A new point is predicted by all hypotheses that the search kept, each weighted by its criterion, and
by functions whose exponents lie anywhere near those of the best hypotheses: their power and the
power of their logarithm, of each parameter, are drawn about the likeliest ones and weighted by how
probable the measured values make them (importance sampling). Half of the prior lies on the search
space, half evenly on powers from -3 to 3 and logarithms up to 2, as for one parameter.

At 4 times every parameter, 90 % intervals cover 82 to 94 % on grids (benchmarks/scaling_several.py
has the cases), and as little as 60 % on lines of three parameters with one point more, where
neither the terms nor how they combine are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.predictive import LEAST_SHARE, KernelFits, cut, student_nodes
from hindmost.models.pmnf.several.continuum import predict, wander
from hindmost.models.pmnf.several.hypothesis import NO_TERM, aim, fill_column
from hindmost.models.pmnf.several.search import coded
from hindmost.models.pmnf.space import tabulate

DRAWS = 128
"""Functions with other exponents about each of the best hypotheses."""
SHAPES = 3
"""Hypotheses of different shape that are surrounded by such draws."""
NODES = (21, 5)
"""Points of equal probability in place of the law of a hypothesis, and of a drawn function."""


def average_over_hypotheses(
    fits: KernelFits, at: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a new measurement lies with the given probability.

    Parameters
    ----------
    fits : KernelFits
    at : float64 array, shape (target, parameter)
    level : float

    Returns
    -------
    low, high : float64 array, shape (kernel, target)
    """
    count = fits.points.shape[0]
    places = np.concatenate([fits.points, at])
    axes = tabulate(fits.space, places)
    scale = np.abs(axes[:, :, :count]).max(axis=2, keepdims=True)
    scale[scale == 0.0] = 1.0
    nodes = np.zeros((2, MOST_PRODUCTS + 1, NODES[0]))
    for row, many in zip(nodes, NODES, strict=True):
        for used in range(MOST_PRODUCTS + 1):
            if count - used - 1 > 0:
                row[used, :many] = student_nodes(count - used - 1, many)
    # The same draws for every kernel: intervals of equal data are equal.
    draws = np.random.default_rng(0).standard_normal(
        (DRAWS // 2, 2 * MOST_PRODUCTS * fits.points.shape[1])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        natural = np.log(places.T)
        of_logarithm = np.where(natural > 0.0, np.log(natural / np.log(2.0)), 0.0)
    powers = np.array([(0.0, 0.0), *((float(i), float(j)) for i, j in fits.space.exponents)])
    intervals = np.empty((2, fits.values.shape[0], at.shape[0]))
    interval_loop(
        fits.values,
        fits.hypotheses.weights,
        fits.gamma,
        np.ascontiguousarray(axes / scale),
        np.ascontiguousarray(np.stack([natural, of_logarithm], axis=1)),
        powers,
        np.ascontiguousarray(coded(fits.hypotheses.terms, axes.shape[1])),
        np.ascontiguousarray(fits.hypotheses.coefficients[:, :, 0] != 0.0),
        np.ascontiguousarray(fits.hypotheses.criterion),
        np.concatenate([draws, -draws]),
        nodes,
        level,
        intervals,
    )
    return intervals[0], intervals[1]


@declared(
    "(f8[:,::1], f8[:,::1], f8, f8[:,:,::1], f8[:,:,::1], f8[:,::1], i8[:,:,::1], b1[:,::1], "
    "f8[:,::1], f8[:,::1], f8[:,:,::1], f8, f8[:,:,::1])",
    division="numpy",
)
def interval_loop(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    gamma: float,
    axes: NDArray[np.float64],
    logarithms: NDArray[np.float64],
    powers: NDArray[np.float64],
    terms: NDArray[np.int64],
    constants: NDArray[np.bool_],
    criterion: NDArray[np.float64],
    draws: NDArray[np.float64],
    nodes: NDArray[np.float64],
    level: float,
    intervals: NDArray[np.float64],
) -> None:
    """Fill the intervals of `average_over_hypotheses`, kernel by kernel.

    Axes and logarithms hold the measured points first, the targets behind them.
    """
    count = values.shape[1]
    targets = axes.shape[2] - count
    hypotheses = terms.shape[1]
    most = hypotheses + SHAPES * draws.shape[0]
    share = np.empty(most)
    used = np.empty(most, np.int64)
    kind = np.zeros(most, np.int64)
    error = np.empty(most)
    centre = np.empty((most, targets))
    lever = np.empty((most, targets))
    mixture = (share, used, kind, error, centre, lever)
    columns = np.empty((MOST_PRODUCTS, count + targets))
    outcome = np.empty(most * NODES[0])
    mass = np.empty(most * NODES[0])
    ends = np.empty(2)
    weight = np.empty(count)
    shapes = np.empty(SHAPES, np.int64)
    for k in range(values.shape[0]):
        y = values[k]
        for a in range(count):
            weight[a] = weights[k, a]
        target = aim(y, weight, np.zeros(axes.shape[1], np.bool_))
        filled = 0
        seen = 0
        for h in range(hypotheses):
            if criterion[k, h] == np.inf:
                break
            # A hypothesis: its share by its criterion, its prediction by least squares.
            many = 0
            for one in range(MOST_PRODUCTS):
                if terms[k, h, one] != NO_TERM:
                    fill_column(terms[k, h, one], axes, columns[many])
                    many += 1
            own_constant = constants[k, h]
            rss, _ = predict(columns, many, target, own_constant, centre[filled], lever[filled])
            free = count - many - 1
            share[filled] = -0.5 * (criterion[k, h] - criterion[k, 0])
            if rss == np.inf or free <= 0 or share[filled] < np.log(LEAST_SHARE):
                continue
            error[filled] = (rss + target[4]) / free
            used[filled] = many
            kind[filled] = 0
            own = filled
            filled += 1
            # Draws about the first hypothesis of each shape.
            shape = shape_of(terms[k, h], axes.shape[0], axes.shape[1])
            fresh = many > 0 and seen < SHAPES
            for one in range(seen):
                fresh = fresh and shapes[one] != shape
            if fresh:
                shapes[seen] = shape
                seen += 1
                filled = wander(
                    terms[k, h],
                    axes,
                    logarithms,
                    powers,
                    target,
                    own_constant,
                    draws,
                    mixture,
                    own,
                    filled,
                )
        # What a point of the noise model's variance f^(2 gamma) weighs.
        base = 0.0
        for a in range(count):
            base += target[0][a] * np.abs(y[a]) ** (2.0 * gamma) / count
        best = share[0]
        for c in range(filled):
            best = max(best, share[c])
        for t in range(targets):
            size = 0
            for c in range(filled):
                if share[c] < best + np.log(LEAST_SHARE):
                    continue
                noise = np.abs(centre[c, t]) ** (2.0 * gamma) / base
                deviation = np.sqrt(error[c] * (noise + lever[c, t]))
                # Student's t about its prediction, as points of equal probability.
                each = NODES[kind[c]]
                for node in range(each):
                    outcome[size] = centre[c, t] + deviation * nodes[kind[c], used[c], node]
                    mass[size] = np.exp(share[c] - best) / each
                    size += 1
            cut(outcome, mass, size, level, ends)
            intervals[0, k, t], intervals[1, k, t] = ends[0], ends[1]


@part
def shape_of(terms: NDArray[np.int64], parameters: int, base: int) -> int:
    """Return a number that hypotheses share whose terms have the same parameters."""
    masks = np.zeros(MOST_PRODUCTS, np.int64)
    for one in range(MOST_PRODUCTS):
        for axis in range(parameters):
            if (terms[one] // base**axis) % base:
                masks[one] += 1 << axis
    masks.sort()
    shape = 0
    for mask in masks:
        shape = (shape << parameters) + mask
    return shape
