"""The kind of noise of an experiment over several parameters, from all its kernels together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.noise import LEAST_POOLED, Noise, NoiseKind, likeliest
from hindmost.models.pmnf.several.design import lines
from hindmost.models.pmnf.several.price import penalties
from hindmost.models.pmnf.several.search import search
from hindmost.models.pmnf.several.tables import starts, tabulate
from hindmost.models.pmnf.space import PAPER

MOST_ASKED = 40
"""Kernels whose residuals are looked at; of a grid, each has many."""


def from_kernels(
    points: NDArray[np.float64], values: NDArray[np.float64], shares: NDArray[np.float64]
) -> Noise | None:
    """Tell the kind of noise from the residuals of each kernel's best model under each kind.

    Parameters
    ----------
    points : float64 array, shape (point, parameter)
    values, shares : float64 array, shape (kernel, point)

    Returns
    -------
    Noise or None
        None where the kernels are fewer than 20, or leave it open.
    """
    if values.shape[0] < LEAST_POOLED:
        return None
    if not (values > 0.0).all():
        return Noise(kind=NoiseKind.ADDITIVE, known=True, source="values that are not above 0")
    some = np.linspace(0, values.shape[0] - 1, min(values.shape[0], MOST_ASKED)).astype(int)
    count, many = points.shape
    price = penalties(count, len(PAPER.exponents), many)
    likelihood = []
    for kind in NoiseKind:
        found = search(
            values[some],
            shares[some],
            tabulate(PAPER, points),
            lines(points),
            starts(PAPER),
            gamma=kind.gamma,
            penalties=price,
        )
        likelihood.append(-0.5 * found.criterion[:, 0] + 0.5 * np.log(found.weights).sum(axis=1))
    return likeliest(np.array(likelihood))
