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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared
from hindmost.models.pmnf.residuals import (
    OF_FOURS,
    OF_POINTS,
    OF_SERIES,
    first_residuals,
    fours,
    pair_residuals,
    single_residuals,
)
from hindmost.models.pmnf.space import FINE, PAPER, lattice
from hindmost.models.pmnf.term import columns

LEAST = 2
"""Points that a side has at least."""
SMOOTH = (24, 8)
"""Steps of the exponents of one growth over all points: so fine that over many decades nothing
smooth is far from all of them."""
KNEES, BEYOND = 48, 16.0
"""Bends of the curves that approach a bound, and how far outside the points they may lie."""
BLOCK = 64
"""Series that the compiled loop treats side by side."""
FLOORS = np.array([0.005, 0.05])
"""Noise that is taken for granted: shares of the value, or of the series' mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for a change at each split; the first is after two points.

    Attributes
    ----------
    ratio : float64 array, shape (kernel, split, floor)
        S_k: whether there is a change.
    place : float64 array, shape (kernel, split)
        Where it is, if there is one: log marginal likelihood, on average over the floors.
    rest : float64 array, shape (kernel,)
        R_2 / n at the split where it is least: the variance that no two growths explain, as a
        share of the values or of the series' mean.
    """

    ratio: NDArray[np.float64]
    place: NDArray[np.float64]
    rest: NDArray[np.float64]


def evidence(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    gamma: float,
    *,
    wider: NDArray[np.float64] | None = None,
    placed: bool = True,
) -> Evidence:
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
        Whether `Evidence.place` is asked for; without, it is not valid.
    """
    level = np.abs(values).mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        weights = shares * np.abs(values) ** (-2.0 * gamma) * level ** (2.0 * gamma - 2.0)
    ratio = np.empty((values.shape[0], points.size - 2 * LEAST + 1, FLOORS.size))
    place = np.zeros(ratio.shape[:2])
    rest = np.empty(values.shape[0])
    fine = unit(columns(FINE.exponents, points))
    evidence_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(weights, requirements=["C", "W"]),
        fine,
        fours(smooth_columns(points)),
        unit(columns(PAPER.exponents, points)),
        FLOORS,
        np.ones(values.shape[0]) if wider is None else wider,
        placed,
        ratio,
        place,
        rest,
    )
    return Evidence(ratio=ratio, place=place, rest=rest)


def smooth_columns(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what one growth over all points may be made of, shape (column, point).

    Terms of nearly any exponents, and 1 / (1 + p / k) for many k: of these, Amdahl's speedup and
    efficiency are made, and rates that approach a bound, which no single term is near.
    """
    knees = np.geomspace(points[0] / BEYOND, BEYOND * points[-1], KNEES)
    return unit(
        np.concatenate([columns(lattice(*SMOOTH), points), 1.0 / (1.0 + points / knees[:, None])])
    )


def unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each row to a largest value of 1; rows of 0 stay."""
    largest = np.abs(values).max(axis=1, keepdims=True)
    return np.ascontiguousarray(values / np.where(largest > 0.0, largest, 1.0))


@declared(
    "(f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], b1, "
    "f8[:,:,::1], f8[:,::1], f8[::1])",
    division="numpy",
)
def evidence_loop(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    fine: NDArray[np.float64],
    smooth: NDArray[np.float64],
    coarse: NDArray[np.float64],
    floors: NDArray[np.float64],
    wider: NDArray[np.float64],
    placed: bool,
    ratio: NDArray[np.float64],
    place: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> None:
    """Fill the results of `evidence`, a block of kernels after the other."""
    kernels, points = values.shape
    block = max(min(BLOCK, kernels), 1)
    y, weight = np.empty((points, block)), np.empty((points, block))
    before, fixed_before = np.empty((points, block)), np.empty((points, block))
    after, fixed_after = np.empty((points, block)), np.empty((points, block))
    of_points, of_series = np.empty((OF_POINTS, points, block)), np.empty((OF_SERIES, block))
    of_fours = np.zeros((OF_FOURS, smooth.shape[1], block))
    centred = np.empty((coarse.shape[0], points, block))
    along = np.empty((coarse.shape[0], block))
    backward = np.ascontiguousarray(fine[:, ::-1])
    one = np.empty(block)
    for begin in range(0, kernels, block):
        # R_2: the first points of the series, and its last ones. Series that miss in the last
        # block are the last one.
        for s in range(block):
            k = min(begin + s, kernels - 1)
            for a in range(points):
                y[a, s] = values[k, points - 1 - a]
                weight[a, s] = weights[k, points - 1 - a]
        first_residuals(y, weight, backward, of_points, of_series, placed, after, fixed_after)
        for s in range(block):
            k = min(begin + s, kernels - 1)
            for a in range(points):
                y[a, s] = values[k, a]
                weight[a, s] = weights[k, a]
        first_residuals(y, weight, fine, of_points, of_series, placed, before, fixed_before)
        # R_1: the best of all single growths over the whole series.
        one[:] = before[points - 1]
        pair_residuals(y, weight, coarse, centred, along, of_points, of_series, one)
        single_residuals(y, weight, smooth, of_fours, of_series, one)
        for s in range(min(block, kernels - begin)):
            k = begin + s
            least = np.inf
            for split in range(ratio.shape[1]):
                first = split + LEAST
                # S_k at each floor, and the marginal likelihood of a change here.
                two = before[first - 1, s] + after[points - first - 1, s]
                least = min(least, two)
                for at in range(floors.size):
                    granted = points * (floors[at] * wider[k]) ** 2
                    apart = 0.5 * points * np.log(two + granted)
                    ratio[k, split, at] = 0.5 * points * np.log(one[s] + granted) - apart
                    place[k, split] -= apart / floors.size
                if placed:
                    fixed = fixed_before[first - 1, s] + fixed_after[points - first - 1, s]
                    place[k, split] -= 0.5 * fixed
            rest[k] = least / points
