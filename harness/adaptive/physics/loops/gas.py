"""The flux of an ideal gas across a face, and the primitive variables of a state."""

from __future__ import annotations

import math

from hindmost.models.compiled import inlined

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
