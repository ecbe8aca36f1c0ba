"""Samples of teams whose work is known."""

import numpy as np
import pytest

from hindmost.models.ranks.teams import TeamWork


def team(work: list[list[int]], serial: int = 0) -> TeamWork:
    """Return the team of some samples, shape (thread, region), with others that hardly work."""
    rows = [
        (thread, region, count)
        for thread, of_thread in enumerate(work)
        for region, count in enumerate(of_thread)
    ]
    thread, region, count = np.array([*rows, (0, -1, serial), (9, 0, 1)]).T
    return TeamWork.of(thread, region, count)


def test_threads_that_do_the_same_are_efficient() -> None:
    same = team([[1000, 500], [1000, 500], [1000, 500]], serial=500)
    assert same.threads.tolist() == [0, 1, 2]
    assert same.efficiency == pytest.approx(1.0, abs=1e-3)
    assert same.serial_share == pytest.approx(0.25, abs=1e-3)
    assert same.imbalance() is None


def test_the_thread_with_more_work_is_found_in_its_region() -> None:
    """The region lasts as long as that thread works: of 4 x 1600 samples 2800 are work."""
    found = team([[400, 1000], [400, 1000], [1600, 1000], [400, 1000]])
    assert found.efficiency == pytest.approx(6800 / (4 * 2600), rel=1e-3)
    slow = found.imbalance()
    assert slow is not None
    assert (slow.region, slow.thread) == (0, 2)
    assert slow.times == pytest.approx(4.0, rel=0.01)
    assert slow.lost == pytest.approx(900, rel=0.01)


def test_chance_is_no_imbalance() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        drawn = random.poisson(800, (8, 5)).tolist()
        assert team(drawn).imbalance() is None


def test_a_rank_without_regions_has_no_team() -> None:
    alone = TeamWork.of(np.zeros(2, np.int64), np.full(2, -1), np.array([10, 20]))
    assert alone.threads.size == 0
    assert alone.efficiency == 1.0
    assert alone.serial_share == 1.0
    assert alone.imbalance() is None
