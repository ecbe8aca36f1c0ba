"""Loops of control flow, and how control comes from here to there."""

from __future__ import annotations

import pytest

from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph

# 0 -> 1 -> 2 -> 3 -> 4, with 3 -> 2 and 4 -> 1: a loop in a loop; 5 leads out of both.
NESTED = FlowGraph([[1], [2], [3], [2, 4], [1, 5], []])


def test_loops_are_nested() -> None:
    assert NESTED.nest == [(), (1,), (1, 2), (1, 2), (1,), ()]
    assert NESTED.loops == {1: {1, 2, 3, 4}, 2: {2, 3}}


@pytest.mark.parametrize(
    ("begin", "end", "found"),
    [(1, 4, FORWARD), (3, 2, 2), (4, 2, 1), (4, 1, 1), (2, 2, 2), (5, 1, NEVER), (0, 5, FORWARD)],
)
def test_how_control_comes_there(begin: int, end: int, found: int) -> None:
    assert NESTED.step(begin, end, later=False) == found


def test_a_later_place_of_a_block_is_forward() -> None:
    assert NESTED.step(2, 2, later=True) == FORWARD


def test_a_loop_that_is_entered_at_two_places_is_one() -> None:
    graph = FlowGraph([[1, 2], [2], [1, 3], []])
    assert [bool(nest) for nest in graph.nest] == [False, True, True, False]


def test_blocks_that_nothing_leads_to_are_in_no_loop() -> None:
    assert FlowGraph([[1], [], [1]]).nest == [(), (), ()]
