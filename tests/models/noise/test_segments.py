from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.noise.segments import segment_starts


def cost_of(series: NDArray[np.float64], starts: list[int], penalty: float) -> float:
    parts = np.split(series, starts[1:])
    return float(sum(np.sum((part - part.mean()) ** 2) for part in parts)) + penalty * len(starts)


def least_cost(series: NDArray[np.float64], penalty: float) -> float:
    """Try every last segment for every length: the recursion without any pruning."""
    best = [0.0]
    for t in range(1, series.size + 1):
        best.append(
            min(
                best[s] + t_s * float(series[s:t].var()) + penalty
                for s in range(t)
                for t_s in (t - s,)
            )
        )
    return best[-1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.05, 1.0, 8.0, 60.0])
def test_no_segmentation_costs_less(seed: int, penalty: float) -> None:
    random = np.random.default_rng(seed)
    levels = np.repeat(random.normal(0.0, 2.0, 6), random.integers(1, 40, 6))
    series = 1000.0 + levels + random.standard_normal(levels.size)
    if seed % 2:
        series = np.round(series)  # ties
    starts = segment_starts(series, penalty).tolist()
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert cost_of(series, starts, penalty) == pytest.approx(least_cost(series, penalty), rel=1e-9)


def test_finds_the_cuts_of_clear_steps() -> None:
    series = np.repeat([0.0, 5.0, -3.0, 0.0], [30, 1, 20, 9])
    assert segment_starts(series, 2.0).tolist() == [0, 30, 31, 51]
    assert segment_starts(series, 1e6).tolist() == [0]


def test_constant_and_short_series_are_one_segment() -> None:
    assert segment_starts(np.full(50, 7.0), 1.0).tolist() == [0]
    assert segment_starts(np.array([3.0]), 1.0).tolist() == [0]


def test_a_long_quiet_series_is_no_quadratic_task() -> None:
    # A pruning that needs changes to prune at all would take 10^10 steps here.
    series = np.random.default_rng(0).standard_normal(200_000)
    assert segment_starts(series, 30.0).tolist() == [0]


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(DataError, match="shape"):
        segment_starts(np.empty(0), 1.0)
    with pytest.raises(DataError, match="not a number"):
        segment_starts(np.array([1.0, np.nan]), 1.0)
    with pytest.raises(UsageError, match="more than nothing"):
        segment_starts(np.ones(3), 0.0)
