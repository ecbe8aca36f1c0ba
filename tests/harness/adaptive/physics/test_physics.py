"""Gas dynamics, heat and the criterion of adaption against known solutions."""

from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray
from tests.harness.adaptive.meshes import across, areas, centres, no_ghosts, two_levels, uniform
from tests.harness.adaptive.physics.sod import GAMMA, sod_density

from hindmost.errors import DataError
from hindmost.harness.adaptive.decks import DECKS, Deck
from hindmost.harness.adaptive.mesh.patch import Patch
from hindmost.harness.adaptive.physics.flow import Hydro, refinement_flags
from hindmost.harness.adaptive.physics.heat import Conduction

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


def moving_state(rho: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([rho, 3 * rho, -rho, p / (GAMMA - 1) + 5 * rho])


DECK = replace(
    DECKS["timing-b"], heat=False, divide=0.1, combine=0.02, levels=1, buffer=0, gamma=GAMMA
)


def criterion(**changed: Any) -> Deck:
    return replace(DECK, **changed)


def flags(mesh: Patch, state: NDArray[np.float64], deck: Deck) -> list[int]:
    result: list[int] = refinement_flags(deck, mesh, state, fill=no_ghosts).tolist()
    return result


@pytest.mark.parametrize("quantity", ["density", "pressure"])
@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_of_a_jump_divide(quantity: str, sign: int) -> None:
    mesh = uniform(6, 1)
    jumping = np.array([1, 1, 1, 1.2, 1.2, 1.2])[::sign]
    one = np.ones(6)
    state = moving_state(jumping, one) if quantity == "density" else moving_state(one, jumping)
    assert flags(mesh, state, criterion()) == [0, 0, 1, 1, 0, 0]
    assert flags(mesh, state, criterion(divide=0.2001)) == [0] * 6
    assert flags(mesh, state, criterion(levels=0)) == [0] * 6
    assert flags(mesh, state, criterion(buffer=1)) == [0, 1, 1, 1, 1, 0]


def test_where_nothing_jumps_fine_cells_combine() -> None:
    mesh = two_levels(3, 1, lambda i, j: i < 2)
    rho = np.ones(mesh.owned)
    rho[mesh.i + 2 * (1 - mesh.level) > 2] = 1.05  # between the thresholds: these cells keep
    assert mesh.level.tolist() == [1] * 8 + [0]
    assert flags(mesh, moving_state(rho, rho**0), criterion()) == [-1, -1, -1, -1, 0, 0, 0, 0, 0]


def test_temperature_counts_only_if_asked() -> None:
    mesh = uniform(4, 1)
    rho, p = np.array([1, 1, 1.06, 1.06]), np.array([1, 1, 0.95, 0.95])
    state = moving_state(rho, p)  # jumps: density 0.06, pressure 0.053, temperature 0.116
    assert flags(mesh, state, criterion()) == [0] * 4
    assert flags(mesh, state, criterion(heat=True)) == [0, 1, 1, 0]
