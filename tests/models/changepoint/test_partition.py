from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.changepoint.robust.partition import level_grid, partition

BOUND = 2.5


def segment_cost(
    y: NDArray[np.float64], sigma: NDArray[np.float64], levels: NDArray[np.float64]
) -> float:
    r = (y - levels[:, None]) / sigma
    loss = np.minimum(r * r, BOUND**2) + 0.02 * np.abs(r)
    return float(loss.sum(axis=1).min())


def least_cost(
    y: NDArray[np.float64],
    sigma: NDArray[np.float64],
    levels: NDArray[np.float64],
    penalty: float,
    shortest: int,
) -> float:
    """Try every set of changes."""
    best = np.inf
    for count in range(y.size // shortest):
        for changes in combinations(range(1, y.size), count):
            bounds = [0, *changes, y.size]
            if min(np.diff(bounds)) < shortest:
                continue
            best = min(best, cost_of(bounds, y, sigma, levels, penalty))
    return best


def cost_of(
    bounds: list[int],
    y: NDArray[np.float64],
    sigma: NDArray[np.float64],
    levels: NDArray[np.float64],
    penalty: float,
) -> float:
    parts = [slice(a, b) for a, b in pairwise(bounds)]
    return sum(segment_cost(y[part], sigma[part], levels) + penalty for part in parts)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shortest", [1, 3])
def test_no_set_of_changes_costs_less(seed: int, shortest: int) -> None:
    random = np.random.default_rng(seed)
    y = np.repeat(random.normal(0.0, 3.0, 3), [4, 5, 3]) + random.normal(0.0, 0.7, 12)
    y[random.integers(12)] += 8.0
    sigma = np.where(np.arange(12) < 6, 0.6, 0.9)
    levels = np.linspace(y.min(), y.max(), 60)
    for penalty in (2.0, 7.0, 20.0):
        starts = partition(y, sigma, levels, BOUND, np.full(12, penalty), shortest)
        assert starts[0] == 0
        assert min(np.diff([*starts, 12])) >= shortest
        found = cost_of([*starts.tolist(), 12], y, sigma, levels, penalty)
        assert found == pytest.approx(least_cost(y, sigma, levels, penalty, shortest), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_grid_loses_little_against_free_levels(seed: int) -> None:
    random = np.random.default_rng(seed)
    y = random.normal(0.0, 1.0, 40)
    y[::13] += 9.0
    fine = np.linspace(y.min(), y.max(), 20001)
    grid = level_grid(y, 1.0, 3.0)
    sigma = np.ones(40)
    lost = segment_cost(y, sigma, grid) - segment_cost(y, sigma, fine)
    assert 0.0 <= lost + 1e-9 <= 40 * 0.15**2
