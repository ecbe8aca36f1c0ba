from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.models.adaptive.machines import DECK, PLAIN, phases, with_grind
from tests.models.adaptive.paper import ALPHASERVER_ES40, ITANIUM_2

from hindmost.errors import DataError, UsageError
from hindmost.models.adaptive.machine import EventCost, GrindPoint, Machine
from hindmost.models.adaptive.offline import (
    Application,
    Count,
    Exchange,
    OfflineModel,
    curve_surface,
)
from hindmost.models.adaptive.predictors import Offline
from hindmost.models.adaptive.work import PHASES, Spent, Work

WORK = Work(cells=10_000, steps=10, iterations=40, adapts=True)


def on(ranks: int = 1, **other: Any) -> OfflineModel:
    settings: dict[str, Any] = {"machine": PLAIN, "application": DECK, "ranks": ranks, **other}
    return OfflineModel(**settings)


def test_every_phase_adds_up_as_by_hand() -> None:
    times = phases(on(2), WORK)
    assert times["hydro"] == pytest.approx(1e4 * 10 * 3e-8 * 1.25)
    assert times["heat"] == pytest.approx(1e4 * 40 * 2e-9 * 1.25)
    cut = (2 * 1e4) ** 0.5
    assert times["halo"] == pytest.approx((10 + 2 * 40) * (2e-6 + 32 * cut * 2e-9))
    assert times["reduction"] == pytest.approx((1 + 10 + 3 * 40) * 2 * (1e-6 + 8e-9))
    assert times["adaption"] == pytest.approx(1e4 * 5e-8 * 1.25)
    assert times["balance"] == pytest.approx(1e-6 + 1e3 * 64 * 1e-9)
    assert on(2).cycle_s(WORK, 40.0) == pytest.approx(sum(times[phase] for phase in PHASES))


def test_on_one_rank_nothing_is_exchanged_and_memory_is_its_own() -> None:
    times = phases(on(), replace(WORK, adapts=False))
    assert times["hydro"] == pytest.approx(1e4 * 10 * 3e-8)
    assert all(times[name] == 0.0 for name in ("halo", "reduction", "adaption", "balance"))


def test_what_is_known_of_a_cycle_replaces_what_is_expected() -> None:
    usual, known = phases(on(2), WORK), phases(on(2), WORK, 80)
    assert known["heat"] == pytest.approx(2 * usual["heat"])
    assert known["adaption"] == usual["adaption"]
    counted = phases(on(2), Work(cells=10_000, steps=1, ghosts=300, messages=3))
    assert counted["halo"] == pytest.approx(3 * (2e-6 + 100 * 32 * 2e-9))


def test_pulses_scale_computation_only_and_are_the_pace_of_the_next_cycle() -> None:
    work = Work(cells=10_000, steps=10, adapts=True)
    model, twice = on(2, pulse_s=16e-6), 2.0**0.75  # each of two ranks reads 8 us at rest
    assert model.pace == pytest.approx(twice)
    assert on(2, pulse_s=8e-6).pace == 1.0  # contention is in the curve, not in the pace
    at_rest, slow = phases(on(2), work), phases(model, work)
    for name in PHASES:
        computes = name in ("hydro", "heat", "adaption")
        assert slow[name] == pytest.approx(at_rest[name] * (twice if computes else 1.0))
    computed = at_rest["hydro"] + at_rest["adaption"]
    rest = sum(at_rest.values()) - computed
    predictor = Offline(model)
    assert predictor.predict_s(work) == pytest.approx(twice * computed + rest)
    for pulse_s in (900e-6, 8e-6, 8e-6, 8e-6, 8e-6, 16e-6):  # the last five count
        predictor.observe(Spent(seconds=1.0, pulse_s=pulse_s), work)
    now = twice**0.2
    assert predictor.predict_s(work) == pytest.approx(now * computed + rest)
    predictor.observe(Spent(seconds=1.0), work)  # nothing was read
    assert predictor.predict_s(work) == pytest.approx(now * computed + rest)
    unknown = Offline(on(2, machine=replace(PLAIN, pulse=()), pulse_s=8e-6))
    unknown.observe(Spent(seconds=1.0, pulse_s=16e-6), work)
    assert unknown.predict_s(work) == pytest.approx(computed + rest)


def test_calls_take_longer_beside_more_cells() -> None:
    calls = tuple(
        EventCost(event=event, ranks_per_node=1, seconds=factor * 1e-6, cells=cells)
        for cells, factor in ((1e4, 1.0), (1e6, 5.0))
        for event in ("exchange", "reduce", "loop")
    )
    model = on(machine=replace(PLAIN, events=calls))
    for cells, seconds in ((1e3, 1e-6), (1e4, 1e-6), (1e5, 3e-6), (1e7, 5e-6)):
        times = phases(model, Work(cells=cells, steps=10, iterations=40))
        assert times["halo"] == pytest.approx((10 + 2 * 40) * seconds)
        assert times["reduction"] == pytest.approx((1 + 10 + 3 * 40) * seconds)
        assert times["loop"] == pytest.approx(10 * seconds)


def test_heat_is_iterations_and_solves() -> None:
    solve = GrindPoint(phase="heat-solve", ranks_per_node=1, cells=1e4, seconds_per_cell=2e-8)
    deck = Application(name="deck", iterations=280.0, solves=40.0)
    model = on(machine=replace(PLAIN, grind=(*PLAIN.grind, solve)), application=deck)
    known = Work(cells=10_000, iterations=100)
    assert phases(model, known)["heat"] == pytest.approx(1e4 * (100 * 2e-9 + 40 * 2e-8))
    # A first cycle, whose iterations nobody knows: the deck's usual ones, and none without heat.
    first, usual_s = Work(cells=10_000, iterations=math.nan), 1e4 * (280 * 2e-9 + 40 * 2e-8)
    assert phases(model, first)["heat"] == pytest.approx(usual_s)
    assert phases(model, Work(cells=10_000))["heat"] == 0.0
    assert Offline(model).predict_s(first) == model.cycle_s(first, math.nan)
    without = replace(PLAIN, grind=tuple(each for each in PLAIN.grind if each.phase != "heat"))
    with pytest.raises(DataError, match="no grind curve of the phase 'heat'; it has: adaption, hy"):
        on(machine=without, application=deck)


def test_balance_is_the_look_and_one_message_of_what_moves() -> None:
    events = (EventCost(event="balance", ranks_per_node=1, seconds=5e-6),)
    deck = Application(name="deck", moved_share=0.02, bytes_moved=64.0)
    for ranks, message_s in ((1, 0.0), (2, 1e-6 + 200 * 64 * 1e-9), (4, 1e-5 + 200 * 64 * 1e-8)):
        model = on(ranks, machine=replace(PLAIN, events=events), application=deck)
        assert phases(model, WORK)["balance"] == pytest.approx(5e-6 + message_s)


@pytest.mark.parametrize(("ranks", "trees", "sharing"), [(4, 4, 1), (16, 8, 4), (64, 12, 4)])
def test_on_the_machine_of_the_paper_ranks_of_a_node_share_its_way_out(
    ranks: int, trees: int, sharing: int
) -> None:
    # T_GScomm = C f T(32 S) and T_allreduce = f 2 ceil(log2 P) T(8), by hand from table 2.
    machine = with_grind(ALPHASERVER_ES40, hydro=1e-6)
    deck = Application(
        name="deck",
        exchanges=(Exchange(count=Count(per_cycle=300), bytes_per_cell=32.0),),
        reductions=Count(per_cycle=100),
    )
    times = phases(on(ranks, machine=machine, application=deck), Work(cells=4000))
    surface, messages = curve_surface(4000, ranks)[:2]
    message_s = 8.1e-6 + 32 * surface / messages * 5e-9
    assert times["halo"] == pytest.approx(300 * sharing * messages * message_s)
    assert times["reduction"] == pytest.approx(100 * trees * 5.6e-6)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        on(0)
    with pytest.raises(UsageError, match="no network"):
        on(2, machine=Machine(name="x", ranks_per_node=2, grind=PLAIN.grind))
    with pytest.raises(DataError, match="no grind curve of the phase 'hydro'"):
        on(machine=ITANIUM_2)
