"""The one walk over events, as by hand."""

import numpy as np
import pytest
from tests.models.simulation.programs import synthetic

from hindmost.models.simulation.blocks import (
    COMPLETE,
    FROM_ROOT,
    IN_ORDER,
    KINDS,
    POST,
    REDUCE,
    TO_ROOT,
    EventBlock,
    Neighbours,
)
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.models.simulation.path import Waits
from hindmost.models.simulation.recorded import moments, releases
from hindmost.models.simulation.recorded import waits as waits_as_recorded


def test_waits_name_who_was_waited_for() -> None:
    # Rank 1 posts last in body 0, which body 1 completes; then both wait for rank 0.
    kind = np.array([[2, 0, 0], [3, 1, 0]], np.uint8)
    work = np.zeros((2, 2, 3))
    work[0, :, 0] = [1.0, 5.0]
    work[1, :, 0] = [0.5, 0.25]
    work[1, :, 1] = [2.0, 1.0]
    waits = Waits.of_places(8, 2)
    none = np.empty(0, np.int32)
    simulator = EventSimulator(2, Neighbours.of_edges(2, none, none))
    block = EventBlock(
        kind=kind, work=work, duration=np.zeros_like(work),
        rest=np.array([[0.0, 0.0], [0.125, 0.0]]), cycle_begins=np.zeros(2, np.bool_),
    )  # fmt: skip
    simulator.walk(block, waits=waits)
    # Places 0 to 3 are body 0 with its end, 4 to 7 body 1.
    wanted = np.full((8, 2), -1)
    wanted[4] = [1, -1]
    wanted[5] = [0, 0]
    np.testing.assert_array_equal(waits.waited, wanted)
    assert (waits.since[4, 0], *waits.since[5].tolist()) == (0, 5, 5)
    assert simulator.clock.tolist() == [7.125, 7.0]
    wanted_s = np.array([[1.0, 5.0], [0.5, 0.25], [2.0, 1.0], [0.125, 0.0]])
    np.testing.assert_array_equal(waits.own[[0, 4, 5, 7]], wanted_s)


def test_bodies_are_converted_in_parts_without_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = synthetic("pipelined")
    block, ranks = program.block, program.ranks
    clocks = []
    for at_once in (1 << 21, 40):
        monkeypatch.setattr("hindmost.models.simulation.blocks.AT_ONCE", at_once)
        simulator = EventSimulator(ranks, program.neighbours)
        ended = np.zeros(block.rest.shape)
        simulator.walk(block, own_time=True, ended=ended)
        clocks.append(ended)
    np.testing.assert_array_equal(clocks[0], clocks[1])


ONE_WAY = [
    # kind, groups, when ranks leave that come at 1, 5, 3, 2 seconds; a message takes 0.5 s
    (FROM_ROOT, [1, 1, 1, 1], [5.5, 5.0, 5.5, 5.5]),
    (FROM_ROOT, [2, 2, 2, 2], [3.5, 5.0, 3.0, 3.5]),
    (TO_ROOT, [0, 0, 0, 0], [5.5, 5.0, 3.0, 2.0]),
    (TO_ROOT, [1, 1, 1, 1], [1.0, 5.0, 3.0, 2.0]),
    (IN_ORDER, [-1, -1, -1, -1], [1.0, 5.0, 5.5, 5.5]),
    (REDUCE, [0, 0, 2, 2], [5.5, 5.5, 3.5, 3.5]),
    (FROM_ROOT, [1, 1, 2, 2], [5.5, 5.0, 3.0, 3.5]),
    (IN_ORDER, [0, 1, 0, 1], [1.0, 5.0, 3.0, 5.5]),
    # A broadcast from 1, a broadcast from 2, reductions to 0 and 1: posted, then completed.
    (POST, [1, 1, 1, 1], [5.5, 5.0, 5.5, 5.5]),
    (POST, [2, 2, 2, 2], [3.5, 5.0, 3.0, 3.5]),
    (POST, [-1, 1, 2, 3], [5.5, 5.0, 3.0, 2.0]),
    (POST, [0, -1, 2, 3], [1.0, 5.5, 3.0, 2.0]),
]


@pytest.mark.parametrize(("kind", "group", "leave"), ONE_WAY)
@pytest.mark.parametrize("interpret", [False, True])
def test_collectives_in_which_not_all_wait_for_all(
    kind: int, group: list[int], leave: list[float], interpret: bool
) -> None:
    none = np.empty(0, np.int32)
    kinds = np.array([[kind, COMPLETE] if kind == POST else [kind]], np.uint8)
    at = kinds.size - 1  # of the event in which ranks wait
    latency = np.zeros((kinds.size, KINDS))
    latency[at, kinds[0, at]] = 0.5
    neighbours = Neighbours.of_edges(4, none, none)
    simulator = EventSimulator(4, neighbours, latency)
    work, groups = np.zeros((1, 4, kinds.size)), np.full((1, 4, kinds.size), -1)
    work[:, :, 0], groups[:, :, 0] = [1.0, 5.0, 3.0, 2.0], group
    waits = Waits.of_places(kinds.size + 1, 4)
    block = EventBlock(
        kind=kinds, work=work, duration=np.zeros_like(work), rest=np.zeros((1, 4)),
        cycle_begins=np.zeros(1, np.bool_), group=groups,
    )  # fmt: skip
    simulator.walk(block, waits=waits, interpret=interpret)
    np.testing.assert_allclose(simulator.clock, leave)
    duration = np.zeros_like(work)
    duration[0, :, at] = simulator.clock - work[0, :, 0]
    block = EventBlock(
        kind=kinds,
        work=work,
        duration=duration,
        rest=np.zeros((1, 4)),
        cycle_begins=np.array([True]),
        group=groups,
    )
    come, left = moments(np.zeros((1, 4)), block)
    released = releases(np.zeros((1, 4)), block, come, left, neighbours)[0, at]
    kept = waits.waited[at] >= 0
    np.testing.assert_allclose(released[kept], np.array(leave)[kept] - 0.5)
    assert (released[~kept] <= come[0, at, ~kept]).all()
    by, wait_s = waits_as_recorded(np.zeros((1, 4)), block, neighbours)
    assert by[0, at, kept].tolist() == waits.waited[at, kept].tolist()
    np.testing.assert_allclose(wait_s[0, at], np.maximum(released - come[0, at], 0.0))
