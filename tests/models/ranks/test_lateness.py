from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.events import EventKind
from hindmost.models.ranks.critical import PathSum
from hindmost.models.ranks.extrema import extrema_of
from hindmost.models.ranks.histogram import empty_histogram
from hindmost.models.ranks.lateness import Sweep, lateness
from hindmost.models.ranks.profile import ProfileSum
from hindmost.models.stochastic.replay import EventBlock, Latencies, Replay, whole_bodies

Values = NDArray[np.float64]


def test_who_is_hindmost_by_hand() -> None:
    work = np.array([[1.0, 2.0, 4.0, 3.0], [5.0, 1.0, 2.0, 2.0], [1.0, 1.0, 9.0, 8.0]])
    found = lateness(work, ["a", "a", "b", "b"])
    assert found.total_s == 4 + 5 + 9
    assert found.last.tolist() == [1, 0, 2, 0]
    assert found.charged_s.tolist() == [4 + 3 + 3, 0, (3 + 2 + 1) + (8 + 8 + 1), 0]
    assert found.lost_s.tolist() == [3, 0, 1 + 1, 0]
    # as a node: b is last by 4 - 2 and 9 - 1, a by 5 - 2
    assert found.node_lost_s.tolist() == [3, 2 + 8]
    assert found.node_last.tolist() == [1, 2]
    assert found.waited_s.tolist() == [3 + 0 + 8, 2 + 4 + 8, 0 + 3 + 0, 1 + 3 + 1]
    assert found.charged_s.sum() == found.waited_s.sum()
    assert found.longest_body.tolist() == [1, 0, 2, 2]


def test_blocks_add_up_to_numpys_moments_and_slopes() -> None:
    random = np.random.default_rng(0)
    work = 5.0 + random.random((101, 7)) + np.linspace(0, 1, 101)[:, None] * np.arange(7)
    sweep = Sweep(["n"] * 7, 101)
    for rows in np.array_split(np.arange(101), [3, 4, 60]):
        sweep.add(work[rows])
    sweep.add(work[:0])
    found = sweep.result()
    np.testing.assert_allclose(found.work_s, work.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.deviation_s, work.std(axis=0), rtol=1e-10)
    slope = np.polyfit(np.arange(101), work, 1)[0]
    np.testing.assert_allclose(found.drift, slope * 100 / work.mean(axis=0), rtol=1e-9)
    assert lateness(np.array([[1.0], [2.0]]), ["n"]).drift[0] == pytest.approx(1.0 / 1.5)
    with pytest.raises(DataError, match="body 101 is not a number"):
        sweep.add(np.full((1, 7), np.nan))


def test_of_ranks_that_come_last_together_none_is_the_last_one() -> None:
    alike = lateness(np.ones((200, 4)), ["a"] * 4)
    assert alike.last.tolist() == [0] * 4
    assert alike.chance == 1.0
    # Two of a node at once, then two of different nodes; they share what the third waits.
    found = lateness(np.array([[5.0, 5.0, 2.0], [4.0, 1.0, 4.0]]), ["a", "a", "b"])
    assert found.last.tolist() == [0, 0, 0]
    assert found.charged_s.tolist() == [1.5 + 1.5, 1.5, 1.5]
    assert found.node_last.tolist() == [1, 0]
    assert found.node_charged_s.tolist() == [3.0 + 1.5, 1.5]
    assert found.node_lost_s.tolist() == [3.0, 0.0]
    assert found.charged_s.sum() == found.waited_s.sum()


def test_one_rank_and_one_node_cost_nobody_anything() -> None:
    found = lateness(np.ones((5, 1)), ["n"])
    assert (found.lost_s[0], found.charged_s[0], found.node_lost_s[0]) == (0, 0, 0)


def test_chance_is_told_from_a_culprit() -> None:
    random = np.random.default_rng(1)
    work = random.random((400, 32))
    assert lateness(work, ["n"] * 32).chance > 0.05
    work[:, 7] += 0.05
    found = lateness(work, ["n"] * 32)
    assert found.chance < 1e-3
    assert {each.criterion: each for each in extrema_of(found, None)}["most often last"].ranks[
        0
    ] == 7


def test_histograms_count_everything() -> None:
    durations = np.geomspace(1e-7, 1e-1, 1000)
    empty = empty_histogram(1e-6, 1e-2, 16)
    found = empty.with_more(durations[:500]).with_more(durations[500:])
    counts, _ = np.histogram(durations, empty.edges)
    np.testing.assert_array_equal(found.counts, counts)
    assert (found.below, found.above) == ((durations < 1e-6).sum(), (durations > 1e-2).sum())
    assert found.total == 1000
    assert empty.with_more(np.array([1e-6, 1e-2])).counts.sum() == 2
    with pytest.raises(UsageError, match="bounds above zero that ascend"):
        empty_histogram(1.0, 0.5)


def profile_of(begin: Values, end: Values, bodies: int = 50) -> ProfileSum:
    """Lay bodies of one second end to end; ranks work from begin to end."""
    start = np.arange(bodies)[:, None] + begin
    duration = np.broadcast_to(1.0 - begin, start.shape)
    found = ProfileSum(begin.size, float(bodies), 100)
    found.add(start, np.broadcast_to(end - begin, start.shape), np.ascontiguousarray(duration))
    return found


def test_profiles_hold_all_work_and_slopes_tell_imbalance_from_late_starts() -> None:
    even, spread = np.full(400, 0.9), np.linspace(0.5, 0.9, 400)
    falling = profile_of(np.zeros(400), spread)
    of_run = falling.of_run
    assert (of_run.busy * np.diff(of_run.edges)).sum() == pytest.approx(50 * spread.sum())
    slopes = falling.slopes()
    # all at work until 0.5, none after 0.9: from 90 to 10 % in 0.32, slope 1 / 0.4
    assert slopes.fall_s == pytest.approx(0.32, abs=0.02)
    assert slopes.downward == pytest.approx(-2.5, rel=0.03)
    assert slopes.early_end_share == pytest.approx(1 - spread.mean(), rel=1e-6)
    assert slopes.rise_s < 0.02
    assert "load imbalance" in slopes.explain()
    assert "communication" not in slopes.explain()
    rising = profile_of(np.linspace(0.0, 0.4, 400), even).slopes()
    assert rising.upward == pytest.approx(2.5, rel=0.03)
    assert rising.late_begin_share == pytest.approx(0.2, rel=1e-6)
    assert "slow communication" in rising.explain()
    assert "No gradual slope" in profile_of(np.zeros(400), even).slopes().explain()


def ring(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.arange(ranks, dtype=np.int32), ((np.arange(ranks) + 1) % ranks).astype(np.int32)


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_the_critical_path_is_as_long_as_the_replay(lag: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    bodies, ranks = 25, 6
    kinds = [EventKind.RECEIVE, EventKind.SEND, EventKind.REDUCE]
    if lag:
        kinds = [EventKind.COMPLETE, EventKind.RECEIVE, EventKind.SEND, EventKind.POST]
    shape = (bodies, ranks, len(kinds))
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=random.exponential(1.0, shape),
        duration=random.exponential(0.1, shape),
        rest=random.exponential(0.2, (bodies, ranks)),
        cycle_begins=np.arange(bodies) % 10 == 0,
    )
    replay = Replay(ranks, Latencies.of_reductions(len(kinds), 0.0), *ring(ranks), lag=lag)
    replay.advance(block)
    path = PathSum(ranks, *ring(ranks), lag=lag)
    path.add(block)
    found = path.result()
    assert found.length_s == pytest.approx(replay.elapsed_s, rel=1e-12)
    assert found.visits.sum() >= 3


def test_of_whole_bodies_the_path_is_the_last_rank_of_each() -> None:
    work = np.random.default_rng(4).random((30, 5))
    path = PathSum(5, *(np.empty(0, np.int32),) * 2)
    path.add(whole_bodies(work, 0, np.zeros(30, bool)))
    wanted = np.bincount(work.argmax(axis=1), work.max(axis=1), minlength=5)
    np.testing.assert_allclose(path.result().seconds, wanted, rtol=1e-12)


def test_bodies_of_different_length_do_not_pass_for_imbalance() -> None:
    length = np.random.default_rng(0).uniform(1.0, 3.0, (60, 1))
    start = np.cumsum(np.vstack([[0.0], length[:-1, 0:1]]), axis=0) * np.ones(16)
    found = ProfileSum(16, float(length.sum()), 100)
    found.add(start, 0.8 * length * np.ones(16), length * np.ones(16))
    slopes = found.slopes()
    assert slopes.fall_share < 0.02
    assert slopes.early_end_share == pytest.approx(0.2)
    assert "No gradual slope" in slopes.explain()
