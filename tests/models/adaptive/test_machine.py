from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.models.adaptive.paper import ALPHASERVER_ES40, ITANIUM_2

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.models.adaptive.machine import (
    AllreduceTime,
    EventCost,
    GrindPoint,
    Machine,
    Network,
    SpeedPoint,
    SystemNoise,
)
from hindmost.models.adaptive.network import fit_link
from hindmost.models.adaptive.offline import allreduce_s, event_curve, grind_curve
from hindmost.models.simulation.network import Link, Piece


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
