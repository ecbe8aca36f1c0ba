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
from hindmost.models.pmnf.residuals import first_residuals, pair_residual, single_residual
from hindmost.models.pmnf.space import FINE, PAPER, lattice
from hindmost.models.pmnf.term import columns

LEAST = 2
"""Points that a side has at least."""
SMOOTH = (24, 8)
"""Steps of the exponents of one growth over all points: so fine that over many decades nothing
smooth is far from all of them."""
KNEES, BEYOND = 48, 16.0
"""Bends of the curves that approach a bound, and how far outside the points they may lie."""
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
    """

    ratio: NDArray[np.float64]
    place: NDArray[np.float64]


def evidence(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    gamma: float,
    *,
    wider: float = 1.0,
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
    wider : float
        How many times the floors more is taken for granted: noise that is so many times as large
        then makes no more evidence.
    """
    level = np.abs(values).mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        weights = shares * np.abs(values) ** (-2.0 * gamma) * level ** (2.0 * gamma - 2.0)
    ratio = np.empty((values.shape[0], points.size - 2 * LEAST + 1, FLOORS.size))
    place = np.zeros(ratio.shape[:2])
    fine = unit(columns(FINE.exponents, points))
    evidence_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(weights, requirements=["C", "W"]),
        np.ascontiguousarray(fine.T),
        np.ascontiguousarray(fine[:, ::-1].T),
        np.ascontiguousarray(smooth_columns(points).T),
        unit(columns(PAPER.exponents, points)),
        FLOORS * wider,
        ratio,
        place,
    )
    return Evidence(ratio=ratio, place=place)


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
    "(f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,:,::1], "
    "f8[:,::1])",
    division="numpy",
)
def evidence_loop(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    fine: NDArray[np.float64],
    backward: NDArray[np.float64],
    smooth: NDArray[np.float64],
    coarse: NDArray[np.float64],
    floors: NDArray[np.float64],
    ratio: NDArray[np.float64],
    place: NDArray[np.float64],
) -> None:
    """Fill the results of `evidence`, kernel by kernel."""
    points = values.shape[1]
    before, fixed_before = np.empty(points), np.empty(points)
    after, fixed_after = np.empty(points), np.empty(points)
    reversed_y, reversed_weight = np.empty(points), np.empty(points)
    centred = np.empty(coarse.shape)
    along = np.empty(coarse.shape[0])
    sums = np.empty((3, max(fine.shape[1], smooth.shape[1])))
    for k in range(values.shape[0]):
        for a in range(points):
            reversed_y[a] = values[k, points - 1 - a]
            reversed_weight[a] = weights[k, points - 1 - a]
        # R_2: the first points of the series, and its last ones.
        first_residuals(values[k], weights[k], fine, sums, before, fixed_before)
        first_residuals(reversed_y, reversed_weight, backward, sums, after, fixed_after)
        # R_1: the best of all single growths over the whole series.
        one = pair_residual(values[k], weights[k], coarse, centred, along)
        one = min(one, single_residual(values[k], weights[k], smooth, sums), before[points - 1])
        for split in range(ratio.shape[1]):
            first = split + LEAST
            # S_k at each floor, and the marginal likelihood of a change here.
            two = before[first - 1] + after[points - first - 1]
            for at in range(floors.size):
                granted = points * floors[at] ** 2
                ratio[k, split, at] = 0.5 * points * np.log((one + granted) / (two + granted))
                place[k, split] -= 0.5 * points * np.log(two + granted) / floors.size
            place[k, split] -= 0.5 * (fixed_before[first - 1] + fixed_after[points - first - 1])
