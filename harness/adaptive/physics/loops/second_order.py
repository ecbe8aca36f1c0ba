"""Loops of the second-order scheme: MUSCL-Hancock (van Leer 1984; Toro, 14.4) on face lists."""

from __future__ import annotations

import numpy as np

from hindmost.harness.adaptive.physics.loops.first_order import (
    BLOCK,
    Array,
    Levels,
    Rows,
    add_walls,
    flux_block,
    primitive,
    scatter,
    update,
    vectors,
)


@vectors
def add_differences(
    gas: Array, lower: Rows, upper: Rows, level: Levels, cell_level: Levels, sides: Array
) -> None:
    """Add the differences over faces across one axis to the sides of their cells.

    A difference is per width of the cell. At a face between cells of two levels, which is half a
    side long, its weight is 2/3, the face's length over the distance of the centres.

    Parameters
    ----------
    sides : float64 array, shape (row, 8)
        Differences to the cells below, then above.
    """
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        weight = 1.0 if cell_level[low] == cell_level[high] else 2.0 / 3.0
        for column in range(4):
            difference = weight * (gas[high, column] - gas[low, column])
            sides[high, column] += difference
            sides[low, 4 + column] += difference


@vectors
def limit(sides: Array, rows: int, first: int, slopes: Array) -> None:
    """Compute slopes from differences by van Leer's limiter, and clear the differences.

    Parameters
    ----------
    first : int
        First of four columns of `slopes`.
    slopes : float64 array, shape (row, 8)
    """
    for row in range(rows):
        for column in range(4):
            below = sides[row, column]
            above = sides[row, 4 + column]
            product = below * above
            total = below + above
            slope = 2.0 * product / (total if product > 0.0 else 1.0)
            slopes[row, np.uint64(first + column)] = slope if product > 0.0 else 0.0
            sides[row, column] = 0.0
            sides[row, 4 + column] = 0.0


@vectors
def find_slopes(
    state: Array, owned: int, level: Levels,
    x_lower: Rows, x_upper: Rows, x_level: Levels,
    y_lower: Rows, y_upper: Rows, y_level: Levels,
    gamma: float, gas: Array, change: Array, sides: Array, slopes: Array,
) -> None:  # fmt: skip
    """Compute the primitive variables of all rows and the slopes of owned ones.

    Parameters
    ----------
    sides : float64 array, shape (row, 8)
    slopes : float64 array, shape (row, 8)
        Per width of a cell: those along x, then those along y. At walls they are zero.
    """
    primitive(state, level.size, gamma, gas, change)
    for row in range(level.size):
        for column in range(8):
            sides[row, column] = 0.0
    add_differences(gas, x_lower, x_upper, x_level, level, sides)
    limit(sides, level.size, 0, slopes)
    add_differences(gas, y_lower, y_upper, y_level, level, sides)
    limit(sides, owned, 4, slopes)


@vectors
def predict(gas: Array, slopes: Array, level: Levels, gamma: float, half: Array) -> None:
    """Advance primitive variables by half a step; invalid ones are kept, with zero slopes.

    Parameters
    ----------
    half : float64 array, shape (levels,)
        Half a time step over the width of a cell of a level.
    """
    for row in range(level.size):
        t = half[np.uint64(level[row])]
        rho, u, v, p = gas[row, 0], gas[row, 1], gas[row, 2], gas[row, 3]
        rho_x, u_x, v_x, p_x = slopes[row, 0], slopes[row, 1], slopes[row, 2], slopes[row, 3]
        rho_y, u_y, v_y, p_y = slopes[row, 4], slopes[row, 5], slopes[row, 6], slopes[row, 7]
        spread = u_x + v_y
        new_rho = rho - t * (u * rho_x + v * rho_y + rho * spread)
        new_p = p - t * (u * p_x + v * p_y + gamma * p * spread)
        # The minimum over sides and, next to a finer cell, corners.
        least_rho = min(rho, new_rho) - 0.5 * (abs(rho_x) + abs(rho_y))
        least_p = min(p, new_p) - 0.5 * (abs(p_x) + abs(p_y))
        sound = (least_rho > 0.0) & (least_p > 0.0)
        gas[row, 0] = new_rho if sound else rho
        gas[row, 1] = u - t * (u * u_x + v * u_y + p_x / rho) if sound else u
        gas[row, 2] = v - t * (u * v_x + v * v_y + p_y / rho) if sound else v
        gas[row, 3] = new_p if sound else p
        keep = 1.0 if sound else 0.0
        for column in range(8):
            slopes[row, column] *= keep


@vectors
def add_limited_fluxes(
    gas: Array, slopes: Array, lower: Rows, upper: Rows, level: Levels,
    lower_shift: Levels, upper_shift: Levels, length: Array, normal: int, gamma: float,
    work: Array, change: Array,
) -> None:  # fmt: skip
    """Add the fluxes of extrapolated values at the faces; see `first_order.add_fluxes`.

    Parameters
    ----------
    lower_shift, upper_shift : int8 array, shape (face,)
        Quarters of the cell's width from the middle of its side to the middle of the face.
    """
    along = 4 * (normal - 1)
    aside = 4 - along
    across = 3 - normal
    for first in range(0, lower.size, BLOCK):
        size = min(BLOCK, lower.size - first)
        for k in range(size):
            face = np.uint64(first + k)
            low = np.uint64(lower[face])
            high = np.uint64(upper[face])
            a = 0.25 * lower_shift[face]
            b = 0.25 * upper_shift[face]
            for place, column in ((0, 0), (1, normal), (2, across), (3, 3)):
                work[k + place * BLOCK] = (
                    gas[low, column]
                    + 0.5 * slopes[low, along + column]
                    + a * slopes[low, aside + column]
                )
                work[k + (4 + place) * BLOCK] = (
                    gas[high, column]
                    - 0.5 * slopes[high, along + column]
                    + b * slopes[high, aside + column]
                )
            work[k + 8 * BLOCK] = length[np.uint64(level[face])]
        flux_block(work, size, gamma)
        last = first + size
        scatter(work, lower[first:last], upper[first:last], normal, change)


@vectors
def second_order_step(
    state: Array, owned: int, level: Levels,
    x_lower: Rows, x_upper: Rows, x_level: Levels, x_below: Levels, x_above: Levels,
    y_lower: Rows, y_upper: Rows, y_level: Levels, y_below: Levels, y_above: Levels,
    wall_cell: Rows, wall_side: Levels,
    length: Array, per_area: Array, half: Array, gamma: float,
    gas: Array, slopes: Array, work: Array, change: Array,
) -> None:  # fmt: skip
    """Advance the owned rows by one step, after `find_slopes` and an exchange of slopes."""
    predict(gas, slopes, level, gamma, half)
    add_limited_fluxes(
        gas, slopes, x_lower, x_upper, x_level, x_below, x_above, length, 1, gamma, work, change
    )
    add_limited_fluxes(
        gas, slopes, y_lower, y_upper, y_level, y_below, y_above, length, 2, gamma, work, change
    )
    add_walls(gas, wall_cell, wall_side, level, length, gamma, change)
    update(state, change, owned, level, per_area)
