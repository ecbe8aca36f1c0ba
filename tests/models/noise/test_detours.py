"""Detours from times alone."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.planned_noise import planned_ns

from hindmost.harness.recorder.injection import read_law
from hindmost.models.noise.detours import RankDetours, find_detours, timing_of

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
        others_s = found.others_s + sum(family.total_s for family in found.families) - often.total_s
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
    (own,) = [family for family in found.families if family.rule is not None]
    assert (own.every, own.first, own.kind) == (100, 98, "fixed")
    assert own.count == pytest.approx(30, abs=2)
    assert (own.timing_known, own.period_s) == (True, None)
    assert found.noise_share == pytest.approx(found.share - own.total_s / found.seconds)
    assert found.noise_share < 0.5 * found.share
