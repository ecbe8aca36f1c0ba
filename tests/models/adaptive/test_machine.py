"""Machine files, and what the offline model predicts from them."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special
from tests.models.adaptive.machines import DECK, PLAIN, phases, with_grind
from tests.models.adaptive.paper import ALPHASERVER_ES40, ITANIUM_2

from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.models.adaptive.machine import (
    AllreduceTime,
    EventCost,
    GrindPoint,
    Machine,
    Network,
    SpeedPoint,
    SystemNoise,
)
from hindmost.models.adaptive.offline import (
    NOTHING,
    Application,
    Count,
    Exchange,
    OfflineModel,
    allreduce_s,
    curve_surface,
    detour_parts,
    event_curve,
    excess_of_maximum,
    grind_curve,
    waiting_curve,
)
from hindmost.models.adaptive.predictors import Offline
from hindmost.models.adaptive.work import PHASES, Spent, Work
from hindmost.models.simulation.network import Link, Piece, fit_link


def way(*pieces: tuple[int, float, float]) -> Link:
    return Link(
        pieces=tuple(
            Piece(from_bytes=begin, latency_s=latency, per_byte_s=slope)
            for begin, latency, slope in pieces
        )
    )


FULL = Machine(
    name="two nodes",
    ranks_per_node=2,
    network=Network(
        within=way((0, 1e-6, 0.0), (1024, 2e-6, 1e-10)),
        within_both_ways=way((0, 1.5e-6, 1e-10)),
        across=way((0, 4e-6, 1e-9)),
        allreduce=(AllreduceTime(ranks=2, bytes=8, seconds=2e-6),),
    ),
    grind=(GrindPoint(phase="hydro", ranks_per_node=1, cells=1e3, seconds_per_cell=3e-8),),
    noise=SystemNoise(detours_per_s=10.0, share=0.01, detour_quantiles_s=(1e-6, 1e-5, 1e-4, 1e-3)),
    events=(EventCost(event="move", ranks_per_node=2, seconds=2e-7),),
    pulse=(
        SpeedPoint(ranks_per_node=1, seconds=4e-6),
        SpeedPoint(ranks_per_node=2, seconds=5e-6),
    ),
    checkpoint_latency_s=0.0,
)


@pytest.mark.parametrize("machine", [FULL, ALPHASERVER_ES40, Machine(name="x", ranks_per_node=1)])
def test_a_machine_comes_back_from_json(machine: Machine) -> None:
    text = json.dumps(machine.to_json(), allow_nan=False)
    assert Machine.from_json(json.loads(text)) == machine
    assert json.loads(text)["schema"] == "hindmost-machine"


def test_keys_of_others_at_the_top_are_left_alone() -> None:
    assert Machine.from_json({**FULL.to_json(), "host": "node1"}) == FULL


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("schema",), "other", "not 'hindmost-machine'"),
        (("version",), "1", 'machine file: version is "1"'),
        (("pulse", 1, "ranks_per_node"), 1, "one pulse for each number of ranks_per_node"),
        (("network", "within", "pieces"), [], "pieces whose from_bytes begin at 0 and rise"),
        (("network", "within", "pieces", 1, "from_bytes"), 0, "begin at 0 and rise"),
        (("network", "acros"), None, "machine.network.acros is unknown; did you mean across"),
        (("noise", "detour_quantiles_s"), [1.0], "a list of 4 numbers"),
    ],
)
def test_a_wrong_field_is_named(path: tuple[Any, ...], value: Any, words: str) -> None:
    content: Any = json.loads(json.dumps(FULL.to_json()))
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(DataError) as error:
        Machine.from_json(content)
    assert words in str(error.value)


def test_an_event_costs_what_it_did_with_as_many_ranks_or_in_between() -> None:
    costs = tuple(
        EventCost(event="divide", ranks_per_node=count, seconds=each)
        for count, each in ((1, 1e-7), (4, 4e-7))
    )
    machine = Machine(name="x", ranks_per_node=4, events=costs)
    assert [event_curve(machine, "divide", count).seconds for count in (1, 2, 3, 4, 9)] == [
        pytest.approx((each,)) for each in (1e-7, 2e-7, 3e-7, 4e-7, 4e-7)
    ]
    assert event_curve(machine, "move", 1).seconds == (0.0,)


def test_a_missing_field_and_a_newer_version_are_named() -> None:
    content = FULL.to_json()
    del content["name"]
    with pytest.raises(DataError, match=r"machine\.name is missing"):
        Machine.from_json(content)
    with pytest.raises(UnknownSchemaError, match="version 2"):
        Machine.from_json({"schema": "hindmost-machine", "version": 2})
    with pytest.raises(DataError, match="schema is 'list'"):
        Machine.from_json([])


@pytest.mark.parametrize("machine", [ALPHASERVER_ES40, ITANIUM_2])
def test_a_fit_finds_the_pieces_of_table_2_in_noise(machine: Machine) -> None:
    noise = 0.01
    assert machine.network is not None
    random = np.random.default_rng(5)
    sizes = np.repeat([4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, *2 ** np.arange(9, 21)], 9)
    times = np.array([machine.network.within.time_s(size) for size in sizes])
    times *= np.exp(noise * random.standard_normal(times.size))
    times[::9] *= 20.0  # a ninth of the messages met a detour
    found = fit_link(sizes, times)
    assert [piece.from_bytes for piece in found.pieces] == [0, 48, 512]
    for size in (8, 64, 300, 1000, 50_000, 1_000_000):
        truth = machine.network.within.time_s(size)
        assert found.time_s(size) == pytest.approx(truth, rel=1e-6 + 2 * noise)
    large = found.pieces[-1]
    assert large.per_byte_s == pytest.approx(
        machine.network.within.pieces[-1].per_byte_s, rel=1e-6 + noise
    )


def test_one_straight_line_stays_one_piece() -> None:
    random = np.random.default_rng(2)
    sizes = 2.0 ** np.arange(0, 22)
    times = (1e-6 + 1e-10 * sizes) * np.exp(0.02 * random.standard_normal(sizes.size))
    assert len(fit_link(sizes, times).pieces) == 1


def test_allreduce_where_it_was_not_measured_is_two_trees_of_messages() -> None:
    # 2 ceil(log2 P) messages of 5.6 us on the AlphaServer (table 2).
    for ranks, messages in ((1, 0), (2, 2), (3, 4), (16, 8), (17, 10)):
        assert 1e6 * allreduce_s(ALPHASERVER_ES40, ranks) == pytest.approx(5.6 * messages)


def test_allreduce_is_interpolated_over_the_logarithm_of_ranks() -> None:
    points = tuple(
        AllreduceTime(ranks=ranks, bytes=size, seconds=seconds)
        for ranks, size, seconds in ((2, 8, 2e-6), (8, 8, 6e-6), (8, 808, 8e-6))
    )
    network = Network(
        within=way((0, 1e-6, 0.0)), within_both_ways=way((0, 1e-6, 0.0)), allreduce=points
    )
    machine = Machine(name="x", ranks_per_node=8, network=network)
    assert allreduce_s(machine, 2) == pytest.approx(2e-6)
    assert allreduce_s(machine, 4) == pytest.approx(4e-6)
    assert allreduce_s(machine, 32) == pytest.approx(6e-6 + 4 * 1e-6)  # two more levels of trees


def points(ranks_per_node: int, *rows: tuple[float, float]) -> tuple[GrindPoint, ...]:
    return tuple(
        GrindPoint(
            phase="hydro", ranks_per_node=ranks_per_node, cells=cells, seconds_per_cell=seconds
        )
        for cells, seconds in rows
    )


def test_a_grind_curve_is_linear_in_the_logarithm_and_flat_beyond() -> None:
    grind = points(1, (1e3, 30.0), (1e5, 50.0), (1e5, 52.0), (1e5, 400.0))  # median of repeats: 52
    found = grind_curve(grind, "hydro", 1)
    assert found is not None
    assert [found.seconds_per_cell(cells) for cells in (0.0, 1.0, 1e3, 1e4, 1e5, 1e9)] == (
        pytest.approx([30.0, 30.0, 30.0, 41.0, 52.0, 52.0])
    )


def test_memory_contention_is_interpolated_over_ranks_a_node() -> None:
    grind = points(1, (1e3, 30.0), (1e5, 50.0)) + points(4, (1e4, 60.0))
    for ranks, expected in ((1, 40.0), (2, 40.0 + 20.0 / 3.0), (4, 60.0), (16, 60.0)):
        found = grind_curve(grind, "hydro", ranks)
        assert found is not None
        assert found.seconds_per_cell(1e4) == pytest.approx(expected)


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


@pytest.mark.parametrize("ranks", [1, 2, 4, 16, 64])
def test_the_surface_is_that_of_a_square_in_morton_order(ranks: int) -> None:
    i, j = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    key = np.zeros((64, 64), int)
    for bit in range(6):
        key |= ((i >> bit) & 1) << (2 * bit + 1) | ((j >> bit) & 1) << (2 * bit)
    owner = key // (64 * 64 // ranks)
    counted = []
    for rank in range(ranks):  # cells outside each rank that touch it
        mine = np.pad(owner == rank, 1)
        near = mine[2:, 1:-1] | mine[:-2, 1:-1] | mine[1:-1, 2:] | mine[1:-1, :-2]
        counted.append(int((near & (owner != rank)).sum()))
    surface = curve_surface(64 * 64 / ranks, ranks)
    assert surface.cells == pytest.approx(max(counted))
    assert (surface.messages > 0) == (ranks > 1)


NOISE = SystemNoise(detours_per_s=2000.0, share=0.02, detour_quantiles_s=(4e-7, 2e-5, 6e-5, 8e-3))
HALO = PHASES.index("halo")


@dataclass(frozen=True)
class DetoursIn:
    """The detours of an interval: as many of each part as come by chance."""

    parts: list[tuple[float, float]]
    interval_s: float

    @property
    def mean_s(self) -> float:
        return sum(rate * self.interval_s * length_s for rate, length_s in self.parts)

    def draw(self, random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        total = np.zeros(shape)
        for rate, length_s in self.parts:
            total += length_s * random.poisson(rate * self.interval_s, shape)
        return total


@pytest.mark.parametrize("mean", [1e-3, 0.2, 3.0, 80.0, 2000.0, 9000.0, 1e6])
def test_the_larger_of_two_counts_is_as_by_bessel_s_functions(mean: float) -> None:
    exact = mean * float(special.ive(0, 2.0 * mean) + special.ive(1, 2.0 * mean))
    assert excess_of_maximum(mean, 2) == pytest.approx(exact, rel=1e-9 if mean <= 2000.0 else 1e-4)
    assert excess_of_maximum(mean, 1) == 0.0


@pytest.mark.parametrize("ranks", [2, 16])
@pytest.mark.parametrize("interval_s", [5e-5, 5e-4, 5e-3])
def test_waiting_is_that_of_ranks_that_meet(ranks: int, interval_s: float) -> None:
    detours = DetoursIn(detour_parts(NOISE), interval_s)
    iterations = 400_000 // ranks
    # Every rank waits for the slowest of each interval.
    slowest_s = detours.draw(np.random.default_rng(0), (iterations, ranks)).max(axis=1)
    drawn_s = float(slowest_s.mean()) - detours.mean_s
    curve = waiting_curve(NOISE, ranks)
    # Parts are added up, which is at most too much where several lengths meet; draws are random.
    waited_s = interval_s * curve.seconds_per_cell(interval_s)
    assert 0.95 * drawn_s < waited_s < 1.3 * drawn_s


def test_parts_of_detours_have_the_probed_share_of_time() -> None:
    parts = detour_parts(NOISE)
    assert sum(rate for rate, _ in parts) == pytest.approx(NOISE.detours_per_s)
    assert sum(rate * length_s for rate, length_s in parts) == pytest.approx(NOISE.share)
    lengths = [length_s for _, length_s in parts]
    assert lengths == sorted(lengths)
    assert lengths[0] < 4e-7 < lengths[1] < 2e-5 < lengths[2] < 6e-5 < lengths[3] < 8e-3
    even = replace(NOISE, detour_quantiles_s=(1e-5, 1e-5, 1e-5, 1e-5))
    assert [length_s for _, length_s in detour_parts(even)][1:3] == [1e-5, 1e-5]
    # Quantiles of other detours than those of the share leave nothing to the longest.
    assert detour_parts(replace(NOISE, share=1e-4))[3][1] == 0.0


def test_nobody_waits_alone_or_without_noise() -> None:
    assert waiting_curve(NOISE, 1) is NOTHING
    assert waiting_curve(None, 8) is NOTHING
    assert waiting_curve(SystemNoise(detours_per_s=0.0, share=0.0), 8) is NOTHING
    grown = [waiting_curve(NOISE, ranks).seconds[20] for ranks in (2, 4, 64)]
    assert 0.0 < grown[0] < grown[1] < grown[2]


def test_ranks_wait_in_exchanges_for_detours() -> None:
    work = Work(cells=10_000, steps=10, iterations=40, adapts=True)
    quiet = OfflineModel(machine=PLAIN, application=DECK, ranks=2)
    noisy = OfflineModel(machine=replace(PLAIN, noise=NOISE), application=DECK, ranks=2)
    calm_s, found_s = quiet.phases_s(work, 40.0), noisy.phases_s(work, 40.0)
    assert [each for k, each in enumerate(found_s) if k != HALO] == [
        each for k, each in enumerate(calm_s) if k != HALO
    ]
    meetings = 1 + 10 + 3 * 40  # reductions; exchanges are fewer
    computed_s = sum(calm_s[PHASES.index(name)] for name in ("hydro", "heat", "adaption"))
    curve = waiting_curve(NOISE, 2)
    waits_s = computed_s * curve.seconds_per_cell(computed_s / meetings)
    assert found_s[HALO] - calm_s[HALO] == pytest.approx(waits_s)
    assert 0.005 * computed_s < waits_s < 0.02 * computed_s  # at most the share of detours
    # On a machine that is slower all through, detours come as often in each second.
    slow_s = 2.0 * computed_s * curve.seconds_per_cell(2.0 * computed_s / meetings)
    more_s = noisy.cycle_s(work, 40.0, pace=2.0) - quiet.cycle_s(work, 40.0, pace=2.0)
    assert more_s == pytest.approx(slow_s)
    alone = OfflineModel(machine=replace(PLAIN, noise=NOISE), application=DECK)
    assert alone.phases_s(work, 40.0)[HALO] == 0.0
