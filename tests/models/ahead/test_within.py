"""How many iterations fit into a time."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.ahead.next_iterations import STRETCH, count_within, iterations_within


def starts(times: list[float]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(times)])


@pytest.mark.parametrize(
    ("free_s", "count"), [(0.0, 0), (0.9, 0), (1.0, 1), (77.5, 77), (1e6, 10**6)]
)
def test_equal_iterations_are_divided(free_s: float, count: int) -> None:
    random = np.random.default_rng(1)
    for size in (1, 10, STRETCH, 500):
        assert count_within(starts([1.0] * size), free_s, random) == pytest.approx(count, rel=1e-9)


def test_the_mean_and_its_spread_are_those_of_independent_iterations() -> None:
    random = np.random.default_rng(2)
    times = random.exponential(1.0, 20_000)
    found = iterations_within([times], 10_000.0, random)
    # A renewal process: mean n / mu, variance n sigma^2 / mu^3; sums of a record spread less.
    assert np.mean(found.counts) == pytest.approx(10_000.0 / times.mean(), rel=2e-3)
    assert np.std(found.counts) == pytest.approx(100.0, rel=0.25)
    assert found.at_risk(0.01) < found.at_risk(0.1) < found.at_risk(0.5)


def test_jobs_are_like_one_of_the_runs() -> None:
    random = np.random.default_rng(3)
    found = iterations_within([np.full(50, 1.0), np.full(50, 2.0)], 100.0, random)
    assert set(found.counts) == {50, 100}
    assert 0.4 < np.mean(found.counts == 50) < 0.6
    assert found.bound_s == pytest.approx(1.25 * 4.0)
