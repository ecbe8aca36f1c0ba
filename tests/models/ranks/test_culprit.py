"""Who the others wait for, on runs whose culprit is put in, or that have none."""

import numpy as np
import pytest
from benchmarks.synthetic.culprits import KINDS, draw, judged
from numpy.typing import NDArray

from hindmost.models.ranks.culprit import (
    CHANCE,
    Culprit,
    Doubt,
    QuickestWork,
    find_culprit,
    median_of_others,
)
from hindmost.models.ranks.lateness import lateness
from hindmost.models.recurring import find_recurring

Times = NDArray[np.float64]
RUNS = 100


@pytest.mark.parametrize("kind", KINDS)
def test_of_equal_work_no_rank_is_a_culprit(kind: str) -> None:
    """At most one in 100 runs; many have a rank that takes longer, which is doubted."""
    found = [judged(draw(kind, seed, 0.0)) for seed in range(RUNS)]
    assert sum(each is not None and each.sure for each in found) <= RUNS // 100
    if kind in ("slow part", "other job"):
        assert sum(each is not None for each in found) >= RUNS // 2


@pytest.mark.parametrize(
    ("kind", "more", "least"),
    [
        ("quiet", 0.1, 98),
        ("quiet", 1.0, 100),
        ("daemons", 0.1, 98),
        ("daemons", 1.0, 100),
        ("frequency", 0.1, 85),
        ("frequency", 1.0, 100),
        # A slow core of another rank, for most of the run, hides a culprit of two ranks.
        ("slow part", 0.2, 65),
        ("slow part", 1.0, 80),
        ("other job", 0.2, 80),
        ("other job", 1.0, 80),
    ],
)
def test_a_culprit_is_found_and_never_another_rank(kind: str, more: float, least: int) -> None:
    drawn = [draw(kind, seed, more) for seed in range(RUNS)]
    found = [(each.culprit, judged(each)) for each in drawn]
    named = [(truth, each) for truth, each in found if each is not None and each.sure]
    assert sum(truth == each.rank for truth, each in named) >= least
    assert sum(truth != each.rank for truth, each in named) <= RUNS // 100
    sizes = [each.times for truth, each in named if truth == each.rank]
    assert np.median(sizes) == pytest.approx(1.0 + more, rel=0.03)


@pytest.mark.parametrize("more", [0.0, 0.03])
def test_less_than_a_twentieth_more_is_no_culprit(more: float) -> None:
    assert not any(judged(draw("quiet", seed, more)) for seed in range(RUNS))


@pytest.mark.parametrize("ranks", [2, 3, 4, 16])
def test_twice_the_work_is_twice_and_costs_what_equal_work_saves(ranks: int) -> None:
    work = np.full((300, ranks), 10e-3)
    work[:, 1] = 20e-3
    late = lateness(work, ["n"] * ranks)
    whole_s = late.total_s + 300 * 5e-3  # the reduction takes time, too
    found = find_culprit(late, work.sum(axis=0), whole_s, QuickestWork.of(work))
    assert found is not None
    assert (found.rank, found.sure, found.last) == (1, True, 300)
    assert found.times == pytest.approx(2.0)
    # All others wait 10 ms of 25: with equal work all take the mean.
    equal_s = 300 * (work.mean() + 5e-3)
    assert found.cost_s == pytest.approx(whole_s - equal_s)
    assert found.share == pytest.approx((1 - 1 / ranks) * 10 / 25)
    assert found.saved_s == pytest.approx(300 * 10e-3)
    assert found.chance is not None
    assert found.chance < 1e-6


def test_the_culprit_is_the_one_that_costs_most_and_the_chance_is_its_own() -> None:
    """A rank with a tenth more work, and one whose every 50th iteration takes ten times as long."""
    work = np.full((300, 4), 10e-3)
    work[:, 1] += 1e-3
    work[25::50, 2] += 100e-3
    late = lateness(work, ["n"] * 4)
    assert late.last.tolist() == [0, 294, 6, 0]
    back = find_recurring(work, np.zeros(300, np.int64))
    quickest = QuickestWork.of(work).with_recurring(back, 300)
    found = find_culprit(late, work.sum(axis=0), late.total_s, quickest)
    assert found is not None
    assert (found.rank, found.sure, found.last) == (2, True, 6)
    assert found.times == pytest.approx(12.0 / 10.0)
    assert found.chance == late.chance_of(2)
    # It is last in six of 300 iterations, by chance in a quarter of them: (1/4)^6 of runs at least.
    assert 4 * 0.25**6 < late.chance_of(2) < 0.1
    # Without a rule, six long iterations may be disturbances: the other one has more work for sure.
    found = find_culprit(late, work.sum(axis=0), late.total_s, QuickestWork.of(work))
    assert found is not None
    assert (found.rank, found.sure) == (1, True)
    assert found.times == pytest.approx(1.1)


def test_sums_alone_are_no_proof_where_chance_explains_who_is_last() -> None:
    """Two ranks of equal work, one of which lost a core in six iterations."""
    work = np.full((300, 2), 10e-3)
    work[:, 0] += 1e-6 * (np.arange(300) % 2)
    work[25::50, 1] += 50e-3
    late = lateness(work, ["n"] * 2)
    found = find_culprit(late, work.sum(axis=0), late.total_s)
    assert found is not None
    assert found.chance is not None
    assert found.chance > CHANCE
    assert (found.rank, found.doubt) == (1, Doubt.FEW)


def test_few_iterations_show_nothing_unless_one_rank_has_twice_the_work() -> None:
    def of(work: Times) -> Culprit | None:
        late = lateness(work, ["n", "n"])
        return find_culprit(late, work.sum(axis=0), late.total_s, QuickestWork.of(work))

    found = of(np.tile([1.0, 1.5], (5, 1)))
    assert found is not None
    assert found.doubt is Doubt.FEW
    found = of(np.tile([1.0, 2.0], (5, 1)))
    assert found is not None
    assert found.sure
    found = of(np.tile([1.0, 1.5], (20, 1)))
    assert found is not None
    assert found.sure


def test_waiting_for_a_core_explains_work_only_if_its_quickest_iterations_have_it() -> None:
    """Steady ones may have it, as of a core that is always shared; beyond them it is noise."""
    work = np.full((200, 2), 50e-3)
    work[:, 0] += 25e-3
    late = lateness(work, ["n", "n"])

    def of(work: Times, waited_s: float) -> Culprit | None:
        own_s, wait_s = work.sum(axis=0), np.array([waited_s, 0.0])
        return find_culprit(late, own_s, late.total_s, QuickestWork.of(work), wait_s)

    found = of(work, 200 * 24e-3)
    assert found is not None
    assert found.doubt is Doubt.CORE
    assert found.waited == pytest.approx(24 / 25)
    spread = work.copy()
    spread[::2, 0] += 48e-3  # as much waiting, in every second iteration
    found = of(spread, 200 * 24e-3)
    assert found is not None
    assert found.sure


@pytest.mark.parametrize("wait_s", [0.2, 0.7])
def test_waiting_for_a_core_in_one_iteration_may_all_be_in_the_work(wait_s: float) -> None:
    work = np.array([[2.0, 1.0]])
    late, both_s = lateness(work, ["n", "n"]), np.full(2, wait_s)
    found = find_culprit(late, work[0], 4.0, QuickestWork.of(work), both_s)
    assert found is not None
    assert found.waited == pytest.approx(wait_s)
    assert found.sure == (wait_s <= 0.5)


@pytest.mark.parametrize(("on_core_s", "waited"), [(0.2, 0.9), (0.8, 0.6), (2.0, 0.0)])
def test_no_rank_works_more_than_it_had_a_core(on_core_s: float, waited: float) -> None:
    work = np.tile([[2.0, 1.0]], (2, 1))
    wait_s = np.full(2, 3.0)  # alike on both
    late = lateness(work, ["n", "n"])
    core_s = np.full(2, on_core_s)
    quickest = QuickestWork.of(work)
    found = find_culprit(late, work.sum(axis=0), 8.0, quickest, wait_s, on_core_s=core_s)
    assert found is not None
    assert found.waited == pytest.approx(waited)
    assert found.sure == (waited <= 0.5)


def test_a_node_is_the_culprit_where_none_of_its_ranks_is_alone() -> None:
    work = np.full((100, 8), 10e-3)
    work[:, 4:] = 12e-3
    hosts = ["a"] * 4 + ["b"] * 4
    late = lateness(work, hosts)
    found = find_culprit(late, work.sum(axis=0), late.total_s, QuickestWork.of(work))
    assert found is not None
    assert (found.node, found.ranks, found.sure) == ("b", (4, 5, 6, 7), True)
    assert found.times == pytest.approx(1.2)
    assert found.saved_s == pytest.approx(100 * 2e-3)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 10])
def test_medians_of_others(count: int) -> None:
    values = np.random.default_rng(count).integers(0, 5, (6, count)).astype(np.float64)
    expected = [[np.median(np.delete(row, at)) for at in range(count)] for row in values]
    np.testing.assert_array_equal(median_of_others(values), expected)
