"""Loops in a stream of calls: their tree, graph, names, and which is the iteration."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hindmost.harness.loops.choice import (
    Signature,
    Summary,
    candidates_of,
    choose,
    named_loop,
    phases_of,
)
from hindmost.harness.loops.graph import FORWARD, NEVER, FlowGraph
from hindmost.harness.loops.names import short
from hindmost.harness.loops.tree import begins_at_entry


def at(function: int, depth: int = 0) -> Signature:
    return ((0, function),), depth, 0, 0


def loop(iterations: int, *, inside: Signature | None = None, **other: Any) -> Summary:
    plain = Summary(
        around=() if inside is None else (inside,),
        header=0,
        iterations=iterations,
        entries=1,
        share=0.9,
        seconds=1e-3,
        effective=float(iterations),
        trips=iterations,
        constant=1.0,
        once=iterations == 1,
        calls=iterations,
        hidden=(),
    )
    return replace(plain, **other)


OUTER, INNER = at(1), at(2)


def test_the_outermost_that_iterates_often() -> None:
    ranks = [{OUTER: loop(40), INNER: loop(200, inside=OUTER, trips=5, calls=200)}] * 2
    (chosen,) = choose(candidates_of(ranks))
    assert (chosen.parts, chosen.iterations, chosen.inside) == ((OUTER,), 40, (INNER,))


def test_a_loop_within_one_that_some_rank_hardly_does_is_no_other_phase() -> None:
    between = at(3)
    inner = replace(loop(120, calls=10), around=(between, OUTER))
    ranks = [
        {OUTER: loop(40), between: loop(120, inside=OUTER), INNER: inner},
        {OUTER: loop(40), INNER: inner},
    ]
    (chosen,) = choose(candidates_of(ranks))
    assert (chosen.parts, chosen.inside) == ((OUTER,), (INNER,))


def test_chunks_are_not_iterations() -> None:
    inner = loop(400, inside=OUTER, trips=20, entries=20, calls=380)
    (chosen,) = choose(candidates_of([{OUTER: loop(20, calls=400), INNER: inner}]))
    assert (chosen.parts, chosen.around) == ((INNER,), (OUTER,))
    # Where much else is called between, or their lengths differ, they are.
    for other in (replace(inner, calls=300), replace(inner, constant=0.5)):
        (chosen,) = choose(candidates_of([{OUTER: loop(20, calls=400), INNER: other}]))
        assert chosen.parts == (OUTER,)


def test_counts_that_differ_between_ranks() -> None:
    first = {OUTER: loop(7), INNER: loop(70, inside=OUTER, trips=10)}
    second = {OUTER: loop(7), INNER: loop(77, inside=OUTER, trips=11)}
    (chosen,) = choose(candidates_of([first, second]))
    assert (chosen.parts, chosen.few) == ((OUTER,), True)
    few = [{INNER: loop(70)}, {INNER: loop(71)}]
    assert choose(candidates_of(few)) == ()
    (chosen,) = choose(candidates_of(few, slack=1))  # the program was ended
    assert chosen.iterations == 70


def test_few_equal_iterations_are_better_than_irregular_ones() -> None:
    inner = loop(90, inside=OUTER, trips=14, entries=7)
    (chosen,) = choose(candidates_of([{OUTER: loop(7), INNER: inner}]))
    assert chosen.parts == (INNER,)
    (chosen,) = choose(candidates_of([{OUTER: loop(7), INNER: replace(inner, constant=0.3)}]))
    assert (chosen.parts, chosen.few) == ((OUTER,), True)


def test_a_loop_within_a_few_iterations_has_their_time_and_is_none_of_axes() -> None:
    outer = loop(4, share=0.65)
    inner = loop(72, inside=OUTER, trips=18, entries=4, share=0.6)
    (chosen,) = choose(candidates_of([{OUTER: outer, INNER: inner}]))
    assert chosen.parts == (INNER,)
    for other in (replace(inner, share=0.06), replace(inner, trips=3)):
        (chosen,) = choose(candidates_of([{OUTER: outer, INNER: other}]))
        assert (chosen.parts, chosen.few) == ((OUTER,), True)
    assert choose(candidates_of([{OUTER: loop(3), INNER: replace(inner, trips=3)}])) == ()


def test_what_is_around_is_so_where_most_of_the_time_is() -> None:
    once = ((0, 3), (0, 2)), 0, 0, 0  # the same loop, called before
    first = loop(25, share=0.05)
    then = loop(375, inside=OUTER, trips=25, entries=15, share=0.9)
    (chosen,) = choose(candidates_of([{once: first, OUTER: loop(15, calls=375), INNER: then}]))
    assert (chosen.iterations, chosen.around) == (400, (OUTER,))


def test_a_few_iterations_with_all_the_time_are_not_often() -> None:
    assert choose(candidates_of([{OUTER: loop(19, effective=1.2, constant=0.0)}]))[0].few


def test_a_loop_that_no_call_separates_hides_in_the_one_inside() -> None:
    ranks = [{OUTER: loop(1), INNER: loop(300, inside=OUTER, hidden=(3, 6))}] * 2
    (chosen,) = choose(candidates_of(ranks))
    assert (chosen.every, chosen.iterations) == (3, 100)
    seldom = [{OUTER: loop(1), INNER: loop(24, inside=OUTER, hidden=(3,))}]
    assert choose(candidates_of(seldom))[0].every == 1  # ten iterations are the least


def test_other_loops_are_phases_and_the_same_one_is_one() -> None:
    ranks = [{OUTER: loop(50, share=0.5), INNER: loop(80, share=0.4)}]
    assert [each.parts[0] for each in choose(candidates_of(ranks))] == [OUTER, INNER]
    again = ((0, 3), (0, 1)), 0, 0, 0
    (chosen,) = choose(candidates_of([{OUTER: loop(50, share=0.3), again: loop(80, share=0.4)}]))
    assert chosen.iterations == 130


def test_a_loop_of_few_iterations_with_much_of_the_time_has_a_file() -> None:
    ranks = [{OUTER: loop(50, share=0.3), INNER: loop(7, share=0.6)}]
    found = choose(candidates_of(ranks))
    assert [(each.parts[0], each.few) for each in found] == [(OUTER, False), (INNER, True)]
    assert phases_of(found) == found
    little = [{OUTER: loop(50, share=0.9), INNER: loop(70, share=0.06)}]
    assert len(phases_of(choose(candidates_of(little)))) == 1


def test_a_loop_by_its_name() -> None:
    candidates = candidates_of([{OUTER: loop(40), INNER: loop(200, inside=OUTER)}])
    names = {OUTER: "run (main.c:7)", INNER: "solve (cg.c:9)"}
    for name in ("solve (cg.c:9)", "solve"):
        chosen = named_loop(name, 2, names, candidates)
        assert chosen is not None
        assert (chosen.parts, chosen.iterations) == ((INNER,), 100)
    assert named_loop("nowhere", 1, names, candidates) is None
    names = {OUTER: "app::Driver::run (main.cpp:7)", INNER: "app::Solver::operator (cg.cpp:9)"}
    for name in ("app::Driver::run", "app::Driver::run (main.cpp:7)", "app::Driver<int, 3>::run"):
        chosen = named_loop(name, 1, names, candidates)
        assert chosen is not None
        assert chosen.parts == (OUTER,)
    assert named_loop("Other::run", 1, names, candidates) is None


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


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("MAIN__", "MAIN__"), ("solve_", "solve"), ("__hydro_MOD_step", "step"), ("step", "step")],
)
def test_fortran_is_named_as_in_its_source(symbol: str, name: str) -> None:
    assert short(symbol, of_fortran=True) == name


def test_templates_and_parameters_are_left_out() -> None:
    assert short("void grid::sweep<double, 3>(int, double*)") == "grid::sweep"


@pytest.mark.parametrize(
    ("contexts", "begins", "expected"),
    [
        ("sabcdabcdabcd", (1, 2, 6, 10), (1, 5, 9)),  # the header lies between a and b
        ("sabcdabcdabcd", (1, 5, 9), (1, 5, 9)),
        ("sbabababa", (1, 2, 4, 6), (1, 2, 4, 6)),  # b in each, a in all but the first
        ("sabbbbb", (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)),
    ],
)
def test_iterations_begin_where_control_enters(
    contexts: str, begins: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    context = np.frombuffer(contexts.encode(), np.uint8).astype(np.uint32)
    found = begins_at_entry(
        np.array(begins),
        np.array([1]),
        np.array([context.size - 1]),
        context,
        lambda wanted: np.flatnonzero(context == wanted),
    )
    assert found.tolist() == list(expected)
