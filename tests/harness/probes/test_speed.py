from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.probes.speed import (
    CELLS,
    READINGS,
    arrays,
    readings,
    sweep_and_stream,
)
from hindmost.models.compiled import compiled


def physical_flux(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euler flux in x of an ideal gas with ratio of heats 1.4."""
    density, x, y, energy = q
    pressure = 0.4 * (energy - 0.5 * (x * x + y * y) / density)
    velocity = x / density
    return np.array([x, x * velocity + pressure, y * velocity, velocity * (energy + pressure)])


def one_face(left: list[float], right: list[float]) -> NDArray[np.float64]:
    state = np.array([left, right])
    change, none = np.zeros_like(state), np.zeros(0)
    cell = np.arange(2, dtype=np.int32)
    compiled(sweep_and_stream)(cell[:1], cell[1:], state, change, 1, none, none)
    np.testing.assert_allclose(change[0], -change[1])
    return np.asarray(change[1])


def test_flux_between_like_cells_is_the_physical_one() -> None:
    q = [1.1, 0.5, -0.3, 3.0]
    np.testing.assert_allclose(one_face(q, q), physical_flux(np.array(q)), rtol=1e-14)


def test_flux_between_unlike_cells_is_rusanovs() -> None:
    left, right = np.array([1.0, 0.2, 0.1, 2.5]), np.array([0.125, -0.1, 0.0, 0.3])

    def fastest(q: NDArray[np.float64]) -> float:
        pressure = 0.4 * (q[3] - 0.5 * (q[1] ** 2 + q[2] ** 2) / q[0])
        return float(abs(q[1] / q[0]) + np.sqrt(1.4 * pressure / q[0]))

    wave = max(fastest(left), fastest(right))
    expected = 0.5 * (physical_flux(left) + physical_flux(right)) - 0.5 * wave * (right - left)
    np.testing.assert_allclose(one_face(list(left), list(right)), expected, rtol=1e-13)


def test_the_work_is_the_same_everywhere() -> None:
    left, right, state, change, _, source, target = arrays()
    columns, rows = CELLS
    assert left.size == right.size == rows * (columns - 1) + columns * (rows - 1)
    assert state.shape == (columns * rows, 4)
    inside_a_core = left.nbytes + right.nbytes + state.nbytes + change.nbytes
    assert inside_a_core < 512 * 1024
    assert source.nbytes + target.nbytes == 16 * 2**20
    assert np.bincount(np.concatenate([left, right])).max() == 4


def test_a_reading_leaves_no_trace_in_the_next() -> None:
    taken = readings()
    assert 1 <= len(taken) <= READINGS
    change, target = arrays()[3].copy(), arrays()[6].copy()
    np.testing.assert_allclose(change.sum(axis=0), 0, atol=1e-8)  # what a face takes it gives
    assert target.max() < 2  # the stream does not grow over a long run
    assert min(taken) > 0
