"""Search over sums of products, for many kernels at once: the compiled loop.

For each parameter a few terms are chosen along its lines. All products of them, at most one a
parameter, are held against each other: alone, in pairs, and the best pairs with a third. Then each
exponent of the best ones is exchanged for every other one of the search space, as long as that
helps. Weights are found as for one parameter: from the values first, then from the best model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled, part
from hindmost.models.pmnf.several.axis import choose
from hindmost.models.pmnf.several.combine import combine
from hindmost.models.pmnf.several.exchange import exchange
from hindmost.models.pmnf.several.hypothesis import KEPT, NO_TERM, Best, aim, fill_column
from hindmost.models.pmnf.several.price import MOST_TERMS

CHOSEN = (None, None, 6, 4, 3)
"""Terms a parameter that stay in the race, by how many parameters there are; None: all."""
FIRST = (None, None, 3, 2, 1)
"""The same where only the weights are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best hypotheses of each kernel, best first.

    Attributes
    ----------
    terms : int64 array, shape (kernel, hypothesis, 4)
        Numbers of terms as in `hypothesis`; 0 for none.
    coefficients : float64 array, shape (kernel, hypothesis, 5)
        Of the constant and of the terms; 0 where there is no term.
    criterion : float64 array, shape (kernel, hypothesis)
        The less the better; infinite where there is no such hypothesis.
    weights : float64 array, shape (kernel, point)
        The final ones, of sum 1.
    """

    terms: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    criterion: NDArray[np.float64]
    weights: NDArray[np.float64]


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    *,
    gamma: float,
    penalties: NDArray[np.float64],
) -> Found:
    """Find the best hypotheses of a constant and up to four products.

    Parameters
    ----------
    values, shares : float64 array, shape (kernel, point)
        As in the search over one parameter.
    axes : float64 array, shape (parameter, 1 + exponents, point)
        Of each parameter all terms at the points, after a row of ones.
    line : int32 array, shape (parameter, point)
        From `design.lines`.
    start : int64 array, shape (exponents,)
        Numbers of terms, the typical ones first, for parameters without lines.
    gamma : float
    penalties : float64 array
        From `price.penalties`.
    """
    kernels, points = values.shape
    many, base = axes.shape[:2]
    scale = np.abs(axes).max(axis=2)
    scale[scale == 0.0] = 1.0
    kept = CHOSEN[many] or base - 1
    first = penalties.copy()
    if many == 1:
        first[2:] = np.inf  # weights are those of the search over one parameter
    result = Found(
        terms=np.full((kernels, KEPT, MOST_TERMS), NO_TERM, np.int64),
        coefficients=np.zeros((kernels, KEPT, MOST_TERMS + 1)),
        criterion=np.full((kernels, KEPT), np.inf),
        weights=np.empty((kernels, points)),
    )
    compiled(search_loop)(
        np.ascontiguousarray(values),
        np.ascontiguousarray(shares),
        np.ascontiguousarray(axes / scale[..., None]),
        line,
        start[:kept],
        FIRST[many] or base - 1,
        gamma,
        np.stack([first, penalties]),
        result.terms,
        result.coefficients,
        result.criterion,
        result.weights,
    )
    numbers = digits(result.terms, base, many)
    for axis in range(many):
        result.coefficients[..., 1:] /= scale[axis][numbers[..., axis]]
    return result


def digits(terms: NDArray[np.int64], base: int, parameters: int) -> NDArray[np.int64]:
    """Return the exponents' numbers of terms, shape (..., parameter)."""
    return np.asarray(terms[..., None] // base ** np.arange(parameters) % base)


def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    few: int,
    gamma: float,
    tables: NDArray[np.float64],
    terms: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel."""
    many, _, points = axes.shape
    chosen = np.empty((many, start.size), np.int64)
    rough = np.empty((many, few), np.int64)
    column = np.empty(points)
    for k in range(values.shape[0]):
        y, best = values[k], (terms[k], coefficients[k], criterion[k])
        weight = shares[k] * np.abs(y) ** (-2.0 * gamma)
        if gamma != 0.0:
            begin(y, weight, axes, line, start, rough, tables[0], best, False)
            fitted = np.full(points, coefficients[k, 0, 0])
            for one in range(MOST_TERMS):
                if terms[k, 0, one] != NO_TERM:
                    fill_column(terms[k, 0, one], axes, column)
                    fitted += coefficients[k, 0, one + 1] * column
            fitted = np.maximum(fitted, 0.5 * np.abs(y).min())
            weight = shares[k] * fitted ** (-2.0 * gamma)
        begin(y, weight, axes, line, start, chosen, tables[1], best, True)
        weights[k] = weight / weight.sum()


@part
def begin(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
    table: NDArray[np.float64],
    best: Best,
    thorough: bool,
) -> None:
    """Search with given weights, from an empty list of the best."""
    best[0][:] = NO_TERM
    best[1][:] = 0.0
    best[2][:] = np.inf
    target = aim(y, weight)
    for axis in range(axes.shape[0]):
        choose(y, target[0], axes[axis], line[axis], start, chosen[axis], thorough)
    combine(axes, chosen, table, target, best, thorough)
    if thorough:
        exchange(axes, table, target, best)
