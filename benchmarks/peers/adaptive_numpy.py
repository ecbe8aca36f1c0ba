"""The kernel's first-order step in numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import Patch

State = NDArray[np.float64]


def flux(gamma: float, low: State, high: State) -> State:
    """Return HLLC fluxes between rows of density, normal and transverse velocity, pressure."""
    sides = []
    for rho, u, v, p in (low.T, high.T):
        sides.append((rho, u, v, p, np.sqrt(gamma * p / rho)))
    (rho_l, u_l, v_l, p_l, c_l), (rho_r, u_r, v_r, p_r, c_r) = sides
    s_l, s_r = np.minimum(u_l - c_l, u_r - c_r), np.maximum(u_l + c_l, u_r + c_r)
    m_l, m_r = rho_l * (s_l - u_l), rho_r * (s_r - u_r)
    contact = (p_r - p_l + m_l * u_l - m_r * u_r) / (m_l - m_r)
    left = contact >= 0.0
    rho, u, v = (np.where(left, a, b) for a, b in ((rho_l, rho_r), (u_l, u_r), (v_l, v_r)))
    p, s, mass = (np.where(left, a, b) for a, b in ((p_l, p_r), (s_l, s_r), (m_l, m_r)))
    cut = np.where(left, np.minimum(s, 0.0), np.maximum(s, 0.0))
    energy = p / (gamma - 1.0) + 0.5 * rho * (u * u + v * v)
    star = mass / (s - contact)
    star_energy = star * (energy / rho + (contact - u) * (contact + p / mass))
    return np.column_stack(
        [
            rho * u + cut * (star - rho),
            rho * u * u + p + cut * (star * contact - rho * u),
            rho * u * v + cut * (star * v - rho * v),
            u * (energy + p) + cut * (star_energy - energy),
        ]
    )


class NumpyHydro:
    """First-order steps in numpy on a patch without ghosts."""

    def __init__(self, patch: Patch, spacing: float, gamma: float) -> None:
        self._patch, self._spacing, self._gamma = patch, spacing, gamma

    def step(self, state: State, dt: float) -> None:
        """Advance by one step."""
        patch, gamma = self._patch, self._gamma
        rho, mx, my, energy = state.T
        u, v = mx / rho, my / rho
        gas = np.column_stack([rho, u, v, (gamma - 1.0) * (energy - 0.5 * rho * (u * u + v * v))])
        change = np.zeros((4, patch.owned))
        faces, split = patch.faces, patch.faces.across_x
        for which, order in ((slice(split), [0, 1, 2, 3]), (slice(split, None), [0, 2, 1, 3])):
            lower, upper = faces.lower[which], faces.upper[which]
            fluxes = flux(gamma, gas[lower][:, order], gas[upper][:, order])
            fluxes *= (self._spacing / 2.0 ** faces.level[which])[:, None]
            for column, passing in zip(order, fluxes.T, strict=True):
                change[column] += np.bincount(upper, passing, patch.owned)
                change[column] -= np.bincount(lower, passing, patch.owned)
        width = self._spacing / 2.0**patch.level
        cell, side = patch.walls.cell, patch.walls.side
        sign = np.where(side % 2 == 1, 1.0, -1.0)
        wall = gas[cell]
        outward = sign * np.where(side < 2, wall[:, 1], wall[:, 2])
        sound = np.sqrt(gamma * wall[:, 3] / wall[:, 0])
        pressure = wall[:, 3] + wall[:, 0] * outward * (abs(outward) + sound + outward)
        for column, mine in ((1, side < 2), (2, side >= 2)):
            push = (sign * pressure * width[cell])[mine]
            change[column] -= np.bincount(cell[mine], push, patch.owned)
        state += (dt / width**2)[:, None] * change.T
