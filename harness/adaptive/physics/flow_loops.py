"""Compiled loops of the flow: rates, HLLC fluxes, update, and jumps from cell to cell.

Importing this module imports numba. Fluxes are computed in blocks: gather, compute on vectors,
scatter. Sums of cells follow the order of the face lists, so that the size of blocks does not
change results.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled, inlined

Array = NDArray[np.float64]
Rows = NDArray[np.int32]
Levels = NDArray[np.int8]
BLOCK = 128
"""Faces computed at a time."""
vectors = partial(compiled, division="numpy")
Four = tuple[float, float, float, float]


@inlined
def contact_flux(
    gamma: float,
    rho_l: float, u_l: float, v_l: float, p_l: float,
    rho_r: float, u_r: float, v_r: float, p_r: float,
) -> Four:  # fmt: skip
    """Return the HLLC flux of density, normal momentum, transverse momentum and energy.

    Wave speeds are Davis's bounds, the contact's speed is Batten's (Toro, Riemann Solvers, 10.4 and
    10.5). The side is selected and its speed is clipped without branches, so that loops vectorise.

    Parameters
    ----------
    gamma : float
        Ratio of specific heats.
    rho_l, u_l, v_l, p_l, rho_r, u_r, v_r, p_r : float
        Density, normal and transverse velocity, pressure on the lower and the upper side.
    """
    c_l = math.sqrt(gamma * p_l / rho_l)
    c_r = math.sqrt(gamma * p_r / rho_r)
    s_l = min(u_l - c_l, u_r - c_r)
    s_r = max(u_l + c_l, u_r + c_r)
    m_l = rho_l * (s_l - u_l)
    m_r = rho_r * (s_r - u_r)
    contact = (p_r - p_l + m_l * u_l - m_r * u_r) / (m_l - m_r)
    left = contact >= 0.0
    rho = rho_l if left else rho_r
    u = u_l if left else u_r
    v = v_l if left else v_r
    p = p_l if left else p_r
    s = s_l if left else s_r
    mass = m_l if left else m_r
    cut = min(s, 0.0) if left else max(s, 0.0)
    energy = p / (gamma - 1.0) + 0.5 * rho * (u * u + v * v)
    star = mass / (s - contact)
    star_energy = star * (energy / rho + (contact - u) * (contact + p / mass))
    return (
        rho * u + cut * (star - rho),
        rho * u * u + p + cut * (star * contact - rho * u),
        rho * u * v + cut * (star * v - rho * v),
        u * (energy + p) + cut * (star_energy - energy),
    )


@inlined
def wall_pressure(gamma: float, rho: float, outward: float, p: float) -> float:
    """Return the pressure on a reflecting wall: HLLC's between a cell and its mirror image.

    Parameters
    ----------
    outward : float
        The cell's velocity towards the wall.
    """
    sound = math.sqrt(gamma * p / rho)
    return p + rho * outward * (abs(outward) + sound + outward)


@vectors
def largest_rate(state: Array, owned: int, level: Levels, per_width: Array, gamma: float) -> float:
    """Return the largest (|u| + |v| + 2 c) / width of the first rows; infinite if one is invalid.

    Parameters
    ----------
    per_width : float64 array, shape (levels,)
        One over the width of a cell of a level.
    """
    largest = 0.0
    sound = np.empty(BLOCK)
    for first in range(0, owned, BLOCK):
        size = min(BLOCK, owned - first)
        for k in range(size):
            row = np.uint64(first + k)  # unsigned: no test for rows from the end
            rho = state[row, 0]
            inverse = 1.0 / rho
            u = state[row, 1] * inverse
            v = state[row, 2] * inverse
            p = (gamma - 1.0) * (state[row, 3] - 0.5 * rho * (u * u + v * v))
            speed = abs(u) + abs(v) + 2.0 * math.sqrt(gamma * p * inverse)
            sound[k] = speed if (rho > 0.0) & (p > 0.0) else math.inf
        for k in range(size):
            rate = sound[k] * per_width[np.uint64(level[np.uint64(first + k)])]
            if not rate <= largest:  # a NaN as well
                largest = rate if rate > 0.0 else math.inf
    return largest


@vectors
def primitive(state: Array, rows: int, gamma: float, gas: Array, change: Array) -> None:
    """Compute velocities and pressures of the first rows, and clear the changes.

    Parameters
    ----------
    state, gas, change : float64 array, shape (at least rows, 4)
        Density, momenta, energy; density, velocities, pressure; zeros.
    """
    for row in range(rows):
        rho = state[row, 0]
        inverse = 1.0 / rho
        u = state[row, 1] * inverse
        v = state[row, 2] * inverse
        gas[row, 0] = rho
        gas[row, 1] = u
        gas[row, 2] = v
        gas[row, 3] = (gamma - 1.0) * (state[row, 3] - 0.5 * rho * (u * u + v * v))
        for column in range(4):
            change[row, column] = 0.0


@vectors
def flux_block(work: Array, size: int, gamma: float) -> None:
    """Compute fluxes from gathered sides and lengths of faces, into the first parts of `work`."""
    for k in range(size):
        a, b, c, d = contact_flux(
            gamma,
            work[k],
            work[k + BLOCK],
            work[k + 2 * BLOCK],
            work[k + 3 * BLOCK],
            work[k + 4 * BLOCK],
            work[k + 5 * BLOCK],
            work[k + 6 * BLOCK],
            work[k + 7 * BLOCK],
        )
        length = work[k + 8 * BLOCK]
        work[k] = a * length
        work[k + BLOCK] = b * length
        work[k + 2 * BLOCK] = c * length
        work[k + 3 * BLOCK] = d * length


@vectors
def scatter(work: Array, lower: Rows, upper: Rows, normal: int, change: Array) -> None:
    """Subtract a block's fluxes from the lower cells and add them to the upper ones."""
    across = 3 - normal
    for k in range(lower.size):
        a = work[k]
        b = work[k + BLOCK]
        c = work[k + 2 * BLOCK]
        d = work[k + 3 * BLOCK]
        low = np.uint64(lower[k])
        high = np.uint64(upper[k])
        change[low, 0] -= a
        change[low, normal] -= b
        change[low, across] -= c
        change[low, 3] -= d
        change[high, 0] += a
        change[high, normal] += b
        change[high, across] += c
        change[high, 3] += d


@vectors
def add_fluxes(
    gas: Array, lower: Rows, upper: Rows, level: Levels, length: Array, normal: int, gamma: float,
    work: Array, change: Array,
) -> None:  # fmt: skip
    """Add the fluxes of all faces across one axis to the changes of their cells.

    Parameters
    ----------
    gas : float64 array, shape (row, 4)
    lower, upper, level : int32, int32 and int8 array, shape (face,)
    length : float64 array, shape (levels,)
        Length of faces of a level.
    normal : int
        Column of the normal velocity.
    work : float64 array, shape (9 * BLOCK,)
    """
    across = 3 - normal
    for first in range(0, lower.size, BLOCK):
        size = min(BLOCK, lower.size - first)
        for k in range(size):
            face = np.uint64(first + k)
            low = np.uint64(lower[face])
            high = np.uint64(upper[face])
            work[k] = gas[low, 0]
            work[k + BLOCK] = gas[low, normal]
            work[k + 2 * BLOCK] = gas[low, across]
            work[k + 3 * BLOCK] = gas[low, 3]
            work[k + 4 * BLOCK] = gas[high, 0]
            work[k + 5 * BLOCK] = gas[high, normal]
            work[k + 6 * BLOCK] = gas[high, across]
            work[k + 7 * BLOCK] = gas[high, 3]
            work[k + 8 * BLOCK] = length[np.uint64(level[face])]
        flux_block(work, size, gamma)
        last = first + size
        scatter(work, lower[first:last], upper[first:last], normal, change)


@vectors
def add_walls(
    gas: Array, cell: Rows, side: Levels, level: Levels, length: Array, gamma: float, change: Array
) -> None:
    """Add the pressure of reflecting walls, their only flux.

    Parameters
    ----------
    cell, side : int32 and int8 array, shape (wall,)
    level : int8 array, shape (row,)
    """
    for wall in range(cell.size):
        row = np.uint64(cell[wall])
        column = 1 + side[wall] // 2
        sign = 1.0 if side[wall] % 2 == 1 else -1.0
        pressure = wall_pressure(gamma, gas[row, 0], sign * gas[row, column], gas[row, 3])
        change[row, column] -= sign * pressure * length[np.uint64(level[row])]


@vectors
def update(state: Array, change: Array, owned: int, level: Levels, per_area: Array) -> None:
    """Add the changes to the owned rows.

    Parameters
    ----------
    per_area : float64 array, shape (levels,)
        Time step over the area of a cell of a level.
    """
    for row in range(owned):
        scale = per_area[np.uint64(level[row])]
        for column in range(4):
            state[row, column] += scale * change[row, column]


@vectors
def step(
    state: Array, owned: int, level: Levels,
    lower: Rows, upper: Rows, face_level: Levels, across_x: int,
    wall_cell: Rows, wall_side: Levels,
    length: Array, per_area: Array, gamma: float, gas: Array, work: Array, change: Array,
) -> None:  # fmt: skip
    """Advance the owned rows by one step; see the loops above for the arrays."""
    primitive(state, level.size, gamma, gas, change)
    for normal in (1, 2):  # the faces across x come first
        begin, end = (0, across_x) if normal == 1 else (across_x, lower.size)
        add_fluxes(
            gas, lower[begin:end], upper[begin:end], face_level[begin:end],
            length, normal, gamma, work, change,
        )  # fmt: skip
    add_walls(gas, wall_cell, wall_side, level, length, gamma, change)
    update(state, change, owned, level, per_area)


@vectors
def largest_jumps(lower: Rows, upper: Rows, values: Array, jump: Array) -> None:
    """Raise each cell's jump to the largest of its faces.

    The jump of a and b is ``|a - b| / min(a, b)``.

    Parameters
    ----------
    values : float64 array, shape (row, quantity)
        Positive.
    jump : float64 array, shape (row,)
    """
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        largest = 0.0
        for column in range(values.shape[1]):
            a = values[low, column]
            b = values[high, column]
            largest = max(largest, abs(a - b) / min(a, b))
        jump[low] = max(jump[low], largest)
        jump[high] = max(jump[high], largest)


@vectors
def spread(lower: Rows, upper: Rows, before: Array, jump: Array) -> None:
    """Raise each cell's jump to the largest previous jump of its neighbours."""
    for face in range(lower.size):
        low = np.uint64(lower[face])
        high = np.uint64(upper[face])
        jump[low] = max(jump[low], before[high])
        jump[high] = max(jump[high], before[low])
