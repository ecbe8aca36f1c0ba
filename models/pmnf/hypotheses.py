"""What a search finds: the best hypotheses of each kernel, over one or several parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypotheses:
    """The best hypotheses of each kernel, best first.

    Attributes
    ----------
    terms : int16 array, shape (kernel, hypothesis, term, parameter)
        0 where a parameter does not occur in a term, else 1 plus the number of its exponents in
        the search space. Where no parameter occurs there is no such term.
    coefficients : float64 array, shape (kernel, hypothesis, 1 + term)
        Of the constant and of the terms, in the metric's unit; 0 where there is no such term.
    criterion : float64 array, shape (kernel, hypothesis)
        The less the better; infinite where there is no such hypothesis.
    weights : float64 array, shape (kernel, point)
        Of the final fit; their sum is 1, and 0 stands where there is no measurement.
    """

    terms: NDArray[np.int16]
    coefficients: NDArray[np.float64]
    criterion: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.terms.shape[0])

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Whether the best hypothesis of each kernel is a constant: shape (kernel,)."""
        return np.asarray(~self.terms[:, 0].any(axis=(1, 2)))

    def rows(self, kernels: slice | NDArray[np.intp]) -> Hypotheses:
        """Return those of some kernels."""
        return Hypotheses(
            terms=self.terms[kernels],
            coefficients=self.coefficients[kernels],
            criterion=self.criterion[kernels],
            weights=self.weights[kernels],
        )


Search = Callable[[NDArray[np.bool_], NDArray[np.intp]], Hypotheses]
"""Of the points that some kernels have, shape (point,), and the kernels' numbers."""


def search_by_pattern(values: NDArray[np.float64], search: Search) -> Hypotheses:
    """Search for kernels that have the same points together, and join what is found.

    Parameters
    ----------
    values : float64 array, shape (kernel, point)
        NaN where there is no measurement.
    search : callable
        Finds the hypotheses of some kernels from the points that they have.
    """
    groups = [(there, kernels, search(there, kernels)) for there, kernels in patterns(values)]
    if len(groups) == 1 and groups[0][0].all():
        return groups[0][2]
    first, count = groups[0][2], values.shape[0]
    joined = Hypotheses(
        terms=np.zeros((count, *first.terms.shape[1:]), np.int16),
        coefficients=np.zeros((count, *first.coefficients.shape[1:])),
        criterion=np.full((count, *first.criterion.shape[1:]), np.inf),
        weights=np.zeros(values.shape),
    )
    for there, kernels, found in groups:
        joined.terms[kernels] = found.terms
        joined.coefficients[kernels] = found.coefficients
        joined.criterion[kernels] = found.criterion
        joined.weights[np.ix_(kernels, np.flatnonzero(there))] = found.weights
    return joined


def patterns(values: NDArray[np.float64]) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group kernels by the points that they have.

    Parameters
    ----------
    values : float64 array, shape (kernel, point)
        NaN where there is no measurement.

    Returns
    -------
    list of (bool array of shape (point,), int array of shape (kernel,))
    """
    there = np.isfinite(values)
    if there.all():
        return [(np.ones(values.shape[1], bool), np.arange(values.shape[0]))]
    kinds, which = np.unique(there, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    borders = np.searchsorted(which.ravel()[order], np.arange(kinds.shape[0] + 1))
    return [(kind, order[a:b]) for kind, (a, b) in zip(kinds, pairwise(borders), strict=True)]
