"""Exchanges that last until the neighbours come to theirs: told from the times, and replayed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.ranks.transfers import SlowTransfers
from hindmost.models.simulation.blocks import (
    COMPLETE,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    EventBlock,
    Neighbours,
    absent_ranks,
)
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.models.simulation.program import Program, recorded_program
from hindmost.models.simulation.recorded import (
    Exchanges,
    exchanges_meet,
    latest_of_neighbours,
    moments,
    releases,
    waits,
)
from hindmost.models.simulation.rerun import what_if

Times = NDArray[np.float64]
BODIES = 300
LATENCY_S = 1e-6
PAIR = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
BLOCKING, PIPELINED = (REDUCE, SEND, RECEIVE), (SEND, RECEIVE, COMPLETE, POST)
PATTERNS = pytest.mark.parametrize("kinds", [BLOCKING, PIPELINED], ids=["blocking", "pipelined"])
WORK_S = {REDUCE: 5e-6, SEND: 5e-6, RECEIVE: 40e-6, COMPLETE: 1e-6, POST: 30e-6}


def solve(
    kinds: tuple[int, ...] = BLOCKING, *, injected: Times | None = None, **how: Any
) -> Program:
    """Return the program of a solve that was `recorded`."""
    start, block = recorded(kinds, injected=injected, **how)
    place = np.arange(len(start), dtype=np.int32)
    return recorded_program(start, block, place, np.zeros(2), *PAIR, injected=injected)


def recorded(
    kinds: tuple[int, ...] = BLOCKING,
    *,
    meet: bool,
    injected: Times | None = None,
    longer: Times | None = None,
    disturbed: float = 0.0,
    bodies: int = BODIES,
    slow: float = 1.0,
    cycle: int = BODIES,
) -> tuple[Times, EventBlock]:
    """Return a solve of two ranks, each of which sends a halo and works before it receives.

    Parameters
    ----------
    kinds : tuple of int
        Events of an iteration.
    meet : bool
        Whether a receipt lasts until the neighbour is inside MPI after the rank has sent, or until
        the neighbour has sent.
    injected : float64 array, shape (iteration, rank), seconds, optional
        Detours before the halo is sent.
    longer : float64 array, shape (iteration,), seconds, optional
        More work before the reduction, as that of an orthogonalisation.
    disturbed : float
        Share of the receipts that follow the other rule.
    slow : float
        Factor of the work of rank 0.
    cycle : int
        Bodies of a restart cycle, which rank 1 begins later than rank 0.
    """
    random = np.random.default_rng(7)
    shape = bodies, 2, len(kinds)
    work = np.array([WORK_S[what] for what in kinds]) * random.uniform(1.0, 1.5, shape)
    rest = np.full((bodies, 2), 1e-6)
    work[:, 0], rest[:, 0] = slow * work[:, 0], slow * rest[:, 0]
    if injected is not None:
        work[:, :, kinds.index(SEND)] += injected
    if longer is not None:
        work[:, :, kinds.index(REDUCE if REDUCE in kinds else POST)] += longer[:, None]
    other = random.random(bodies) < disturbed
    start, duration = np.empty((bodies, 2)), np.zeros(shape)
    clock, left, sent = np.zeros((3, 2))
    posted = -np.inf
    for body in range(bodies):
        if body and body % cycle == 0:
            clock = clock.max() + np.array([1e-6, 20e-6])
        start[body] = clock
        for event, what in enumerate(kinds):
            come = clock + work[body, :, event]
            if what == SEND:
                sent = clock = come
            elif what == POST:
                clock, posted = come, come.max()
            elif what == REDUCE:
                left = clock = np.full(2, come.max() + LATENCY_S)
            elif what == COMPLETE:
                left = clock = np.maximum(come, posted + LATENCY_S)
            else:
                inside = sent <= left[::-1]  # after this rank had sent, the other was inside MPI
                halo = np.where(inside | (meet == other[body]), sent[::-1], come[::-1])
                left = clock = np.maximum(come, halo + LATENCY_S)
            duration[body, :, event] = clock - come
        clock = clock + rest[body]
    return start, EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=work,
        duration=duration,
        rest=rest,
        cycle_begins=np.arange(bodies) % cycle == 0,
    )


def detours() -> Times:
    """Return detours of a rank in every other body, on average: (iteration, rank), seconds."""
    random = np.random.default_rng(8)
    return np.where(random.random((BODIES, 2)) < 0.5, 70e-6, 0.0)


def ends_s(program: Program) -> float:
    """Return when the last rank ends, as recorded."""
    block = program.block
    return float(((block.work + block.duration).sum(axis=2) + block.rest).sum(axis=0).max())


@PATTERNS
@pytest.mark.parametrize("meet", [True, False])
def test_the_rule_is_told_from_the_times(kinds: tuple[int, ...], meet: bool) -> None:
    assert solve(kinds, meet=meet).exchanges_meet == meet
    assert solve(kinds, meet=meet, injected=detours()).exchanges_meet == meet
    disturbed = solve(kinds, meet=meet, injected=detours(), disturbed=0.1)
    assert disturbed.exchanges_meet == meet
    assert not solve(kinds, meet=meet, bodies=8).exchanges_meet  # too few tell nothing


@PATTERNS
@pytest.mark.parametrize("meet", [True, False])
@pytest.mark.parametrize("cycle", [BODIES, 10])
def test_without_a_change_the_time_comes_back(
    kinds: tuple[int, ...], meet: bool, cycle: int
) -> None:
    """Also where ranks begin cycles apart."""
    program = solve(kinds, meet=meet, injected=detours(), disturbed=0.1, cycle=cycle)
    block = program.block
    spent = (block.work + block.duration).sum(axis=2) + block.rest
    cycles = zip(block.cycles(), program.between, strict=True)
    recorded_s = sum(float((between + spent[rows].sum(axis=0)).max()) for rows, between in cycles)
    walked = what_if(program, Change()).recorded
    assert walked.total_s == pytest.approx(recorded_s, rel=1e-12)
    if cycle == BODIES:
        path = walked.path
        on_path_s = (path.work + path.cost + path.stay).sum()
        assert on_path_s == pytest.approx(walked.total_s, rel=1e-12)


@PATTERNS
@pytest.mark.parametrize("meet", [True, False])
def test_without_injected_detours_the_clean_solve_remains(
    kinds: tuple[int, ...], meet: bool
) -> None:
    clean_s = ends_s(solve(kinds, meet=meet))
    found = what_if(solve(kinds, meet=meet, injected=detours()), Change(uninjected=True))
    assert found.recorded.total_s > 1.3 * clean_s
    # Under the other rule, waiting would be taken for a slow transfer, and stay. Of halos that are
    # there early, the latency hides.
    most_s = 1e-12 if meet and kinds == BLOCKING else LATENCY_S * BODIES
    assert found.predicted_s == pytest.approx(clean_s, abs=most_s)


@PATTERNS
@pytest.mark.parametrize(
    "longer",
    [np.full(BODIES, 200e-6), 2e-4 + 1e-5 * (np.arange(BODIES) % 30)],
    ids=["as long", "longer at each place"],
)
def test_detours_are_removed_where_they_were_and_not_from_the_longest_step(
    kinds: tuple[int, ...], longer: Times
) -> None:
    clean_s = ends_s(solve(kinds, meet=True, longer=longer))
    disturbed = solve(kinds, meet=True, longer=longer, injected=detours())
    found = what_if(disturbed, Change(uninjected=True))
    assert found.recorded.total_s > 1.05 * clean_s
    most_s = 1e-12 if kinds == BLOCKING else LATENCY_S * BODIES
    assert found.predicted_s == pytest.approx(clean_s, abs=most_s)


@PATTERNS
def test_a_slower_rank_keeps_its_neighbour_until_its_receipt(kinds: tuple[int, ...]) -> None:
    found = what_if(solve(kinds, meet=True), Change(speed={0: 0.5}))
    slow_s = ends_s(solve(kinds, meet=True, slow=2.0))
    assert found.predicted_s == pytest.approx(slow_s, abs=LATENCY_S * BODIES)


@PATTERNS
@pytest.mark.parametrize("rule", [True, False])
def test_block_by_block_neighbours_release_a_receipt_as_in_the_walk(
    kinds: tuple[int, ...], rule: bool
) -> None:
    start, block = recorded(kinds, meet=True, injected=detours(), disturbed=0.1, cycle=10)
    come, leave = moments(start, block)
    neighbours = Neighbours.of_edges(2, *PAIR)
    walked = releases(start, block, come, leave, neighbours, exchanges_meet=rule)
    exchanges = Exchanges(2)
    by, wait_s = waits(start, block, neighbours, exchanges_meet=rule)
    at = kinds.index(RECEIVE)
    late = walked[:, at] > come[:, at]
    assert 0 < late.sum() < late.size
    assert (by[:, at][late] == np.broadcast_to([1, 0], late.shape)[late]).all()
    until = np.minimum(walked[:, at], leave[:, at])
    np.testing.assert_allclose(wait_s[:, at], np.maximum(until - come[:, at], 0.0))
    for rows in (slice(0, 7), slice(7, 8), slice(8, 150), slice(150, None)):
        found = exchanges.advance(start[rows], block.part(rows))
        latest = latest_of_neighbours(found, neighbours, exchanges_meet=rule)
        np.testing.assert_array_equal(latest, walked[rows, kinds.index(RECEIVE)])


@PATTERNS
@pytest.mark.parametrize("meet", [True, False])
def test_who_waits_for_a_neighbour_to_receive_has_no_slow_transfer(
    kinds: tuple[int, ...], meet: bool
) -> None:
    start, block = recorded(kinds, meet=meet, injected=detours())
    np.maximum(block.duration, 1e-9, out=block.duration)  # no call takes no time at all
    neighbours = Neighbours.of_edges(2, *PAIR)
    assert exchanges_meet(start, block, neighbours) == meet
    assert not exchanges_meet(start, block, neighbours, clock_s=1e-3)  # no receipt tells
    slow, ideal_s = {}, {}
    for rule in (True, False):
        slow[rule] = SlowTransfers(2, *PAIR, exchanges_meet=rule).add(start, block)
        network = EventSimulator(2, Neighbours.of_edges(2, *PAIR), exchanges_meet=rule)
        network.walk(replace(block, absent=None, behind=None))
        ideal_s[rule] = network.clock.max()
    assert slow[meet].max() <= LATENCY_S
    end_s = float(
        (start[-1] + (block.work + block.duration)[-1].sum(axis=1) + block.rest[-1]).max()
    )
    # All that an ideal network saves is what messages and reductions take.
    assert end_s - ideal_s[meet] < 2.5 * LATENCY_S * BODIES
    if meet:
        assert slow[False].sum() > 20.0 * LATENCY_S * BODIES
    if meet and kinds == PIPELINED:  # a blocking solve waits in its reduction anyway
        assert end_s - ideal_s[False] > 5.0 * LATENCY_S * BODIES


def in_turn(works: Times) -> tuple[Times, EventBlock]:
    """Return a solve in which rank 0 sends to rank 1, which works on and sends back.

    Parameters
    ----------
    works : float64 array, shape (iteration, rank), seconds
        Work of rank 0 before its message, and of rank 1 before its own; each also works until it
        receives, 3 and 1.5 times as long.
    """
    kinds = [SEND, RECEIVE, SEND, RECEIVE, REDUCE]
    bodies, own = len(works), 1e-6
    work, duration = np.zeros((2, bodies, 2, len(kinds)))
    start, clock = np.empty((bodies, 2)), np.zeros(2)
    for body, (ours, theirs) in enumerate(works):
        start[body] = clock
        sent = clock[0] + ours + own
        ready = clock[1] + 1.5 * theirs
        received = max(ready + own, sent + LATENCY_S)
        returned = received + theirs + own
        came = sent + 3.0 * ours
        taken = max(came + own, returned + LATENCY_S)
        work[body, 0] = [ours, 0.0, 0.0, 3.0 * ours, own]
        duration[body, 0] = [own, 0.0, 0.0, taken - came, 0.0]
        work[body, 1] = [0.0, 1.5 * theirs, theirs, 0.0, own]
        duration[body, 1] = [0.0, received - ready, own, 0.0, 0.0]
        ends = np.array([taken, returned]) + own
        clock = np.full(2, ends.max() + LATENCY_S)
        duration[body, :, 4] = clock - ends
    kind = np.tile(np.array(kinds, np.uint8), (bodies, 1))
    return start, EventBlock(
        kind=kind,
        work=work,
        duration=duration,
        rest=np.zeros((bodies, 2)),
        cycle_begins=np.arange(bodies) == 0,
        absent=absent_ranks(kind, work, duration),
    )


def test_ranks_that_take_turns_wait_for_their_own_messages_only() -> None:
    random = np.random.default_rng(3)
    start, block = in_turn(random.uniform(20e-6, 100e-6, (BODIES, 2)))
    absent = np.array([[False, True, True, False, False], [True, False, False, True, False]])
    assert block.absent is not None
    np.testing.assert_array_equal(block.absent, np.tile(absent, (BODIES, 1, 1)))
    place = np.arange(BODIES, dtype=np.int32)
    program = recorded_program(start, block, place, np.zeros(2), *PAIR)
    assert what_if(program, Change()).predicted_s == pytest.approx(ends_s(program), rel=1e-12)
    assert not program.exchanges_meet
    # If exchanges meet, a message of rank 0 ends when rank 1 comes to it, but none of rank 1's own
    # holds rank 0 up.
    ended, met = np.empty((2, *block.rest.shape))
    for each, rule in ((ended, False), (met, True)):
        network = EventSimulator(2, Neighbours.of_edges(2, *PAIR), exchanges_meet=rule)
        network.walk_cycles(block, ended=each)
    np.testing.assert_allclose(met, ended, rtol=1e-12)
    lost_s = ends_s(program) - float(ended[-1].max())
    assert 0.0 < lost_s < 4.0 * LATENCY_S * BODIES
    exchanges = Exchanges(2)
    for rows in (slice(0, 5), slice(5, None)):
        part = block.part(rows)
        found = exchanges.advance(start[rows], part)
        _, leave = moments(start[rows], part)
        # Before rank 0 receives, in place 3, it left the reduction; rank 1 its receipt in place 1.
        came = np.concatenate([start[rows][:1], leave[:-1, 4]])
        np.testing.assert_allclose(found.left[1::2, 0], came[:, 0], atol=1e-12)
        np.testing.assert_array_equal(found.left[1::2, 1], leave[:, 1, 1])


def test_events_without_time_on_all_ranks_are_of_all() -> None:
    kind = np.array([[RECEIVE, SEND, REDUCE]], np.uint8)
    work = np.zeros((1, 3, 3))
    assert absent_ranks(kind, work, work) is None
    work[0, 1, 2] = 1.0
    assert absent_ranks(kind, work, work) is None  # a reduction is of all ranks
    work[0, 1, 1] = 1.0
    found = absent_ranks(kind, work, np.zeros_like(work))
    assert found is not None
    assert np.argwhere(found).tolist() == [[0, 0, 1], [0, 2, 1]]


def test_a_receipt_waits_for_those_that_it_needs() -> None:
    random = np.random.default_rng(5)
    ranks, bodies, kinds = 3, 40, (SEND, RECEIVE, SEND, RECEIVE)
    pairs = [(source, target) for source in range(ranks) for target in range(ranks)]
    apart = np.array([pair for pair in pairs if pair[0] != pair[1]], np.int32)
    neighbours = Neighbours.of_edges(ranks, *apart.T)
    # First from one neighbour, then from the other; in every fourth iteration from both.
    needed = {1: lambda rank: {(rank + 1) % ranks}, 3: lambda rank: {(rank + 2) % ranks}}
    work = random.exponential(1e-4, (bodies, ranks, len(kinds)))
    group = np.full(work.shape, -1, np.int32)
    start, leave = np.empty((bodies, ranks)), np.empty((bodies, len(kinds), ranks))
    clock = np.zeros(ranks)
    for body in range(bodies):
        start[body] = clock
        for event in range(len(kinds)):
            come = clock + work[body, :, event]
            for rank in range(ranks):
                clock[rank] = come[rank]
                if event in needed:
                    wanted = needed[event](rank)
                    if body % 4:
                        sources = [each for each in range(ranks) if each != rank]
                        group[body, rank, event] = sum(1 << sources.index(each) for each in wanted)
                    else:
                        wanted = set(range(ranks)) - {rank}
                    clock[rank] = max(
                        come[rank], *(leave[body, event - 1, each] for each in wanted)
                    )
            leave[body, event] = clock
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=work,
        duration=np.diff(leave, axis=1, prepend=start[:, None]).transpose(0, 2, 1) - work,
        rest=np.zeros((bodies, ranks)),
        cycle_begins=np.arange(bodies) == 0,
        group=group,
    )
    ended = np.empty((bodies, ranks))
    EventSimulator(ranks, neighbours).walk_cycles(block, ended=ended)
    np.testing.assert_allclose(ended, leave[:, -1], rtol=1e-12)
    come, left = moments(start, block)
    released = releases(start, block, come, left, neighbours)[:, (1, 3)].reshape(-1, ranks)
    receipts = Exchanges(ranks).advance(start, block)
    latest = latest_of_neighbours(receipts, neighbours, exchanges_meet=False)
    np.testing.assert_allclose(latest, released, rtol=1e-12)
    np.testing.assert_allclose(
        np.maximum(receipts.come, released), leave[:, (1, 3)].reshape(-1, ranks), rtol=1e-12
    )
