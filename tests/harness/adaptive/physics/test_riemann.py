"""The exact solution against the tables of Toro's book."""

from __future__ import annotations

import numpy as np
import pytest
from tests.harness.adaptive.physics.riemann import Gas, exact_solution

# Toro, Riemann Solvers (3rd edition), tables 4.1 and 4.2: left, right, p*, u*, rho*L, rho*R
TABLE = [
    ((1.0, 0.0, 1.0), (0.125, 0.0, 0.1), 0.30313, 0.92745, 0.42632, 0.26557),
    ((1.0, -2.0, 0.4), (1.0, 2.0, 0.4), 0.00189, 0.0, 0.02185, 0.02185),
    ((1.0, 0.0, 1000.0), (1.0, 0.0, 0.01), 460.894, 19.5975, 0.57506, 5.99924),
    ((1.0, 0.0, 0.01), (1.0, 0.0, 100.0), 46.0950, -6.19633, 5.99242, 0.57511),
    ((5.99924, 19.5975, 460.894), (5.99242, -6.19633, 46.0950), 1691.64, 8.68975, 14.2823, 31.0426),
]


def gas(density: float, velocity: float, pressure: float) -> Gas:
    return Gas(density=density, velocity=velocity, pressure=pressure)


@pytest.mark.parametrize(("left", "right", "p", "u", "rho_l", "rho_r"), TABLE)
def test_the_states_beside_the_contact_are_those_of_the_table(
    left: tuple[float, float, float],
    right: tuple[float, float, float],
    p: float,
    u: float,
    rho_l: float,
    rho_r: float,
) -> None:
    # just beside the contact, whose exact speed the table rounds
    near = 1e-3 * max(abs(u), 0.1)
    density, velocity, pressure = exact_solution(
        gas(*left), gas(*right), gamma=1.4, ray=np.array([u - near, u + near])
    )
    assert pressure == pytest.approx([p, p], rel=5e-3 if p < 0.01 else 2e-5)
    assert velocity == pytest.approx([u, u], rel=2e-5, abs=1e-12)
    assert density == pytest.approx([rho_l, rho_r], rel=5e-4)
