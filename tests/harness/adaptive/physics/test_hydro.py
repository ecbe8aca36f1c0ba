"""Flow against the exact solution of Sod's tube, symmetries, and what is conserved."""

from __future__ import annotations

from math import fsum

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.harness.adaptive.meshes import areas, centres, two_levels, uniform
from tests.harness.adaptive.physics.sod import GAMMA, sod_density

from hindmost.harness.adaptive.mesh.patch import Patch
from hindmost.harness.adaptive.physics.flow import Hydro

END = 0.2
State = NDArray[np.float64]


def state_of(rho: State, u: State, v: State, p: State) -> State:
    return np.column_stack([rho, rho * u, rho * v, p / (GAMMA - 1) + 0.5 * rho * (u * u + v * v)])


def run(
    hydro: Hydro, state: State, *, until: float = np.inf, steps: int = 10**9, cfl: float = 0.8
) -> None:
    time = 0.0
    for _ in range(steps):
        dt = min(cfl / hydro.largest_rate(state), until - time)
        hydro.step(state, dt)
        time += dt
        if time >= until:
            return


def tube_error(mesh: Patch, spacing: float, axis: int = 0) -> float:
    """Return the mean absolute error of the density of Sod's tube, 1 long."""
    along = centres(mesh, spacing)[axis]
    left = along < 0.5
    zero = np.zeros(along.size)
    state = state_of(np.where(left, 1.0, 0.125), zero, zero, np.where(left, 1.0, 0.1))
    run(Hydro(mesh, spacing=spacing, gamma=GAMMA), state, until=END)
    exact = sod_density((along - 0.5) / END)
    weight = areas(mesh, spacing)
    return float(np.sum(weight * abs(state[:, 0] - exact)) / weight.sum())


@pytest.mark.parametrize("axis", [0, 1])
def test_the_tube_converges(axis: int) -> None:
    errors = []
    for n in (100, 200, 400):
        mesh = uniform(n, 2) if axis == 0 else uniform(2, n)
        errors.append(tube_error(mesh, 1 / n, axis))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates.min() > 0.5
    assert rates.max() < 0.9
    assert errors[-1] < 0.0085


def test_the_tube_converges_on_two_levels() -> None:
    # The waves pass the border between the levels at 0.3 and 0.7, and steps of it across.
    errors = [
        tube_error(
            two_levels(n, 4, lambda i, j, n=n: 0.3 * n <= i + (j > 1) < 0.7 * n),  # type: ignore[misc]
            1 / n,
        )
        for n in (50, 100, 200)
    ]
    uniform_error = tube_error(uniform(50, 2), 1 / 50)
    assert errors[0] < uniform_error
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates.min() > 0.5


def blast(mesh: Patch, spacing: float) -> State:
    """Return a gas at rest with much energy in the four cells in the middle."""
    x, y = centres(mesh, spacing)
    zero = np.zeros(x.size)
    near = (abs(x - 0.5) < spacing / 2) & (abs(y - 0.5) < spacing / 2)
    return state_of(zero + 1.0, zero, zero, np.where(near, 100.0, 0.01))


def test_a_blast_stays_symmetric() -> None:
    n = 32
    mesh = two_levels(n, n, lambda i, j: abs(i - 15.5) < 7 and abs(j - 15.5) < 7)
    state = blast(mesh, 1 / n)
    run(Hydro(mesh, spacing=1 / n, gamma=GAMMA), state, steps=60, cfl=0.4)
    cells = list(zip(mesh.level.tolist(), mesh.i.tolist(), mesh.j.tolist(), strict=True))
    row = {cell: number for number, cell in enumerate(cells)}
    swapped = [row[level, j, i] for level, i, j in cells]
    mirrored = [row[level, (n << level) - 1 - i, j] for level, i, j in cells]
    scale = abs(state).max(axis=0)
    assert scale[1] > 1.0  # it does move
    assert (abs(state - state[swapped][:, [0, 2, 1, 3]]) / scale).max() < 1e-12
    assert (abs(state - state[mirrored] * [1, -1, 1, 1]) / scale).max() < 1e-12


def test_mass_and_energy_are_kept() -> None:
    n = 16
    mesh = two_levels(n, n, lambda i, j: (i // 3 + j // 4) % 2 == 0)
    random = np.random.default_rng(5)
    rho, p = random.uniform(0.1, 2, (2, mesh.owned))
    u, v = random.uniform(-1, 1, (2, mesh.owned))
    state = state_of(rho, u, v, p)
    weight = areas(mesh, 1 / n)
    before = [fsum(weight * state[:, column]) for column in (0, 3)]
    run(Hydro(mesh, spacing=1 / n, gamma=GAMMA), state, steps=1000, cfl=0.4)
    after = [fsum(weight * state[:, column]) for column in (0, 3)]
    assert after == pytest.approx(before, rel=1e-14)


def test_the_rate_is_that_of_the_fastest_cell() -> None:
    mesh = two_levels(3, 2, lambda i, j: (i, j) == (1, 1))
    one = np.ones(mesh.owned)
    fast = int(np.flatnonzero(mesh.level == 1)[2])
    u, v = -0.5 * one, 0.25 * one
    u[fast], v[fast] = -3.0, -2.0
    state = state_of(one, u, v, one / GAMMA)
    rate = Hydro(mesh, spacing=0.1, gamma=GAMMA).largest_rate(state)
    assert rate == pytest.approx((3 + 2 + 2) / 0.05, rel=1e-14)


@pytest.mark.parametrize(
    ("column", "value"), [(0, -1.0), (0, 0.0), (3, -2.0), (3, np.nan), (1, np.inf), (2, np.nan)]
)
def test_what_is_no_gas_is_told(column: int, value: float) -> None:
    mesh = uniform(20, 20)
    one = np.ones(mesh.owned)
    state = state_of(one, 0 * one, 0 * one, one)
    hydro = Hydro(mesh, spacing=1.0, gamma=GAMMA)
    assert hydro.flaw(state) == -1
    assert np.isfinite(hydro.largest_rate(state))
    state[377, column] = value
    assert hydro.flaw(state) == 377
    assert hydro.largest_rate(state) == np.inf
