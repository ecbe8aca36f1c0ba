"""Search over sums of products, for many kernels at once: the compiled loop.

For each parameter a few terms are chosen along its lines. All products of them, at most one a
parameter, are held against each other: alone, in pairs, and the best pairs with a third. Then each
exponent of the best ones is exchanged for every other one of the search space, as long as that
helps. Weights are found as for one parameter: from the values first, then from the best model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import declared, part
from hindmost.models.pmnf.criterion import MOST_PRODUCTS
from hindmost.models.pmnf.hypotheses import Hypotheses
from hindmost.models.pmnf.several.axis import choose
from hindmost.models.pmnf.several.combine import combine
from hindmost.models.pmnf.several.exchange import exchange
from hindmost.models.pmnf.several.hypothesis import KEPT, NO_TERM, Best, aim, fill_column

CHOSEN = (None, None, 6, 4, 3)
"""Terms a parameter that stay in the race, by how many parameters there are; None: all."""
FIRST = (None, None, 3, 2, 1)
"""The same where only the weights are looked for."""


def search(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    *,
    gamma: float,
    penalties: NDArray[np.float64],
    falls: NDArray[np.bool_],
) -> Hypotheses:
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
    falls : bool array, shape (1 + exponents,)
        Which terms fall; with them, functions of values above 0 have no constant below it.
    """
    kernels, points = values.shape
    many, base = axes.shape[:2]
    scale = np.abs(axes).max(axis=2)
    scale[scale == 0.0] = 1.0
    kept = CHOSEN[many] or base - 1
    first = penalties.copy()
    if many == 1:
        first[2:] = np.inf  # weights are those of the search over one parameter
    terms = np.empty((kernels, KEPT, MOST_PRODUCTS), np.int64)
    coefficients = np.empty((kernels, KEPT, MOST_PRODUCTS + 1))
    criterion = np.empty((kernels, KEPT))
    weights = np.empty((kernels, points))
    search_loop(
        np.require(values, requirements=["C", "W"]),
        np.require(shares, requirements=["C", "W"]),
        np.ascontiguousarray(axes / scale[..., None]),
        np.ascontiguousarray((axes / scale[..., None]).transpose(0, 2, 1)),
        line,
        start[:kept],
        FIRST[many] or base - 1,
        gamma,
        np.stack([first, penalties]),
        falls,
        terms,
        coefficients,
        criterion,
        weights,
    )
    numbers = digits(terms, base, many)
    for axis in range(many):
        coefficients[..., 1:] /= scale[axis][numbers[..., axis]]
    return Hypotheses(
        terms=numbers.astype(np.int16),
        coefficients=coefficients,
        criterion=criterion,
        weights=weights,
    )


def digits(terms: NDArray[np.int64], base: int, parameters: int) -> NDArray[np.int64]:
    """Return the exponents' numbers of coded terms, shape (..., parameter)."""
    return np.asarray(terms[..., None] // base ** np.arange(parameters) % base)


@declared(
    "(f8[:,::1], f8[:,::1], f8[:,:,::1], f8[:,:,::1], i4[:,::1], i8[::1], i8, f8, f8[:,:,:,::1], "
    "b1[::1], i8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1])",
    division="numpy",
)
def search_loop(
    values: NDArray[np.float64],
    shares: NDArray[np.float64],
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    few: int,
    gamma: float,
    tables: NDArray[np.float64],
    falls: NDArray[np.bool_],
    terms: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    criterion: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Fill the results of `search`, kernel by kernel; `turned` are the axes, points first."""
    many, _, points = axes.shape
    chosen = np.empty((many, start.size), np.int64)
    rough = np.empty((many, few), np.int64)
    column = np.empty(points)
    fitted = np.empty(points)
    for k in range(values.shape[0]):
        y, weight = values[k], weights[k]
        best = (terms[k], coefficients[k], criterion[k])
        # Weights from the values: 1 / |y|^(2 gamma).
        for a in range(points):
            weight[a] = shares[k, a] * np.abs(y[a]) ** (-2.0 * gamma)
        if gamma != 0.0:
            only = (terms[k, :1], coefficients[k, :1], criterion[k, :1])
            begin(y, weight, axes, turned, line, start, rough, tables[0], falls, only, False)
            # Weights from the best function f: 1 / f^(2 gamma).
            least = np.inf
            for a in range(points):
                fitted[a] = coefficients[k, 0, 0]
                least = min(least, np.abs(y[a]))
            for one in range(MOST_PRODUCTS):
                if terms[k, 0, one] != NO_TERM:
                    fill_column(terms[k, 0, one], axes, column)
                    for a in range(points):
                        fitted[a] += coefficients[k, 0, one + 1] * column[a]
            for a in range(points):
                weight[a] = shares[k, a] * max(fitted[a], 0.5 * least) ** (-2.0 * gamma)
        begin(y, weight, axes, turned, line, start, chosen, tables[1], falls, best, True)
        whole = 0.0
        for a in range(points):
            whole += weight[a]
        for a in range(points):
            weight[a] /= whole


@part
def begin(
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    axes: NDArray[np.float64],
    turned: NDArray[np.float64],
    line: NDArray[np.int32],
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
    table: NDArray[np.float64],
    falls: NDArray[np.bool_],
    best: Best,
    thorough: bool,
) -> None:
    """Search with given weights, from an empty list of the best."""
    terms, coefficients, criterion = best
    for h in range(criterion.size):
        criterion[h] = np.inf
        coefficients[h, 0] = 0.0
        for one in range(MOST_PRODUCTS):
            terms[h, one] = NO_TERM
            coefficients[h, one + 1] = 0.0
    target = aim(y, weight, falls)
    # Terms of each parameter along its lines, then their products and sums, then other exponents.
    for axis in range(axes.shape[0]):
        choose(y, target[0], turned[axis], line[axis], start, chosen[axis], thorough)
    combine(axes, chosen, table, target, best, thorough)
    if thorough:
        exchange(axes, turned, table, target, best)
