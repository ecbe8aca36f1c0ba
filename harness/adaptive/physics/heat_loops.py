"""Compiled loops of heat conduction: the operator on faces, and conjugate gradients.

The weight of a face is its heat flux per time step and unit difference of temperature.
"""

from __future__ import annotations

import numpy as np

from hindmost.harness.adaptive.physics.flow_loops import Array, Levels, Rows, vectors


@vectors
def freeze(
    state: Array, owned: int, level: Levels, area: Array, specific_heat: float,
    lower: Rows, upper: Rows, weight: Array,
    temperature: Array, capacity: Array, inverse: Array,
) -> None:  # fmt: skip
    """Compute temperatures, heat capacities and the inverse diagonal of the operator.

    Parameters
    ----------
    area : float64 array, shape (levels,)
    temperature, capacity, inverse : float64 array, shape (row,)
    """
    for row in range(owned):
        rho = state[row, 0]
        mx = state[row, 1]
        my = state[row, 2]
        warm = rho * specific_heat
        temperature[row] = (state[row, 3] - 0.5 * (mx * mx + my * my) / rho) / warm
        capacity[row] = warm * area[np.uint64(level[row])]
    for row in range(owned, level.size):
        capacity[row] = 0.0
    for row in range(level.size):
        inverse[row] = capacity[row]
    for face in range(lower.size):
        inverse[np.uint64(lower[face])] += weight[face]
        inverse[np.uint64(upper[face])] += weight[face]
    for row in range(owned):
        inverse[row] = 1.0 / inverse[row]
    for row in range(owned, level.size):  # finite, though never used
        inverse[row] = 0.0


@vectors
def add_passing(
    lower: Rows, upper: Rows, weight: Array, values: Array, sign: float, result: Array
) -> None:
    """Add the fluxes of the faces; with sign 1, the receiving cell gains."""
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        passing = sign * weight[face] * (values[high] - values[low])
        result[low] += passing
        result[high] -= passing


@vectors
def residual(lower: Rows, upper: Rows, weight: Array, temperature: Array, r: Array) -> None:
    """Compute the residual of the old temperatures: the fluxes across faces.

    Parameters
    ----------
    temperature, r : float64 array, shape (row,)
    """
    for row in range(r.size):
        r[row] = 0.0
    add_passing(lower, upper, weight, temperature, 1.0, r)


@vectors
def product(lower: Rows, upper: Rows, weight: Array, capacity: Array, u: Array, w: Array) -> None:
    """Apply the operator: w = (capacity + conduction) u; only owned rows are valid."""
    for row in range(w.size):
        w[row] = capacity[row] * u[row]
    add_passing(lower, upper, weight, u, -1.0, w)


@vectors
def advance(
    alpha: float, beta: float, owned: int, inverse: Array,
    w: Array, p: Array, s: Array, x: Array, r: Array, u: Array,
) -> None:  # fmt: skip
    """Take a step of Chronopoulos and Gear's conjugate gradients (1989), before u's exchange."""
    for row in range(owned):
        p[row] = u[row] + beta * p[row]
        s[row] = w[row] + beta * s[row]
        x[row] += alpha * p[row]
        r[row] -= alpha * s[row]
        u[row] = inverse[row] * r[row]


@vectors
def two_dots(a: Array, b: Array, c: Array, owned: int, sums: Array) -> None:
    """Sum a c and b c over the owned rows, in four partial sums each, for vectorisation."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    whole = owned - owned % 4
    for row in range(0, whole, 4):
        c0, c1, c2, c3 = c[row], c[row + 1], c[row + 2], c[row + 3]
        a0 += a[row] * c0
        a1 += a[row + 1] * c1
        a2 += a[row + 2] * c2
        a3 += a[row + 3] * c3
        b0 += b[row] * c0
        b1 += b[row + 1] * c1
        b2 += b[row + 2] * c2
        b3 += b[row + 3] * c3
    for row in range(whole, owned):
        a0 += a[row] * c[row]
        b0 += b[row] * c[row]
    sums[0] = (a0 + a1) + (a2 + a3)
    sums[1] = (b0 + b1) + (b2 + b3)


@vectors
def deposit(
    state: Array, owned: int, level: Levels, per_area: Array,
    lower: Rows, upper: Rows, weight: Array, temperature: Array, heat: Array,
) -> None:  # fmt: skip
    """Move energy across the faces according to the new temperatures.

    Parameters
    ----------
    per_area : float64 array, shape (levels,)
        One over the area of a cell of a level.
    heat : float64 array, shape (row,)
        Work array.
    """
    residual(lower, upper, weight, temperature, heat)
    for row in range(owned):
        state[row, 3] += heat[row] * per_area[np.uint64(level[row])]
