import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.synthetic.cycles import CycleLaw, draw_cycles
from numpy.typing import NDArray

from hindmost.models.adaptive.interference import (
    CycleKind,
    CycleVerdict,
    Interference,
)
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.adaptive.work import PHASES, Spent, Work

LAWS = {
    "quiet": CycleLaw(),
    "two ranks": CycleLaw(message_s=5e-6, noise=0.03, phase_noise=0.02, spikes=0.06, steps=8),
    "correlated": CycleLaw(noise=0.03, correlation=0.8),
    "loaded": CycleLaw(noise=0.05, phase_noise=0.03, spikes=0.1, spike=0.3),
}


def undisturbed(law: CycleLaw, cycles: int, seed: int) -> NDArray[np.float64]:
    """Return logarithms of measured over true times, in blocks that are drawn again."""
    random = np.random.default_rng(seed)
    drawn = [draw_cycles(law, 10 * seed + k) for k in range(2)]
    pool = np.concatenate([np.log(one.seconds / one.denoised) for one in drawn])
    blocks = random.integers(0, pool.size - 10, math.ceil(cycles / 10))
    logs: NDArray[np.float64] = pool[blocks[:, None] + np.arange(10)].ravel()[:cycles]
    return logs


def judged(test: Interference, logs: NDArray[np.float64]) -> list[CycleVerdict]:
    return [test.observe(math.exp(value), 1.0) for value in logs]


def steady(law: CycleLaw) -> CycleLaw:
    return replace(law, growth=1.0, drift=0.0, wander=0.0, iterations=(20.0, 20.0))


def bootstrapped(law: CycleLaw, cycles: int, seed: int) -> Iterator[tuple[Work, Spent]]:
    """Yield undisturbed cycles of steady work, in blocks of ten that are drawn again."""
    pool = draw_cycles(replace(steady(law), cycles=2000), seed)
    for block in np.random.default_rng(seed).integers(0, 200, cycles // 10):
        last = slice(10 * block, 10 * block + 10)
        yield from zip(pool.work[last], pool.spent[last], strict=True)


def watched(
    cycles: Iterable[tuple[Work, Spent]], model: OfflineModel | None
) -> tuple[list[CycleVerdict], float]:
    """Return the verdicts on cycles, and measured over baseline on the undisturbed machine."""
    predictor = Predictor("online-1", model=model)
    verdicts = [predictor.observe(spent, work) for work, spent in cycles]
    return verdicts, predictor.usual


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("adapts_every", "probed"),
    [(1, True), *(pytest.param(each, False, marks=pytest.mark.slow) for each in (1, 5))],
)
def test_at_most_one_change_in_1000_undisturbed_cycles_and_a_level_that_stays(
    law: CycleLaw, adapts_every: int, probed: bool, model_of: Callable[..., OfflineModel]
) -> None:
    law = replace(law, adapts_every=adapts_every)
    cycles = bootstrapped(law, 8000, 1001)
    verdicts, usual = watched(cycles, model_of(law, pace=1.1) if probed else None)
    assert sum(verdict.change for verdict in verdicts) <= 8  # of any kind, and back again
    assert usual == pytest.approx(1.0 / 1.1 if probed else 1.0, rel=0.06)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("adapts_every", [1, 5])
@pytest.mark.parametrize("probed", [False, True])
def test_a_twofold_slowdown_is_found_within_two_cycles(
    law: CycleLaw, adapts_every: int, probed: bool, model_of: Callable[..., OfflineModel]
) -> None:
    law = replace(law, adapts_every=adapts_every, cycles=62)
    model = model_of(law, pace=1.1) if probed else None
    slowdown = np.where(np.arange(62) < 60, 1.0, 2.0)
    found = []
    for seed in range(1000, 1025):
        drawn = draw_cycles(law, seed, slowdown=slowdown)
        verdicts, _ = watched(zip(drawn.work, drawn.spent, strict=True), model)
        found.append(any(verdict.kind == CycleKind.SLOWER for verdict in verdicts[60:]))
    assert np.mean(found) >= 0.96


@pytest.mark.parametrize("adapts_every", [1, 5])
@pytest.mark.parametrize("begin", [6, 7, 8, 9, 12])
def test_an_early_slowdown_is_told_as_slower(adapts_every: int, begin: int) -> None:
    law = replace(LAWS["quiet"], adapts_every=adapts_every, cycles=30, spikes=0.0)
    for seed in range(1000, 1010):
        drawn = draw_cycles(law, seed, slowdown=np.where(np.arange(30) < begin, 1.0, 2.0))
        verdicts, _ = watched(zip(drawn.work, drawn.spent, strict=True), None)
        changes = [verdict for verdict in verdicts if verdict.change]
        assert [change.kind for change in changes] == [CycleKind.SLOWER]
        # Without a model the second cycle with adaption is the first that can be set off.
        assert changes[0].cycle <= max(10, begin + 1) + (2 if adapts_every == 5 else 0)
        # Slow cycles among the first eight have gone into the baseline that is learnt.
        assert verdicts[-1].level == pytest.approx(2.0, rel=0.06 if begin >= 8 else 0.25)


def test_missed_work_that_ends_leaves_the_level_where_it_was(
    model_of: Callable[..., OfflineModel],
) -> None:
    law = replace(steady(LAWS["quiet"]), spikes=0.0, adapts_every=1, heat_s=80e-9, cycles=200)
    for model in (None, model_of(law)):
        drawn = draw_cycles(law, 1001)
        cycles = []
        for k, (work, spent) in enumerate(zip(drawn.work, drawn.spent, strict=True)):
            phases = list(spent.phases_s)
            phases[2] *= 3.0 if 60 <= k < 120 else 1.0
            cycles.append((work, replace(spent, phases_s=tuple(phases), seconds=sum(phases))))
        verdicts, usual = watched(cycles, model)
        changes = [verdict for verdict in verdicts if verdict.change]
        assert [change.kind for change in changes] == [CycleKind.WORK, CycleKind.WORK]
        assert [60 <= changes[0].cycle <= 61, 120 <= changes[1].cycle <= 121] == [True, True]
        assert usual == pytest.approx(1.0, rel=0.03)
        assert {verdict.level for verdict in verdicts} == {1.0}


def test_a_small_slowdown_takes_longer_but_is_found() -> None:
    logs = undisturbed(LAWS["quiet"], 200, 4)
    logs[100:] += math.log(1.3)
    verdicts = judged(Interference(), logs)
    found = [verdict.cycle for verdict in verdicts if verdict.kind == CycleKind.SLOWER]
    assert len(found) == 1
    assert 102 <= found[0] <= 108
    assert verdicts[-1].level == pytest.approx(1.3, rel=0.05)


def test_one_slow_cycle_is_noise_however_slow() -> None:
    logs = undisturbed(replace(LAWS["quiet"], spikes=0.0), 100, 2)
    logs[40] += math.log(50.0)
    logs[70] += math.log(3.0)
    verdicts = judged(Interference(), logs)
    assert [verdict.cycle for verdict in verdicts if verdict.kind == CycleKind.NOISE] == [40, 70]
    assert not any(verdict.change for verdict in verdicts)
    assert "this cycle alone" in verdicts[40].explain().lower()


def run(
    law: CycleLaw, model: OfflineModel, *, heat: float = 1.0, all_phases: float = 1.0
) -> list[CycleVerdict]:
    """Return the verdicts on cycles whose heat, or everything, takes longer from cycle 60 on."""
    cycles = draw_cycles(law, 0)
    done = []
    for k, (work, spent) in enumerate(zip(cycles.work, cycles.spent, strict=True)):
        phases = list(spent.phases_s)
        if k >= 60:
            phases = [all_phases * part for part in phases]
            phases[2] *= heat
        done.append((work, replace(spent, phases_s=tuple(phases), seconds=sum(phases))))
    return watched(done, model)[0]


def test_work_that_the_baseline_misses_is_told_from_a_slower_machine(
    model_of: Callable[..., OfflineModel],
) -> None:
    law = CycleLaw(spikes=0.0, adapts_every=0, growth=1.0, heat_s=40e-9)
    work = [verdict for verdict in run(law, model_of(law), heat=3.0) if verdict.change]
    assert [verdict.kind for verdict in work] == [CycleKind.WORK]
    assert "heat takes" in work[0].explain()
    slow = [verdict for verdict in run(law, model_of(law), all_phases=2.0) if verdict.change]
    assert [verdict.kind for verdict in slow] == [CycleKind.SLOWER]
    assert "for the same work" in slow[0].explain()


def test_a_small_phase_is_not_the_cause_of_a_slow_cycle(
    model_of: Callable[..., OfflineModel],
) -> None:
    # A neighbour on the core of a rank that yields it in MPI calls: the cycle doubles in its
    # reductions, and so does adaption, which is a few hundredths of it.
    law = CycleLaw(spikes=0.0, adapts_every=1, growth=1.0, adaption_s=60e-9)
    reduction, adaption = PHASES.index("reduction"), PHASES.index("adaption")
    for model in (None, model_of(law)):
        drawn = draw_cycles(law, 0)
        cycles = []
        for k, (work, spent) in enumerate(zip(drawn.work, drawn.spent, strict=True)):
            phases = list(spent.phases_s)
            if 60 <= k < 75:
                assert phases[adaption] < 0.1 * spent.seconds
                phases[adaption] *= 2.4
                phases[reduction] += spent.seconds
            cycles.append((work, replace(spent, phases_s=tuple(phases), seconds=sum(phases))))
        verdicts, _ = watched(cycles, model)
        changes = [(verdict.cycle, verdict.kind) for verdict in verdicts if verdict.change]
        assert changes == [(61, CycleKind.SLOWER), (76, CycleKind.FASTER)]
        assert "in communication or in waiting" in verdicts[61].explain()
