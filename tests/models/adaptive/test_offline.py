from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.models.adaptive.machines import DECK, PLAIN, with_grind
from tests.models.adaptive.paper import ALPHASERVER_ES40, ITANIUM_2, sage

from hindmost.errors import DataError, UsageError
from hindmost.models.adaptive.application import Application
from hindmost.models.adaptive.geometry import Curve, Slab
from hindmost.models.adaptive.machine import (
    EventCost,
    GrindPoint,
    Machine,
    SpeedPoint,
)
from hindmost.models.adaptive.offline import OfflineModel
from hindmost.models.adaptive.panel import Panel
from hindmost.models.adaptive.predictors import Offline
from hindmost.models.adaptive.work import PHASES, Spent, Work


def test_every_phase_adds_up_as_by_hand() -> None:
    work = Work(cells=10_000, steps=10, iterations=40, adapts=True)
    times = OfflineModel(machine=PLAIN, application=DECK, pattern=Curve(), ranks=2).phase_times(
        work
    )
    assert times.hydro == pytest.approx(1e4 * 10 * 3e-8 * 1.25)
    assert times.heat == pytest.approx(1e4 * 40 * 2e-9 * 1.25)
    cut = (2 * 1e4) ** 0.5
    assert times.halo == pytest.approx((10 + 2 * 40) * (2e-6 + 32 * cut * 2e-9))
    assert times.reduction == pytest.approx((1 + 10 + 3 * 40) * 2 * (1e-6 + 8e-9))
    assert times.adaption == pytest.approx(1e4 * 5e-8 * 1.25)
    assert times.balance == pytest.approx(1e-6 + 1e3 * 64 * 1e-9)
    assert times.seconds == pytest.approx(sum(getattr(times, phase) for phase in PHASES))


def test_on_one_rank_nothing_is_exchanged_and_memory_is_its_own() -> None:
    times = OfflineModel(machine=PLAIN, application=DECK).phase_times(
        Work(cells=10_000, steps=10, iterations=40)
    )
    assert times.hydro == pytest.approx(1e4 * 10 * 3e-8)
    assert times.halo == times.reduction == times.adaption == times.balance == 0.0


def test_what_is_known_of_a_cycle_replaces_what_is_expected() -> None:
    model = OfflineModel(machine=PLAIN, application=DECK, ranks=2)
    work = Work(cells=10_000, steps=10, iterations=40, adapts=True)
    usual = model.phase_times(work)
    known = model.phase_times(work, iterations=80, moved=0)
    assert known.heat == pytest.approx(2 * usual.heat)
    assert known.adaption == usual.adaption
    assert known.balance == 0.0
    counted = model.phase_times(Work(cells=10_000, steps=1, ghosts=300, messages=3))
    assert counted.halo == pytest.approx(3 * (2e-6 + 100 * 32 * 2e-9))


def test_the_speed_probe_scales_computation_only() -> None:
    work = Work(cells=10_000, steps=10, iterations=40, adapts=True)
    idle = OfflineModel(machine=PLAIN, application=DECK, ranks=2).phase_times(work)
    slow = OfflineModel(machine=PLAIN, application=DECK, ranks=2, speed_s=0.01875).phase_times(work)
    assert slow.hydro == pytest.approx(1.5 * idle.hydro)
    assert slow.heat == pytest.approx(1.5 * idle.heat)
    assert slow.adaption == pytest.approx(1.5 * idle.adaption)
    assert (slow.halo, slow.reduction, slow.balance) == (idle.halo, idle.reduction, idle.balance)


def test_pulses_between_cycles_are_the_pace_of_the_next_one() -> None:
    work = Work(cells=10_000, steps=10, adapts=True)
    pulse = tuple(SpeedPoint(ranks_per_node=count, seconds=4e-6) for count in (1, 2))
    model = OfflineModel(
        machine=replace(PLAIN, pulse=pulse), application=DECK, ranks=2, speed_s=0.05, pulse_s=8e-6
    )
    twice = 2.0**0.75
    assert model.pace == pytest.approx(twice)  # the pulse's, not that of the speed
    at_rest = OfflineModel(machine=PLAIN, application=DECK, ranks=2)
    computed = sum(
        at_rest.phases_s(work, 0.0)[PHASES.index(name)] for name in ("hydro", "adaption")
    )
    rest = at_rest.cycle_s(work, 0.0) - computed
    predictor = Offline(model)
    assert predictor.predict_s(work) == pytest.approx(twice * computed + rest)
    for pulse_s in (900e-6, 4e-6, 4e-6, 4e-6, 4e-6, 8e-6):  # the last five count
        predictor.observe(Spent(seconds=1.0, pulse_s=pulse_s), work)
    now = twice**0.2
    assert predictor.predict_s(work) == pytest.approx(now * computed + rest)
    predictor.observe(Spent(seconds=1.0), work)  # nothing was read
    assert predictor.predict_s(work) == pytest.approx(now * computed + rest)
    unknown = Offline(OfflineModel(machine=PLAIN, application=DECK, ranks=2, pulse_s=8e-6))
    unknown.observe(Spent(seconds=1.0, pulse_s=8e-6), work)
    assert unknown.predict_s(work) == pytest.approx(computed + rest)


def test_calls_take_longer_beside_more_cells() -> None:
    calls = tuple(
        EventCost(event=event, ranks_per_node=1, seconds=factor * 1e-6, cells=cells)
        for cells, factor in ((1e4, 1.0), (1e6, 5.0))
        for event in ("exchange", "reduce", "loop")
    )
    model = OfflineModel(machine=replace(PLAIN, events=calls), application=DECK)
    for cells, seconds in ((1e3, 1e-6), (1e4, 1e-6), (1e5, 3e-6), (1e7, 5e-6)):
        times = model.phase_times(Work(cells=cells, steps=10, iterations=40))
        assert times.halo == pytest.approx((10 + 2 * 40) * seconds)
        assert times.reduction == pytest.approx((1 + 10 + 3 * 40) * seconds)
        assert times.loop == pytest.approx(10 * seconds)


def test_contention_is_in_the_curve_and_not_in_the_pace() -> None:
    # The machine is as it was: each of two ranks reads 0.0125 s, where one alone reads 0.01.
    work = Work(cells=10_000, steps=10)
    same = OfflineModel(machine=PLAIN, application=DECK, ranks=2, speed_s=0.0125)
    assert (same.pace, same.remarks) == (1.0, ())
    assert same.phase_times(work).hydro == pytest.approx(1e4 * 10 * 3e-8 * 1.25)
    alone = OfflineModel(machine=PLAIN, application=DECK, speed_s=0.0125)
    assert alone.pace == pytest.approx(1.25)
    only = replace(PLAIN, speed=(SpeedPoint(ranks_per_node=1, seconds=0.01),))
    unknown = OfflineModel(machine=only, application=DECK, ranks=2, speed_s=0.0125)
    assert unknown.pace == 1.0
    assert "not measured with 2 ranks per node" in unknown.explain(work)


def heat(phase: str, seconds: float) -> GrindPoint:
    return GrindPoint(phase=phase, ranks_per_node=1, cells=1e4, seconds_per_cell=seconds)


def test_heat_is_iterations_and_solves() -> None:
    machine = replace(PLAIN, grind=(*PLAIN.grind, heat("heat-solve", 2e-8)))
    deck = Application(name="deck", iterations=280.0, solves=40.0)
    model = OfflineModel(machine=machine, application=deck)
    known = Work(cells=10_000, iterations=100)
    assert model.phase_times(known).heat == pytest.approx(1e4 * (100 * 2e-9 + 40 * 2e-8))
    fewer = Work(cells=10_000, iterations=100, solves=10)
    assert model.phase_times(fewer).heat == pytest.approx(1e4 * (100 * 2e-9 + 10 * 2e-8))
    # A first cycle, whose iterations nobody knows: the deck's usual ones, and none without heat.
    first = Work(cells=10_000, iterations=math.nan)
    assert model.phase_times(first).heat == pytest.approx(1e4 * (280 * 2e-9 + 40 * 2e-8))
    assert sum(model.phases_s(first, math.nan)) == model.phase_times(first).seconds
    assert model.phase_times(Work(cells=10_000)).heat == 0.0
    # Solved at once: what a solve takes beside its iterations.
    at_once = Work(cells=10_000, solves=4)
    assert model.phase_times(at_once).heat == pytest.approx(1e4 * 4 * 2e-8)
    assert Panel(["offline"], model=model).predict(first)[0] == pytest.approx(
        model.phase_times(first).seconds
    )
    without = replace(PLAIN, grind=tuple(each for each in PLAIN.grind if each.phase != "heat"))
    with pytest.raises(DataError, match="no grind curve of the phase 'heat'"):
        OfflineModel(machine=without, application=Application(name="deck", solves=40.0))


def test_balance_is_the_look_and_one_message_of_what_moves() -> None:
    events = (EventCost(event="balance", ranks_per_node=1, seconds=5e-6),)
    machine = replace(PLAIN, events=events)
    deck = Application(name="deck", moved_share=0.02, bytes_moved=64.0)
    work = Work(cells=10_000, adapts=True)
    for ranks, message_s in ((1, 0.0), (2, 1e-6 + 200 * 64 * 1e-9), (4, 1e-5 + 200 * 64 * 1e-8)):
        times = OfflineModel(machine=machine, application=deck, ranks=ranks).phase_times(work)
        assert times.balance == pytest.approx(5e-6 + message_s)


@pytest.mark.parametrize("ranks", [4, 16, 64])
def test_sage_on_the_machines_of_the_paper(ranks: int) -> None:
    # T_GScomm = C (f_r T(8 S) + f_i T(4 S)) and T_allreduce = f 2 ceil(log2 P) T(8), by hand: only
    # the machine changes.
    application, cells, pattern = sage(real=300, integer=20, reductions=100), 4000, Slab()
    surface = min((cells * ranks) ** (2 / 3), cells / 2)
    distance = {4: 1, 16: 1, 64: 3}[ranks]
    for machine, latency_s, per_byte_s, small_s, per_node in (
        (ALPHASERVER_ES40, 8.1e-6, 5.0e-9, 5.6e-6, 4),
        (ITANIUM_2, 11.0e-6, 4.6e-9, 5.0e-6, 2),
    ):
        times = OfflineModel(
            machine=with_grind(machine, hydro=1e-6),
            application=application,
            pattern=pattern,
            ranks=ranks,
        ).phase_times(Work(cells=cells))
        each = surface / distance
        gather_s = 300 * (latency_s + 8 * each * per_byte_s)
        gather_s += 20 * (latency_s + 4 * each * per_byte_s)
        factor = 1 if ranks <= per_node else min(distance, per_node)
        assert times.halo == pytest.approx(factor * distance * gather_s)
        trees = {4: 4, 16: 8, 64: 12}[ranks]
        assert times.reduction == pytest.approx(100 * trees * small_s)


def test_the_slab_order_costs_more_as_ranks_grow_and_the_curve_does_not() -> None:
    def halo(pattern: Slab | Curve, ranks: int) -> float:
        model = OfflineModel(machine=PLAIN, application=DECK, pattern=pattern, ranks=ranks)
        return model.phase_times(Work(cells=4096, steps=10)).halo

    slab = Slab()
    assert halo(slab, 64) > 1.5 * halo(slab, 16)
    # The same surface, though the curve's corners are far from each other in the order of ranks.
    assert halo(Curve(), 64) == halo(Curve(), 16)


def test_it_says_what_it_takes_a_cycle_to_be() -> None:
    model = OfflineModel(machine=PLAIN, application=DECK, pattern=Curve(), ranks=2, speed_s=0.025)
    words = model.explain(Work(cells=10_000, steps=10, iterations=40, adapts=True))
    for part in (
        "deck on 2 ranks of plain",
        "10,000 cells",
        "2.00 times",
        "curve order",
        "balanced",
    ):
        assert part in words


def test_refusals() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        OfflineModel(machine=PLAIN, application=DECK, ranks=0)
    with pytest.raises(UsageError, match="no network"):
        OfflineModel(
            machine=Machine(name="x", ranks_per_node=2, grind=PLAIN.grind),
            application=DECK,
            ranks=2,
        )
    with pytest.raises(DataError, match="no grind curve of the phase 'hydro'"):
        OfflineModel(machine=ITANIUM_2, application=DECK)
