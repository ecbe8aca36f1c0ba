"""The exact solution of a Riemann problem of an ideal gas (Toro, Riemann Solvers, chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]


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
    """
    ray = np.asarray(ray, np.float64)
    p = middle_pressure(left, right, gamma)
    change_l, change_r = velocity_change(left, p, gamma), velocity_change(right, p, gamma)
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


def velocity_change(gas: Gas, p: float, gamma: float) -> float:
    """Return the change of velocity across a wave to a pressure (4.6, 4.7)."""
    if p > gas.pressure:  # a shock
        a = 2 / ((gamma + 1) * gas.density)
        b = (gamma - 1) / (gamma + 1) * gas.pressure
        return float((p - gas.pressure) * np.sqrt(a / (p + b)))
    power = (p / gas.pressure) ** ((gamma - 1) / (2 * gamma))
    return float(2 * sound(gas, gamma) / (gamma - 1) * (power - 1))


def middle_pressure(left: Gas, right: Gas, gamma: float) -> float:
    """Return the pressure between the waves (4.3)."""

    def gap(p: float) -> float:
        changes = (velocity_change(gas, p, gamma) for gas in (left, right))
        return sum(changes) + right.velocity - left.velocity

    highest = 100.0 * max(left.pressure, right.pressure)
    return float(brentq(gap, 1e-9 * highest, highest, xtol=1e-300, rtol=1e-14))


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
