"""The evidence for two behaviours: log likelihood ratios, one a split.

For a split after k points, S_k = n/2 log((R_1 + F) / (R_2 + F)): R_1 is the least residual of one
growth over all points, R_2 that of one growth on each side, F = n f^2 the noise that is taken for
granted, so that what no search space fits exactly is no evidence. Each split is judged at several
floors f.

Where the change lies is another question: of two splits that fit alike, the one is likelier whose
coefficients the points fix less sharply (the marginal likelihood of both sides, with flat priors).
Without that a growing side takes in a point too many, as its constant, which nothing else fixes,
fits the first one whatever it is.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.pmnf.search import MIN_ANGLE
from hindmost.models.pmnf.space import FINE, PAPER, columns, lattice

Array = NDArray[np.float64]

LEAST = 2
"""Points that a side has at least."""
SMOOTH = (24, 8)
"""Steps of the exponents of one growth over all points: so fine that over many decades nothing
smooth is far from all of them."""
KNEES, BEYOND = 48, 16.0
"""Bends of the curves that approach a bound, and how far outside the points they may lie."""
ROUNDING = 1e-9
"""Share of what a term explains, by which another must explain more."""
FLOORS = np.array([0.005, 0.05])
"""Noise that is taken for granted: shares of the value, or of the series' mean."""


def candidates(points: Array) -> tuple[Array, Array, Array]:
    """Return the growths that are compared at some points, each column of largest value 1.

    Returns
    -------
    fine : float64 array, shape (point, term)
        Of one growth on a side.
    smooth : float64 array, shape (point, column)
        Of one growth over all points: one of these.
    coarse : float64 array, shape (point, term)
        Or two of these.
    """
    return _candidates(np.asarray(points, np.float64).tobytes())


@lru_cache(maxsize=8)
def _candidates(of: bytes) -> tuple[Array, Array, Array]:
    points = np.frombuffer(of)
    # Terms of nearly any exponents, and 1 / (1 + p / k) for many k: of these, Amdahl's speedup and
    # efficiency are made, and rates that approach a bound, which no single term is near.
    knees = np.geomspace(points[0] / BEYOND, BEYOND * points[-1], KNEES)
    bent = 1.0 / (1.0 + points / knees[:, None])
    smooth = np.concatenate([columns(lattice(*SMOOTH), points), bent])
    return (
        unit(columns(FINE.exponents, points)),
        unit(smooth),
        unit(columns(PAPER.exponents, points)),
    )


def unit(values: Array) -> Array:
    """Scale each row to a largest value of 1, rows of 0 stay; and turn rows into columns."""
    largest = np.abs(values).max(axis=1, keepdims=True)
    return np.ascontiguousarray((values / np.where(largest > 0.0, largest, 1.0)).T)


def weighted(values: Array, shares: Array, gamma: float) -> tuple[Array, Array]:
    """Return series as shares of their mean size, and what each value weighs: (kernel, point).

    The noise's standard deviation grows like the value to gamma.
    """
    level = np.abs(values).mean(axis=1, keepdims=True)
    scaled = np.ascontiguousarray(values / np.where(level > 0.0, level, 1.0))
    with np.errstate(divide="ignore"):
        weights = np.ascontiguousarray(shares * np.abs(scaled) ** (-2.0 * gamma))
    return scaled, weights


def sides(
    values: Array, weights: Array, fine: Array, *, placed: bool
) -> tuple[Array, Array, Array]:
    """Fit one growth on each side of every split.

    Returns
    -------
    one : float64 array, shape (kernel,)
        The residual of one fine term over all points: R_1 is no larger.
    two : float64 array, shape (kernel, split)
        R_2.
    fixed : float64 array, shape (kernel, split)
        How sharply the points fix the coefficients of both sides: the logarithm of the
        determinants. Not valid unless `placed` asks for it.
    """
    kernels, points = values.shape
    least = np.empty((kernels, 2, points))
    precision = np.zeros((kernels, 2, points))
    side_residuals(values, weights, fine, placed, least, precision)
    first, last = slice(LEAST - 1, points - LEAST), slice(points - LEAST - 1, LEAST - 2, -1)
    two, fixed = (each[:, 0, first] + each[:, 1, last] for each in (least, precision))
    return least[:, 0, -1].copy(), two, fixed


def log_residuals(
    residuals: NDArray[np.float64], points: int, wider: NDArray[np.float64] | float = 1.0
) -> NDArray[np.float64]:
    """Return n/2 log(R + F), the last axis of the result; S_k is a difference of two.

    Parameters
    ----------
    residuals : float64 array, shape (kernel, ...)
    wider : float64 array, broadcast to `residuals`
    """
    granted = points * np.multiply.outer(wider, FLOORS) ** 2
    return np.asarray(0.5 * points * np.log(residuals[..., None] + granted))


def evidence(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    gamma: float,
    *,
    wider: NDArray[np.float64] | None = None,
    placed: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the evidence for a change after each point.

    One growth over all points is a constant with one term of nearly any exponents, added or
    subtracted, or with two of the paper's: what falls at first and grows later has one behaviour,
    as has what approaches a bound. On a side, it has one term of the fine space.

    Parameters
    ----------
    points : float64 array, shape (point,)
    values, shares : float64 array, shape (kernel, point)
    gamma : float
        The noise's standard deviation grows like the value to gamma.
    wider : float64 array, shape (kernel,), optional
        How many times the floors more is taken for granted: noise that is so many times as large
        then makes no more evidence.
    placed : bool
        Whether `place` is asked for; without, it is not valid.

    Returns
    -------
    ratio : float64 array, shape (kernel, split, floor)
        S_k: whether there is a change; the first split is after two points.
    place : float64 array, shape (kernel, split)
        Where it is, if there is one: log marginal likelihood, on average over the floors.
    """
    fine, smooth, coarse = candidates(points)
    scaled, weights = weighted(values, shares, gamma)
    one, two, fixed = sides(scaled, weights, fine, placed=placed)
    whole_residuals(scaled, weights, smooth, coarse, one)
    wider = np.ones(values.shape[0]) if wider is None else wider
    apart = log_residuals(two, points.size, wider[:, None])
    ratio = log_residuals(one, points.size, wider)[:, None] - apart
    return ratio, -apart.mean(axis=2) - 0.5 * fixed


def unexplained_variance(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    gamma: float,
) -> NDArray[np.float64]:
    """Return R_2 / n at the split where it is least: the variance that no two growths explain.

    Arguments as those of `evidence`.

    Returns
    -------
    float64 array, shape (kernel,)
        As a share of the values or of the series' mean, squared.
    """
    scaled, weights = weighted(values, shares, gamma)
    _, two, _ = sides(scaled, weights, candidates(points)[0], placed=False)
    return np.asarray(two.min(axis=1) / points.size)


@declared("(f8[:,::1], f8[:,::1], f8[:,::1], b1, f8[:,:,::1], f8[:,:,::1])", division="numpy")
def side_residuals(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    columns: NDArray[np.float64],
    placed: bool,
    least: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> None:
    """Fill the residuals of the first and of the last points of series.

    Parameters
    ----------
    values, weights : float64 array, shape (kernel, point)
    columns : float64 array, shape (point, term)
        Each term of largest value 1.
    placed : bool
        Whether `precision` is asked for.
    least : float64 array, shape (kernel, 2, point)
        Entry b becomes the residual of b + 1 points, the first ones and the last ones; of a
        constant and one term whose coefficient is not below 0.
    precision : float64 array, shape (kernel, 2, point)
        Entry b becomes how well these points fix the best fit's coefficients: the logarithm of the
        determinant of the weighted normal matrix, for columns of largest value 1 and coefficients
        in units of the largest value, both among these points.
    """
    kernels, points = values.shape
    terms = columns.shape[1]
    # Of each term, its weighted mean, its spread about that, and the sum of products with values.
    middle, tt, ty = np.empty(terms), np.empty(terms), np.empty(terms)
    for kernel in range(kernels):
        for side in range(2):
            for q in range(terms):
                middle[q] = tt[q] = ty[q] = 0.0
            total = mean = yy = most_y = 0.0
            for b in range(points):
                at = points - 1 - b if side else b
                weight, y = weights[kernel, at], values[kernel, at]
                total += weight
                share = weight / total
                gain = weight * (1.0 - share)
                off = y - mean
                mean += share * off
                yy += gain * off * off
                column = columns[at]
                for q in range(terms):
                    apart = column[q] - middle[q]
                    middle[q] += share * apart
                    tt[q] += gain * apart * apart
                    ty[q] += gain * apart * off
                # Of terms that differ by rounding, the first: two points fit all of them exactly.
                explained, best = 0.0, -1
                for q in range(terms):
                    if ty[q] > 0.0 and ty[q] * ty[q] > (1.0 + ROUNDING) * explained * tt[q]:
                        explained, best = ty[q] * ty[q] / tt[q], q
                least[kernel, side, b] = max(yy - explained, 0.0)
                if not placed:
                    continue
                most_y = max(most_y, abs(y))
                fixed = total * most_y**2
                if best >= 0:
                    most_t = 0.0
                    for a in range(b + 1):
                        most_t = max(most_t, abs(columns[points - 1 - a if side else a, best]))
                    fixed *= tt[best] * (most_y / most_t) ** 2
                precision[kernel, side, b] = np.log(max(fixed, 1e-300))


@declared("(f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1])", division="numpy")
def whole_residuals(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    single: NDArray[np.float64],
    coupled: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Lower residuals of whole series to those of a constant with one column, or with two.

    Parameters
    ----------
    values, weights : float64 array, shape (kernel, point)
    single : float64 array, shape (point, column)
        Each of largest value 1; one of them is added or subtracted.
    coupled : float64 array, shape (point, term)
        Each of largest value 1; two of them are added.
    least : float64 array, shape (kernel,)
    """
    points, terms = coupled.shape
    everything = np.concatenate((coupled, single), axis=1)
    count = everything.shape[1]
    middle, tt, ty = np.empty(count), np.empty(count), np.empty(count)
    centred, along = np.empty((terms, points)), np.empty(terms)
    for kernel in range(values.shape[0]):
        y, weight = values[kernel], weights[kernel]
        total = mean = spread = 0.0
        for a in range(points):
            total += weight[a]
            mean += weight[a] * y[a]
        mean /= total
        for q in range(count):
            middle[q] = tt[q] = ty[q] = 0.0
        for a in range(points):
            spread += weight[a] * ((y[a] - mean) * (y[a] - mean))
            share = weight[a] / total
            for q in range(count):
                middle[q] += share * everything[a, q]
        for a in range(points):
            off = weight[a] * (y[a] - mean)
            for q in range(count):
                apart = everything[a, q] - middle[q]
                tt[q] += weight[a] * apart * apart
                ty[q] += off * apart
        explained = 0.0
        for q in range(terms, count):
            if ty[q] * ty[q] > explained * tt[q]:
                explained = ty[q] * ty[q] / tt[q]
        # Columns without their mean, times the root of the weights, of length 1, so that their
        # product is the cosine between them; and the values' components along them.
        for q in range(terms):
            length = np.sqrt(tt[q]) if tt[q] > 0.0 else 1.0
            along[q] = ty[q] / length
            for a in range(points):
                centred[q, a] = np.sqrt(weight[a]) * (coupled[a, q] - middle[q]) / length
        for q in range(1, terms):
            for r in range(q):
                alike = 0.0
                for a in range(points):
                    alike += centred[q, a] * centred[r, a]
                apart = 1.0 - alike * alike
                on_q, on_r = along[q] - alike * along[r], along[r] - alike * along[q]
                both = on_q * along[q] + on_r * along[r]
                if apart >= MIN_ANGLE and on_q > 0.0 and on_r > 0.0 and both > explained * apart:
                    explained = both / apart
        least[kernel] = min(least[kernel], max(spread - explained, 0.0))
