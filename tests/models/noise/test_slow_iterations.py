from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from hindmost.errors import DataError
from hindmost.models.noise.slow_iterations import (
    find_slow_groups,
    segment_starts,
)
from hindmost.records import to_document

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


def test_without_groups_it_says_so() -> None:
    groups = find_slow_groups(np.full(100, 2e-5), places(100))
    assert groups.explain() == (
        "No group of slow iterations among 100; the baseline (median of the slowest rank) is "
        "20.0 us per iteration."
    )


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
