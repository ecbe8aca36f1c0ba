"""The exact solution of a Riemann problem of an ideal gas (Toro, Riemann Solvers, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError

Array = NDArray[np.float64]
TOLERANCE = 1e-14
MOST_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Gas:
    """The state of a gas that moves along x.

    Attributes
    ----------
    density, velocity, pressure : float
    """

    density: float
    velocity: float
    pressure: float


def exact_solution(
    left: Gas, right: Gas, *, gamma: float, ray: Array
) -> tuple[Array, Array, Array]:
    """Return density, velocity and pressure on rays x/t from the initial jump.

    Parameters
    ----------
    left, right : Gas
    gamma : float
    ray : float64 array, shape (point,)

    Returns
    -------
    density, velocity, pressure : float64 array, shape (point,)

    Raises
    ------
    UsageError
        The gases separate so fast that a vacuum forms between them (Toro, eq. 4.40).
    """
    ray = np.asarray(ray, np.float64)
    gap = 2 / (gamma - 1) * (sound(left, gamma) + sound(right, gamma))
    if right.velocity - left.velocity >= gap:
        raise UsageError(
            f"A vacuum opens: the gases part at {right.velocity - left.velocity:g}, "
            f"at most {gap:g} is allowed."
        )
    p = middle_pressure(left, right, gamma)
    change_l, change_r = velocity_change(left, p, gamma)[0], velocity_change(right, p, gamma)[0]
    u = 0.5 * (left.velocity + right.velocity + change_r - change_l)
    lower = side_solution(left, u, p, gamma, ray)
    # The right side is the mirror image of the left one.
    mirrored = Gas(density=right.density, velocity=-right.velocity, pressure=right.pressure)
    upper = side_solution(mirrored, -u, p, gamma, -ray)
    return (
        np.where(ray < u, lower[0], upper[0]),
        np.where(ray < u, lower[1], -upper[1]),
        np.where(ray < u, lower[2], upper[2]),
    )


def sound(gas: Gas, gamma: float) -> float:
    """Return the speed of sound."""
    return float(np.sqrt(gamma * gas.pressure / gas.density))


def velocity_change(gas: Gas, p: float, gamma: float) -> tuple[float, float]:
    """Return the change of velocity across a wave to a pressure, and its derivative (4.6, 4.7)."""
    if p > gas.pressure:  # a shock
        a = 2 / ((gamma + 1) * gas.density)
        b = (gamma - 1) / (gamma + 1) * gas.pressure
        root = np.sqrt(a / (p + b))
        value = (p - gas.pressure) * root
        return float(value), float(root * (1 - (p - gas.pressure) / (2 * (b + p))))
    c, ratio = sound(gas, gamma), p / gas.pressure
    value = 2 * c / (gamma - 1) * (ratio ** ((gamma - 1) / (2 * gamma)) - 1)
    return float(value), float(ratio ** (-(gamma + 1) / (2 * gamma)) / (gas.density * c))


def middle_pressure(left: Gas, right: Gas, gamma: float) -> float:
    """Return the pressure between the waves, by Newton's method (4.3)."""
    p = 0.5 * (left.pressure + right.pressure)
    for _ in range(MOST_STEPS):
        (f_l, slope_l), (f_r, slope_r) = (velocity_change(gas, p, gamma) for gas in (left, right))
        step = (f_l + f_r + right.velocity - left.velocity) / (slope_l + slope_r)
        # The function is concave: from below, Newton's steps do not overshoot the root.
        new = p - step if step < p else 0.1 * p
        if abs(new - p) <= TOLERANCE * p:
            return new
        p = new
    return p


def side_solution(
    gas: Gas, u: float, p: float, gamma: float, ray: Array
) -> tuple[Array, Array, Array]:
    """Return the solution left of the contact (4.5)."""
    c = sound(gas, gamma)
    ratio = p / gas.pressure
    small = (gamma - 1) / (gamma + 1)
    before = np.ones(ray.shape)
    if p > gas.pressure:
        speed = gas.velocity - c * np.sqrt((gamma + 1) / (2 * gamma) * (ratio - 1) + 1)
        density = gas.density * (ratio + small) / (small * ratio + 1)
        outside = ray < speed
        return (
            np.where(outside, gas.density, density),
            np.where(outside, gas.velocity, u),
            np.where(outside, gas.pressure, p),
        )
    density = gas.density * ratio ** (1 / gamma)
    head, tail = gas.velocity - c, u - c * ratio ** ((gamma - 1) / (2 * gamma))
    inside = np.clip(ray, head, tail)
    relative = 2 / (gamma + 1) + small / c * (gas.velocity - inside)
    fan_u = 2 / (gamma + 1) * (c + (gamma - 1) / 2 * gas.velocity + inside)
    cases = [ray < head, ray < tail]
    return (
        np.select(
            cases,
            [gas.density * before, gas.density * relative ** (2 / (gamma - 1))],
            density,
        ),
        np.select(cases, [gas.velocity * before, fan_u], u),
        np.select(
            cases, [gas.pressure * before, gas.pressure * relative ** (2 * gamma / (gamma - 1))], p
        ),
    )
