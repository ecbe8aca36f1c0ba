"""Predictive distributions of many kernels: mixtures of Student's t, and intervals cut from them.

A kernel's exponents are not known, so a new measurement is predicted by many functions, each
weighted by how probable the measured values make it (Bayesian model averaging; Hoeting, Madigan,
Raftery and Volinsky 1999). Given its terms, a function predicts with Student's t about its weighted
least-squares fit. Which functions are averaged, `lattice` says for one parameter and
`several.averaging` for several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from hindmost.models.compiled import part
from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.space import SearchSpace
from hindmost.models.sorting import sort_with

LEAST_SHARE = 1e-4
"""Components of less weight than this share of the best one are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFits:
    """What predictions of many kernels need; all kernels have all points.

    Attributes
    ----------
    points : float64 array, shape (point, parameter)
    values : float64 array, shape (kernel, point)
    hypotheses : Hypotheses
    gamma : float
        The noise's standard deviation grows like the value to gamma.
    space : SearchSpace
    predicted : float64 array, shape (kernel, target)
        By the best hypothesis.
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    hypotheses: Hypotheses
    gamma: float
    space: SearchSpace
    predicted: NDArray[np.float64]


Average = Callable[
    [KernelFits, NDArray[np.float64], float], tuple[NDArray[np.float64], NDArray[np.float64]]
]
"""Of fits, targets of shape (target, parameter) and a level: low and high, (kernel, target)."""


def student_nodes(freedom: int, count: int) -> NDArray[np.float64]:
    """Return points of equal probability in place of Student's t, ascending: shape (count,)."""
    return np.asarray(stdtrit(freedom, (np.arange(count) + 0.5) / count))


@part
def cut(
    outcome: NDArray[np.float64],
    mass: NDArray[np.float64],
    size: int,
    level: float,
    ends: NDArray[np.float64],
) -> None:
    """Write the interval of a discrete distribution: its quantiles (1 -+ level) / 2.

    Parameters
    ----------
    outcome, mass : float64 array, shape (at least size,)
        Values and their probabilities, up to a common factor; sorted in place.
    level : float
    ends : float64 array, shape (2,)
        Result.
    """
    sort_with(outcome, mass, size)
    whole = 0.0
    for at in range(size):
        whole += mass[at]
    # The first outcome up to which there is enough probability; the last one in any case.
    for side in range(2):
        wanted = 0.5 * (1.0 + (2 * side - 1) * level)
        found = 0
        below = mass[0]
        while found < size - 1 and below / whole < wanted:
            found += 1
            below += mass[found]
        ends[side] = outcome[found]
