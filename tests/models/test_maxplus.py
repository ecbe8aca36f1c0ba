from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.stochastic.latency import median_with_interval
from hindmost.models.stochastic.maxplus import max_plus_time

NO_EDGES = np.empty(0, np.int32)


def line(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    source, target = np.array(pairs, np.int32).T
    return source, target


def brute_force(
    work: NDArray[np.float64],
    latency: float,
    lag: int,
    starts: list[int],
    edges: list[tuple[int, int]],
) -> float:
    """Walk the dependencies one by one, as the module's docstring states them."""
    iterations, ranks = work.shape
    total = 0.0
    for first, last in zip(starts, [*starts[1:], iterations], strict=True):
        ended = np.zeros((last - first, ranks))
        for k in range(last - first):
            for p in range(ranks):
                waits_for = [0.0]
                if k > 0:
                    waits_for.append(ended[k - 1, p])
                    waits_for += [ended[k - 1, s] for s, t in edges if t == p]
                if k - 1 - lag >= 0:
                    waits_for.append(ended[k - 1 - lag].max() + latency)
                ended[k, p] = max(waits_for) + work[first + k, p]
        total += ended[-1].max() + latency
    return total


@pytest.mark.parametrize("lag", [0, 1, 2, 5])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_agrees_with_walking_the_dependencies(lag: int, halo: bool, ranks: int) -> None:
    work = np.random.default_rng(lag).exponential(1.0, (37, ranks))
    source, target = line(ranks) if halo and ranks > 1 else (NO_EDGES, NO_EDGES)
    starts = [0, 12, 30]
    ours = max_plus_time(
        work,
        0.3,
        lag=lag,
        cycle_starts=np.array(starts),
        edge_source=source,
        edge_target=target,
    )
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    assert ours == pytest.approx(brute_force(work, 0.3, lag, starts, edges), rel=1e-13)


def test_more_lag_never_costs_and_a_halo_of_two_ranks_takes_all_of_its_gain() -> None:
    work = np.random.default_rng(3).exponential(1.0, (500, 2))
    source, target = line(2)
    whole_run = np.array([0])

    def elapsed(lag: int, halo: bool) -> float:
        return max_plus_time(
            work,
            0.0,
            lag=lag,
            cycle_starts=whole_run,
            edge_source=source if halo else NO_EDGES,
            edge_target=target if halo else NO_EDGES,
        )

    without = [elapsed(lag, False) for lag in (0, 1, 2, 8)]
    assert without == sorted(without, reverse=True)
    assert without[-1] < 0.95 * without[0]
    assert [elapsed(lag, True) for lag in (1, 2, 8)] == pytest.approx([without[0]] * 3)


def test_paper_scale_detours_hide_behind_lag() -> None:
    # 1 ms detours of probability 1e-4: with unlimited slack the slowest rank's own work remains.
    random = np.random.default_rng(0)
    work = np.where(random.random((300, 2048)) < 1e-4, 1.1e-3, 1e-4)
    blocking, lag_8 = (
        max_plus_time(
            work,
            0.0,
            lag=lag,
            cycle_starts=np.array([0]),
            edge_source=NO_EDGES,
            edge_target=NO_EDGES,
        )
        for lag in (0, 8)
    )
    assert blocking == pytest.approx(work.max(axis=1).sum())
    assert work.sum(axis=0).max() <= lag_8 < 0.5 * blocking


def test_interval_of_the_median_holds_its_share() -> None:
    random = np.random.default_rng(5)
    held = sum(
        low <= np.log(2.0) <= high
        for low, _, high in (
            median_with_interval(random.exponential(1.0, 301)) for _ in range(1000)
        )
    )
    assert 870 <= held <= 930
