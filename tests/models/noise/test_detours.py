"""Detours from times alone, slow iterations, and how nodes differ."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from hindmost.errors import DataError
from hindmost.harness.recorder.injection import planned_ns, read_law
from hindmost.models.noise.clocks import timing_of
from hindmost.models.noise.detours import RankDetours, find_detours
from hindmost.models.noise.node_spread import spread_over_nodes
from hindmost.models.noise.slow_iterations import (
    find_slow_groups,
    segment_starts,
)
from hindmost.records import to_document

N = 3000
WORK_S = 100e-6
FloatArray = NDArray[np.float64]


def jitter(kind: str, count: int = N) -> FloatArray:
    random = np.random.default_rng(7)
    if kind == "normal":
        return random.normal(0.0, 1e-6, count)
    return random.lognormal(0.0, 0.5, count) * 1e-6  # skewed, as caches make it


def found_in(work_s: FloatArray, place: NDArray[np.int64] | None = None) -> RankDetours:
    start = np.concatenate(([0.0], np.cumsum(work_s)[:-1]))
    places = np.zeros(work_s.size, np.int64) if place is None else place
    found = find_detours(work_s, start, places)
    assert found is not None
    return found


def injected_s(law: str, count: int = N) -> FloatArray:
    return 1e-9 * planned_ns(read_law(law).of_rank(0, seed=1, repeat=0), count)


LAWS = {
    "exponential:mean=50us": "exponential",
    "exponential:mean=20us,probability=0.1": "exponential",
    "exponential:mean=500us,probability=0.03": "exponential",
    "exponential:mean=20us,probability=0.4": "exponential",
    "fixed:length=1ms,probability=0.01": "fixed",
    "fixed:length=20us,probability=0.3": "fixed",
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", [pytest.param("normal", marks=pytest.mark.slow), "lognormal"])
def test_rate_and_length_are_recovered(law: str, kind: str) -> None:
    detour_s = injected_s(law)
    found = found_in(WORK_S + jitter(kind) + detour_s)
    taken = detour_s[detour_s > 0.0]
    assert found.families[0].kind == LAWS[law]
    assert found.families[0].count == pytest.approx(taken.size, rel=0.1)
    assert found.families[0].mean_s == pytest.approx(taken.mean(), rel=0.1)
    assert found.share == pytest.approx(detour_s.sum() / found.seconds, rel=0.1)
    assert found.families[0].period_s is None
    assert found.families[0].timing_known == (taken.size <= 0.5 * N)


def test_detours_of_other_kinds_do_not_disturb() -> None:
    random = np.random.default_rng(3)
    rare = np.where(random.random(N) < 0.003, random.exponential(4e-3, N), 0.0)
    for law in ("exponential:mean=50us", "exponential:mean=20us,probability=0.1"):
        detour_s = injected_s(law)
        found = found_in(WORK_S + jitter("lognormal") + detour_s + rare)
        taken = detour_s[detour_s > 0.0]
        often = max(found.families, key=lambda each: each.count)
        assert often.count == pytest.approx(taken.size, rel=0.1)
        assert often.mean_s == pytest.approx(taken.mean(), rel=0.1)
        others_s = found.others_s + sum(each.total_s for each in found.families) - often.total_s
        assert others_s == pytest.approx(rare.sum(), rel=0.1)


def test_work_that_grows_in_the_restart_cycle_is_no_detour() -> None:
    place = np.arange(N) % 30
    grown = WORK_S + 3e-6 * place + jitter("normal")
    assert not found_in(grown, place).families
    detour_s = injected_s("exponential:mean=50us")
    found = found_in(grown + detour_s, place)
    assert found.families[0].mean_s == pytest.approx(detour_s.mean(), rel=0.1)
    assert found.work_s == pytest.approx(grown.mean(), rel=0.05)


def test_places_of_a_single_cycle_are_taken_together() -> None:
    place = np.arange(N)
    detour_s = injected_s("exponential:mean=50us")
    found = found_in(WORK_S + 10e-9 * place + jitter("normal") + detour_s, place)
    assert found.families[0].kind == "exponential"
    assert found.families[0].count == pytest.approx(N, rel=0.1)
    assert found.families[0].mean_s == pytest.approx(detour_s.mean(), rel=0.1)


def test_a_single_spike_is_no_kind_of_detours() -> None:
    work_s = np.append(WORK_S + jitter("normal", 300), 1.0)
    found = found_in(work_s)
    assert not found.families
    assert found.others == pytest.approx(1.0, abs=0.1)
    assert found.others_s == pytest.approx(1.0, rel=0.01)


def test_a_quiet_rank_has_none() -> None:
    found = found_in(WORK_S + jitter("normal"))
    assert not found.families
    assert found.share < 1e-3
    assert found.least_s == pytest.approx(5e-6, rel=0.2)


def test_rare_detours_of_any_length_are_counted() -> None:
    work_s = WORK_S + jitter("normal")
    work_s[50::400] += np.geomspace(30e-6, 30e-3, work_s[50::400].size)
    found = found_in(work_s)
    (first,) = found.families or (None,)
    count, total_s = (first.count, first.total_s) if first else (0.0, 0.0)
    assert count + found.others == pytest.approx(work_s[50::400].size, rel=0.15)
    assert total_s + found.others_s == pytest.approx((work_s - WORK_S)[50::400].sum(), rel=0.1)


def on_a_clock(
    period_s: float, length_s: float, kind: str, more_s: FloatArray | float = 0.0
) -> tuple[FloatArray, int]:
    """Return the work of iterations with detours on a clock, and how many iterations have one."""
    work_s = WORK_S + jitter(kind) + more_s
    now_s, next_s, disturbed = 0.0, period_s / 3, 0
    for k in range(N):
        due = 0
        while next_s <= now_s:
            next_s += period_s
            due += 1
        work_s[k] += due * length_s
        disturbed += due > 0
        now_s += work_s[k]
    return work_s, disturbed


@pytest.mark.parametrize("kind", ["normal", "lognormal"])
@pytest.mark.parametrize(("period_s", "length_s"), [(10e-3, 100e-6), (1e-3, 30e-6)])
def test_a_clock_is_found(kind: str, period_s: float, length_s: float) -> None:
    work_s, disturbed = on_a_clock(period_s, length_s, kind)
    found = found_in(work_s)
    assert found.families[0].kind == "fixed"
    assert found.families[0].period_s == pytest.approx(period_s, rel=0.01)
    assert found.families[0].mean_s == pytest.approx(length_s, rel=0.1)
    assert found.families[0].count == pytest.approx(disturbed, rel=0.1)


def test_random_times_have_no_period() -> None:
    random = np.random.default_rng(5)
    for count in (8, 30, 300):
        for _ in range(30):
            times = np.sort(random.uniform(0.0, 1.0, count))
            assert timing_of(times, np.arange(0.0, 1.0, 1e-3)).period_s is None
    times = np.arange(40) + random.uniform(-0.1, 0.1, 40)
    every = np.arange(-1.0, 41.0, 0.05)
    clock = timing_of(np.delete(times, [3, 17, 18]), every)
    assert clock.period_s == pytest.approx(1.0, rel=0.01)
    assert clock.share > 0.9
    assert not timing_of(times[:7], every).known
    assert not timing_of(np.zeros(20), every).known


def test_detours_in_the_turns_of_a_core_have_no_known_timing() -> None:
    random = np.random.default_rng(6)
    every = np.arange(4000) * 1e-4
    every += 8e-3 * (np.arange(4000) // 40)  # 4 ms of work, then 8 ms of another process
    times = every[np.sort(random.choice(4000, 300, replace=False))]
    timing = timing_of(times, every)
    assert timing.period_s is None
    assert not timing.known


def test_too_few_iterations_say_nothing() -> None:
    assert find_detours(np.ones(99), np.arange(99.0), np.zeros(99, np.int64)) is None


def test_equal_times_are_no_noise() -> None:
    found = found_in(np.full(N, WORK_S))
    assert not found.families
    assert found.share == 0.0


@pytest.mark.parametrize(("count", "known"), [(15, False), (60, True)])
def test_few_detours_without_a_clock_are_not_called_random(count: int, known: bool) -> None:
    every_s = np.arange(10_000) * 1e-4
    times_s = np.sort(np.random.default_rng(3).choice(every_s, count, replace=False))
    timing = timing_of(times_s, every_s)
    assert timing.period_s is None
    assert timing.known == known


def test_every_nth_iteration_is_the_program_and_no_noise() -> None:
    random = np.random.default_rng(3)
    work_s = (WORK_S + jitter("normal")) * np.linspace(1.0, 1.3, N)
    rare = random.random(N) < 0.02
    work_s[rare] += random.exponential(2e-3, int(rare.sum()))
    work_s[98::100] += 40e-3
    found = found_in(work_s)
    (own,) = [each for each in found.families if each.rule is not None]
    assert (own.every, own.first, own.kind) == (100, 98, "fixed")
    assert own.count == pytest.approx(30, abs=2)
    assert (own.timing_known, own.period_s) == (True, None)
    assert found.noise_share == pytest.approx(found.share - own.total_s / found.seconds)
    assert found.noise_share < 0.5 * found.share


RESTART = 30


def quiet_run(iterations: int, phi: float, seed: int) -> NDArray[np.float64]:
    """Return row maxima whose logs are a ramp over the restart cycle and AR(1) noise of 10 %."""
    noise = np.random.default_rng(seed).standard_normal(iterations + 200)
    logs = 0.1 * np.sqrt(1 - phi**2) * signal.lfilter([1.0], [1.0, -phi], noise)[200:]
    return np.asarray(1e-4 * (1.0 + places(iterations) / RESTART) * np.exp(logs))


def places(iterations: int) -> NDArray[np.int64]:
    return np.arange(iterations) % RESTART


@pytest.mark.parametrize(
    "phi", [*(pytest.param(phi, marks=pytest.mark.slow) for phi in (0.0, 0.5)), 0.9]
)
def test_quiet_runs_have_no_groups(phi: float) -> None:
    runs, iterations = 150, 2000
    false = sum(
        len(find_slow_groups(quiet_run(iterations, phi, seed), places(iterations)).groups) > 0
        for seed in range(runs)
    )
    # Fails if more than 1 run of 100 is likely to have one.
    assert stats.binomtest(false, runs, 0.01, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize(
    "law", ["cauchy", pytest.param("rare detours", marks=pytest.mark.slow), "coarse clock"]
)
def test_heavy_tails_and_ties_are_no_groups(law: str) -> None:
    random = np.random.default_rng(9)
    false = 0
    for _ in range(60):
        if law == "cauchy":
            times = np.exp(np.clip(random.standard_cauchy(2000), -30, 30))
        elif law == "rare detours":
            times = 1e-4 + (random.random(2000) < 0.01) * random.exponential(1e-2, 2000)
        else:
            times = np.ceil(random.gamma(4.0, 1.0, 2000))
        false += len(find_slow_groups(times, places(2000)).groups) > 0
    assert false <= 4


@pytest.mark.parametrize("phi", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
def test_finds_50_iterations_that_are_1_3_times_slower(phi: float) -> None:
    found = 0
    for seed in range(60):
        times = quiet_run(5000, phi, seed)
        first = int(np.random.default_rng(seed).integers(0, 4950))
        times[first : first + 50] *= 1.3
        groups = find_slow_groups(times, places(5000)).groups
        found += len(groups) == 1 and abs(groups[0].first - first) <= 6
    assert found >= 54


def test_says_where_how_much_and_what_it_cost() -> None:
    times = quiet_run(5000, 0.0, seed=1)
    baseline = times.copy()
    times[1700:2301] *= 1.4
    times[4000:4101] *= 2.0
    groups = find_slow_groups(times, places(5000))
    first, second = groups.groups
    assert first.first == pytest.approx(1700, abs=3)
    assert first.last == pytest.approx(2300, abs=3)
    assert second.first == pytest.approx(4000, abs=3)
    assert second.last == pytest.approx(4100, abs=3)
    assert first.factor == pytest.approx(1.4, rel=0.02)
    assert second.factor == pytest.approx(2.0, rel=0.05)
    lost = times.sum() - baseline.sum()
    assert groups.lost_share == pytest.approx(lost / times.sum(), rel=0.1)
    assert groups.baseline_s == pytest.approx(baseline.mean(), rel=0.02)
    assert groups.places == RESTART
    assert "2 groups of slow iterations" in groups.explain()
    assert f"iterations {first.first} to {first.last}, in the median 1.4" in groups.explain()
    figures = json.loads(json.dumps(to_document(groups)))
    assert figures["groups"][1]["last"] == second.last


def test_the_work_of_the_restart_cycle_is_no_group() -> None:
    iterations = 5000
    position = np.arange(iterations) % 1000
    noise = np.random.default_rng(3).normal(1.0, 0.01, iterations)
    times = 1e-4 * np.where(position < 100, 2.0, 1.0) * noise
    assert find_slow_groups(times, position).groups == ()
    # Taken for a single place, every cycle has one.
    assert len(find_slow_groups(times, np.zeros(iterations, int)).groups) == 5
    # A solver that never restarts has every place once: nothing is taken off.
    whole = find_slow_groups(noise * 1e-4, np.arange(iterations))
    assert (whole.places, whole.groups) == (1, ())


def test_a_stretch_whose_sum_is_no_larger_costs_nothing() -> None:
    rng = np.random.default_rng(5)
    maxima = 1e-3 * np.exp(0.01 * rng.standard_normal(400))
    place = np.zeros(400, np.int64)
    slower = maxima.copy()
    slower[:150] *= 1.1
    (group,) = find_slow_groups(slower, place).groups
    assert (group.first, group.last) == (0, 149)
    assert group.lost_share == pytest.approx(0.15 / 4.15, rel=0.1)
    # The median is as slow, but the mean is faster.
    maxima[:150] *= np.where(rng.random(150) < 0.7, 1.1, 0.3)
    assert find_slow_groups(maxima, place).groups == ()


def test_many_groups_are_no_correlation() -> None:
    times = quiet_run(5000, 0.0, seed=4)
    for first in range(100, 5000, 250):
        times[first : first + 50] *= 1.5
    assert len(find_slow_groups(times, places(5000)).groups) == 20


def test_slow_noise_below_fast_noise_is_found_out() -> None:
    # Neighbours correlate by 0.45 only, but the correlation lasts: tau is near 10.
    false = 0
    for seed in range(30):
        slow = np.log(quiet_run(5000, 0.9, seed) / quiet_run(5000, 0.0, 10_000 + seed))
        false += len(find_slow_groups(np.exp(slow), places(5000)).groups) > 0
    assert false <= 3


def test_without_groups_the_baseline_is_the_median() -> None:
    """Also where most iterations are slower than those of a first stretch."""
    random = np.random.default_rng(1)
    times = 7e-3 * np.exp(0.5 * random.standard_normal(3000))
    times[:1100] *= 0.7
    groups = find_slow_groups(times, places(3000))
    assert not groups.groups
    assert groups.baseline_s == pytest.approx(np.median(times), rel=1e-3)
    assert np.median(times[1100:]) > 1.1 * groups.baseline_s


@pytest.mark.parametrize(
    ("times", "position", "word"),
    [
        (np.ones(10), np.zeros(10, int), "at least 20"),
        (np.ones(30), np.zeros(29, int), "shape"),
        (np.zeros(30), np.zeros(30, int), "above 0"),
    ],
)
def test_what_cannot_be_judged_is_refused(
    times: NDArray[np.float64], position: NDArray[np.int64], word: str
) -> None:
    with pytest.raises(DataError, match=word):
        find_slow_groups(times, position)


def cost(values: NDArray[np.float64], cuts: tuple[int, ...], penalty: float) -> float:
    parts = np.split(values, cuts)
    return float(sum(np.sum((part - part.mean()) ** 2) for part in parts)) + penalty * len(cuts)


@pytest.mark.parametrize("seed", range(6))
def test_segments_are_those_of_all_ways_to_cut(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.standard_normal(9) + np.repeat(random.normal(0.0, 3.0, 3), 3)
    ways = [cuts for count in range(9) for cuts in combinations(range(1, 9), count)]
    best = min(ways, key=lambda cuts: cost(values, cuts, 2.0))
    assert segment_starts(values, np.ones(9, np.intp), 2.0).tolist() == [0, *best]


def layout(
    sizes: list[int], *, between: float, within: float, iterations: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return times with these deviations on shuffled ranks, and the node of each rank."""
    random = np.random.default_rng(seed)
    node = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    effect = between * random.standard_normal((iterations, len(sizes)))
    pace = 1e-4 * random.lognormal(0.0, 0.5, (iterations, 1))  # iterations differ much more
    noise = within * random.standard_normal((iterations, node.size))
    return 1e-3 + pace + effect[:, node] + noise, node


@pytest.mark.parametrize("sizes", [[4, 4, 4], [1, 5, 2, 7]])
def test_splits_the_variance_as_the_f_test_does(sizes: list[int]) -> None:
    times, node = layout(sizes, between=2e-6, within=1e-6, iterations=6, seed=1)
    spread = spread_over_nodes(times, node)
    unbalanced = (sum(sizes) - sum(n * n for n in sizes) / sum(sizes)) / (len(sizes) - 1)
    for k in range(6):
        groups = [times[k, node == i] for i in range(len(sizes))]
        expected = stats.f_oneway(*groups).statistic
        ratio = 1.0 + unbalanced * spread.between[k] / spread.within[k]
        assert ratio == pytest.approx(expected, rel=1e-6)
        squares = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
        assert spread.within[k] == pytest.approx(squares / (sum(sizes) - len(sizes)), rel=1e-6)


@pytest.mark.parametrize("sizes", [[8] * 10, [1, 3, 16, 8, 20, 2, 30]])
@pytest.mark.parametrize("between", [0.0, 1e-6, 8e-6])
def test_recovers_the_components_it_was_made_of(sizes: list[int], between: float) -> None:
    times, node = layout(sizes, between=between, within=2e-6, iterations=3000, seed=2)
    spread = spread_over_nodes(times, node)
    assert spread.pooled_within == pytest.approx(4e-12, rel=0.02)
    assert spread.pooled_between == pytest.approx(between**2, rel=0.1, abs=4e-14)
    assert spread.intraclass == pytest.approx(between**2 / (between**2 + 4e-12), abs=0.02)


def test_nodes_are_recommended_where_iterates_are_nearly_constant_on_a_node() -> None:
    times, node = layout([64] * 16, between=1e-5, within=1e-7, iterations=50, seed=4)
    spread = spread_over_nodes(times, node)
    assert spread.recommended == "nodes"
    assert "Use P = 16 (nodes)" in spread.explain()
    loose, node = layout([64] * 16, between=1e-6, within=1e-6, iterations=50, seed=4)
    spread = spread_over_nodes(loose, node)
    assert spread.recommended == "ranks"
    assert "Use P = 1024 (ranks)" in spread.explain()
    figures = json.loads(json.dumps(to_document(spread), allow_nan=False))
    assert figures["intraclass"] == pytest.approx(0.5, abs=0.1)


def test_times_without_spread_are_answered() -> None:
    spread = spread_over_nodes(np.full((3, 4), 1e-4), np.array([0, 0, 1, 1]))
    assert spread.intraclass == 0.0
    assert spread.recommended == "ranks"


@pytest.mark.parametrize(
    ("times", "node", "word"),
    [
        (np.ones((3, 4)), np.zeros(4, int), "one node"),
        (np.ones((3, 4)), np.arange(4), "alone on its node"),
        (np.ones((3, 4)), np.zeros(3, int), "shape"),
        (np.full((3, 4), np.inf), np.array([0, 0, 1, 1]), "not a number"),
    ],
)
def test_what_cannot_be_split_is_refused(
    times: NDArray[np.float64], node: NDArray[np.int64], word: str
) -> None:
    with pytest.raises(DataError, match=word):
        spread_over_nodes(times, node)
