"""How likely a kind of noise is, by models over several parameters: the restricted likelihood.

It is the likelihood of n - k numbers that do not depend on the k coefficients of a model (Patterson
and Thompson 1971). On lines, some points fix a coefficient alone and have no residual. The plain
likelihood counts these as values that were predicted exactly, and so takes to a kind of noise under
which they weigh much; here their weights cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.several.averaging import design
from hindmost.models.pmnf.space import SearchSpace, tabulate


def restricted_likelihood(
    found: Hypotheses,
    values: NDArray[np.float64],
    points: NDArray[np.float64],
    space: SearchSpace,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how likely the best model of each kernel is, and what it leaves.

    Parameters
    ----------
    found : Hypotheses
    values : float64 array, shape (kernel, point)
    points : float64 array, shape (point, parameter)
    space : SearchSpace
        That of the hypotheses.

    Returns
    -------
    likelihood : float64 array, shape (kernel,)
        Its logarithm, up to what all kinds of noise have in common.
    left : float64 array, shape (kernel,)
        Root mean square of the residuals over that of the values, both weighted.
    """
    terms, weights = found.terms[:, 0], found.weights
    there = np.concatenate([found.coefficients[:, 0, :1] != 0.0, terms.any(axis=2)], axis=1)
    columns, lacking = design(terms, there, tabulate(space, points), len(points))
    root = np.sqrt(weights)
    basis, weighted = np.linalg.qr(np.concatenate([root[:, :, None] * columns, lacking], axis=1))
    plain = np.linalg.qr(np.concatenate([columns, lacking], axis=1), mode="r")
    target, basis = root * values, basis[:, : len(points)]
    rest = target - np.einsum("kpc,kc->kp", basis, np.einsum("kpc,kp->kc", basis, target))
    rss = (rest**2).sum(axis=1)
    free = np.maximum(len(points) - there.sum(axis=1), 1)
    # With columns X and weights W, log |X^T X| - log |X^T W X| over 2.
    diagonals = np.abs(np.diagonal(np.stack([plain, weighted]), axis1=2, axis2=3))
    of_plain, of_weighted = np.log(diagonals).sum(axis=2)
    # Models of more coefficients explain fewer numbers: the others have the size of the values.
    size = np.log((values**2).mean(axis=1))
    with np.errstate(divide="ignore"):
        fit = free * np.log(rss) + (len(points) - free) * size
    likelihood = 0.5 * (np.log(weights).sum(axis=1) - fit) + of_plain - of_weighted
    return likelihood, np.sqrt(rss / (target**2).sum(axis=1))
