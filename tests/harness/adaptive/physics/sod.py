"""The exact solution of Sod's tube (Toro, Riemann Solvers, chapter 4): a fan and a shock."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

GAMMA = 1.4
LEFT, RIGHT = (1.0, 0.0, 1.0), (0.125, 0.0, 0.1)
"""Density, velocity and pressure at the beginning."""


def shock(p: float) -> float:
    """Return the velocity behind the shock into the right side (4.6)."""
    density, _, before = RIGHT
    a, b = 2.0 / ((GAMMA + 1.0) * density), (GAMMA - 1.0) / (GAMMA + 1.0) * before
    return float((p - before) * np.sqrt(a / (p + b)))


def fan(p: float) -> float:
    """Return the velocity behind the fan into the left side (4.7)."""
    power = p ** ((GAMMA - 1.0) / (2.0 * GAMMA))
    return float(2.0 * np.sqrt(GAMMA) / (GAMMA - 1.0) * (1.0 - power))


def sod_density(ray: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density on rays x/t from the initial jump, shape (point,)."""
    p = float(brentq(lambda p: shock(p) - fan(p), 0.1, 1.0, rtol=1e-14))
    u, c, small = fan(p), np.sqrt(GAMMA), (GAMMA - 1.0) / (GAMMA + 1.0)
    # The middle state as Toro's table 4.2 has it.
    assert (round(p, 5), round(u, 5)) == (0.30313, 0.92745)
    behind_fan = p ** (1.0 / GAMMA)
    ratio = p / RIGHT[2]
    behind_shock = RIGHT[0] * (ratio + small) / (small * ratio + 1.0)
    assert (round(behind_fan, 5), round(behind_shock, 5)) == (0.42632, 0.26557)
    speed = behind_shock * u / (behind_shock - RIGHT[0])  # what it sweeps up is behind it
    in_fan = np.clip(2.0 / (GAMMA + 1.0) - small / c * ray, 0.0, 1.0) ** (2.0 / (GAMMA - 1.0))
    tail = u - c * p ** ((GAMMA - 1.0) / (2.0 * GAMMA))
    return np.select(
        [ray < -c, ray < tail, ray < u, ray < speed],
        [np.full(ray.shape, LEFT[0]), in_fan, behind_fan, behind_shock],
        RIGHT[0],
    )
