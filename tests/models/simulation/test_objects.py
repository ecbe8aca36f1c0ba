"""Other maps of objects to ranks: the maps, and the cycles that are computed with them."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.models.simulation.objects import (
    TOLERANCE,
    Cycles,
    Objects,
    Strategy,
    exchanged,
    greedy_map,
    maps_of,
    moved_cells,
    rebalanced,
    refine_map,
)

# Four blocks in a row; rank 0 has three of them.
ROW = Objects(
    load=np.array([4.0, 2.0, 2.0, 4.0]),
    owner=np.array([0, 0, 0, 1]),
    source=np.array([0, 1, 1, 2, 2, 3]),
    target=np.array([1, 0, 2, 1, 3, 2]),
    bytes=np.array([10.0, 10.0, 20.0, 20.0, 30.0, 40.0]),
)
CYCLES = Cycles(
    mesh=np.array([0, 0, 1]),
    work_s=np.array([[8.0, 8.0], [16.0, 4.0], [8.0, 4.0]]),
    halo_s=np.array([1.0, 1.0, 1.0]),
    cycle_s=np.array([10.0, 18.0, 11.0]),
    move_s=None,
)


def test_greedy_gives_the_largest_first_to_the_emptiest() -> None:
    assert greedy_map(np.array([1.0, 5.0, 3.0, 3.0, 2.0]), 2).tolist() == [1, 0, 1, 1, 0]
    random = np.random.default_rng(0)
    load = random.gamma(0.5, 1.0, 400)
    total = np.bincount(greedy_map(load, 7), load, 7)
    # The bound of R. L. Graham, 1969.
    assert total.max() <= (4.0 / 3.0 - 1.0 / 21.0) * max(load.max(), total.mean())


def test_refine_moves_few_objects_and_none_of_a_balanced_map() -> None:
    random = np.random.default_rng(1)
    load = random.gamma(2.0, 1.0, 600)
    even = greedy_map(load, 6)
    assert refine_map(load, even, 6).tolist() == even.tolist()
    uneven = np.where(np.arange(600) < 60, 0, even)
    refined = refine_map(load, uneven, 6)
    total = np.bincount(refined, load, 6)
    assert total.max() <= TOLERANCE * total.mean()
    assert (refined != uneven).sum() <= 60
    assert uneven.tolist() != refined.tolist()


def test_refine_ends_where_an_object_is_larger_than_a_share() -> None:
    load = np.array([100.0, 1.0, 1.0])
    assert refine_map(load, np.array([0, 0, 1]), 2).tolist() == [0, 1, 1]


def test_communication_is_computed_from_the_edges() -> None:
    assert exchanged(ROW, ROW.owner, 2).tolist() == [40.0, 1.0]
    # Rank 0 sends 10 + 20 + 30 bytes, rank 1 sends 10 + 20 + 40; both in one message.
    assert exchanged(ROW, np.array([0, 1, 0, 1]), 2).tolist() == [70.0, 1.0]
    assert exchanged(ROW, np.arange(4), 4).tolist() == [50.0, 2.0]
    assert exchanged(ROW, np.zeros(4, np.int64), 2)[0] == 0.0


def test_without_another_map_the_recorded_cycles_come_back() -> None:
    found = rebalanced(CYCLES, [ROW, ROW], [ROW.owner, ROW.owner])
    assert (found.low_s, found.seconds, found.high_s) == pytest.approx((39.0, 39.0, 39.0))
    assert found.slowest.tolist() == [3, 0]  # the first of those that are equally slow
    assert found.imbalance == pytest.approx(8.0 / 6.0)
    assert (found.bytes, found.messages, found.moved) == (1.0, 1.0, 0.0)


def test_cycles_with_another_map_by_hand() -> None:
    # Block 2 goes to rank 1: 6 cells each. Bytes between the ranks: 20 instead of 40.
    owner = np.array([0, 0, 1, 1])
    found = rebalanced(CYCLES, [ROW, ROW], [owner, owner])
    # Times per cell: 1 and 2; 2 and 1; 1 and 1. By rank: 6 and 12; 12 and 6; 6 and 6.
    by_rank = 12.0 + 12.0 + 6.0
    # By object: rank 1 has 2 cells at the rate of rank 0. 6 and 10; 12 and 8; 6 and 6.
    by_object = 10.0 + 12.0 + 6.0
    rest = 1.0 + 1.0 + 2.0
    halos = [1.5, 3.0]  # half the bytes, or as many messages
    assert found.low_s == pytest.approx(by_object + rest + halos[0])
    assert found.high_s == pytest.approx(by_rank + rest + halos[1])
    assert found.imbalance == 1.0
    assert (found.bytes, found.messages) == (0.5, 1.0)


def test_moved_cells_cost_what_they_cost_in_the_run() -> None:
    known = replace(CYCLES, move_s=0.5)
    away = np.array([1, 0, 0, 1])
    free = rebalanced(CYCLES, [ROW, ROW], [ROW.owner, away])
    paid = rebalanced(known, [ROW, ROW], [ROW.owner, away])
    assert paid.moved == moved_cells([ROW, ROW], [ROW.owner, away]) == 4.0
    assert paid.seconds - free.seconds == pytest.approx(4.0 * 0.5)


def test_maps_of_strategies() -> None:
    later = replace(ROW, load=np.array([1.0, 1.0, 1.0, 9.0]))
    first, second = maps_of(Strategy.NONE, [ROW, later], 2)
    assert first.tolist() == second.tolist() == [0, 0, 0, 1]
    refined = maps_of(Strategy.REFINE, [ROW, later], 2)
    assert [each.tolist() for each in refined] == [[0, 1, 0, 1], [0, 0, 0, 1]]
