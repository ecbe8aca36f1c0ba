"""Heat against a Gaussian that spreads, a direct solver, and what is conserved."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray
from tests.harness.adaptive.meshes import across, areas, centres, no_ghosts, two_levels, uniform

from hindmost.errors import DataError
from hindmost.harness.adaptive.mesh.patch import Patch
from hindmost.harness.adaptive.physics.heat import Conduction

State = NDArray[np.float64]


def alone(array: NDArray[Any]) -> NDArray[Any]:
    return array


def heat(
    mesh: Patch,
    spacing: float,
    *,
    conductivity: float = 1.0,
    specific_heat: float = 1.0,
    **how: Any,
) -> Conduction:
    return Conduction(
        mesh,
        spacing=spacing,
        conductivity=conductivity,
        specific_heat=specific_heat,
        fill=no_ghosts,
        allsum=alone,
        **how,
    )


def rough(mesh: Patch) -> State:
    """Return a moving gas with large jumps from cell to cell."""
    random = np.random.default_rng(11)
    rho, warmth = random.uniform(0.2, 3, (2, mesh.owned))
    u, v = random.uniform(-1, 1, (2, mesh.owned))
    return np.column_stack([rho, rho * u, rho * v, rho * warmth + 0.5 * rho * (u * u + v * v)])


def temperature(state: State) -> State:
    rho, mx, my, energy = state.T
    result: State = (energy - 0.5 * (mx**2 + my**2) / rho) / rho
    return result


def matrix(mesh: Patch, state: State, spacing: float, scale: float) -> Any:
    """Return the equations' matrix: by the cells' places, not by the solver's words."""
    x, y = centres(mesh, spacing)
    width = spacing / 2.0**mesh.level
    diagonal = state[:, 0] * width**2
    rows, columns, values = [np.arange(mesh.owned)], [np.arange(mesh.owned)], [diagonal]
    for which, place in zip(across(mesh), (x, y), strict=True):
        low, high = mesh.faces.lower[which], mesh.faces.upper[which]
        weight = scale * np.minimum(width[low], width[high]) / (place[high] - place[low])
        rows += [low, high, low, high]
        columns += [low, high, high, low]
        values += [weight, weight, -weight, -weight]
    return scipy.sparse.csr_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    )


def test_the_temperatures_are_those_of_a_direct_solver() -> None:
    mesh, spacing = two_levels(9, 7, lambda i, j: (i + 2 * j) % 5 < 2), 0.25
    state = rough(mesh)
    inner = temperature(state) * state[:, 0] * areas(mesh, spacing)
    expected = scipy.sparse.linalg.spsolve(matrix(mesh, state, spacing, 0.3 * 2.0), inner)
    iterations = heat(mesh, spacing, conductivity=2.0, tolerance=1e-13).step(state, 0.3)
    assert 20 < iterations < mesh.owned
    np.testing.assert_allclose(temperature(state), expected, rtol=1e-11)


def gaussian(x: State, y: State, time: float) -> State:
    """Return 1 plus a Gaussian of heat 1 at (4, 4), spread for so long at diffusivity 1."""
    result: State = 1 + np.exp(-((x - 4) ** 2 + (y - 4) ** 2) / (4 * time)) / (4 * np.pi * time)
    return result


def gaussian_error(mesh: Patch, spacing: float, steps: int) -> float:
    x, y = centres(mesh, spacing)
    state = np.zeros((mesh.owned, 4))
    state[:, 0] = 2.0
    state[:, 3] = 2.0 * 3.0 * gaussian(x, y, 0.25)  # density x specific heat
    solver = heat(mesh, spacing, conductivity=6.0, specific_heat=3.0, tolerance=1e-10)
    for _ in range(steps):
        solver.step(state, 0.25 / steps)
    error = abs(state[:, 3] / 6.0 - gaussian(x, y, 0.5))
    return float(np.sum(error * areas(mesh, spacing)))


def test_a_gaussian_spreads_at_second_order_in_space_and_first_in_time() -> None:
    errors = [gaussian_error(uniform(n, n), 8 / n, steps) for n, steps in ((16, 4), (32, 16))]
    assert 3.2 < errors[0] / errors[1] < 4.8
    errors = [gaussian_error(uniform(48, 48), 8 / 48, steps) for steps in (2, 4, 8)]
    assert 1.6 < errors[0] / errors[1] < 2.2
    assert 1.6 < errors[1] / errors[2] < 2.2


def test_a_gaussian_spreads_over_the_border_of_two_levels() -> None:
    def finer(n: int) -> Patch:
        return two_levels(n, n, lambda i, j: abs(i - n / 2 + 0.5) < n / 8)

    errors = [gaussian_error(finer(n), 8 / n, n * n // 64) for n in (16, 32)]
    assert errors[1] < 0.45 * errors[0]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-8])
def test_energy_is_kept_whatever_the_tolerance(tolerance: float) -> None:
    mesh, spacing = two_levels(12, 12, lambda i, j: i > j), 0.1
    state = rough(mesh)
    weight = areas(mesh, spacing)
    before, others = fsum(weight * state[:, 3]), state[:, :3].copy()
    solver = heat(mesh, spacing, tolerance=tolerance)
    for _ in range(200):
        solver.step(state, 1e-3)
    assert fsum(weight * state[:, 3]) == pytest.approx(before, rel=1e-14)
    assert np.array_equal(state[:, :3], others)
    assert temperature(state).std() < 0.2


def test_no_time_takes_no_iterations() -> None:
    mesh = uniform(4, 4)
    state = rough(mesh)
    kept = state.copy()
    assert heat(mesh, 1.0).step(state, 0.0) == 0
    assert np.array_equal(state, kept)


def test_a_state_that_is_no_gas_is_told() -> None:
    mesh = uniform(4, 4)
    state = rough(mesh)
    state[3, 3] = np.nan
    with pytest.raises(DataError, match=r"does not converge.*invalid state"):
        heat(mesh, 1.0).step(state, 1.0)
