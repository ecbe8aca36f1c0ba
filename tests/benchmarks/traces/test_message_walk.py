"""Programs message by message, against clocks by hand."""

import numpy as np
import pytest
from benchmarks.traces import message_walk
from benchmarks.traces.message_walk import (
    MessageWalk,
    branch_bytes,
    collective_s,
    message_costs,
    walk_messages,
)
from benchmarks.traces.messages import (
    Exchange,
    JointCall,
    MessageProgram,
    Pattern,
    RankTrace,
    message_program,
)

from hindmost.errors import DataError
from hindmost.models.simulation.network import Link, NodeNetwork, Piece, nodes_of

LINK = Link(pieces=(Piece(from_bytes=0, latency_s=1.0, per_byte_s=0.5),))
NETWORK = NodeNetwork(within=LINK, across=LINK)


def traces(ranks: int) -> list[RankTrace]:
    return [RankTrace(rank, f"rank{rank}") for rank in range(ranks)]


def walk(program: MessageProgram, eager: float = 10.0, slow: float = 1.0) -> MessageWalk:
    node = nodes_of(program.ranks, program.ranks)
    costs = message_costs(program, NETWORK, node, eager)
    return walk_messages(program, costs, np.full(program.ranks, slow))


def one_message(bytes: float, *, early: bool) -> MessageProgram:
    """Rank 0 sends after 3 s, and works 1 s; rank 1 receives after 5 s, or posts at once."""
    sender, receiver = traces(2)
    sender.do(3.0)
    sender.end(2, sender.send(1, 1, 7, bytes))
    sender.do(1.0)
    begun = receiver.receive(1, 0, 7) if early else None
    receiver.do(5.0)
    receiver.end(3, begun or receiver.receive(2, 0, 7))
    receiver.do(2.0)
    return message_program([sender, receiver])


@pytest.mark.parametrize(
    ("bytes", "early", "ends"),
    [
        (4.0, True, [4.0, 8.0]),  # there at 3 + 1 + 2, and rank 1 comes at 5
        (4.0, False, [4.0, 8.0]),  # it left before rank 1 came
        (40.0, True, [25.0, 26.0]),  # 3 + 21, and rank 0 stays until then
        (40.0, False, [27.0, 28.0]),  # begins when rank 1 comes, at 5
    ],
)
def test_small_messages_leave_at_once_and_large_ones_when_both_came(
    bytes: float, early: bool, ends: list[float]
) -> None:
    found = walk(one_message(bytes, early=early))
    assert found.end_s.tolist() == ends
    path = found.path
    assert path.work.sum() + path.cost.sum() == pytest.approx(found.total_s)


def test_slower_ranks_work_longer() -> None:
    assert walk(one_message(4.0, early=True), slow=2.0).end_s.tolist() == [8.0, 14.0]


def collective(one: JointCall, came: list[float]) -> MessageProgram:
    every = traces(len(came))
    for trace, when in zip(every, came, strict=True):
        trace.do(when)
        trace.leave(1, trace.enter(1, one))
    return message_program(every)


CAME = [4.0, 0.0, 1.0, 9.0, 0.0]


@pytest.mark.parametrize(
    ("pattern", "root", "ends"),
    [
        (Pattern.ALL, 0, [15.0] * 5),  # three rounds of 2 s
        # From rank 2: to 3, 4 and 1 directly, and through 4 to 0.
        (Pattern.FROM_ROOT, 2, [5.0, 3.0, 1.0, 9.0, 3.0]),
        # To rank 2: from 0 through 4; 3 comes last.
        (Pattern.TO_ROOT, 2, [4.0, 0.0, 11.0, 9.0, 6.0]),
        (Pattern.PREFIX, 0, [10.0, 10.0, 10.0, 15.0, 15.0]),
    ],
)
def test_collectives_wait_for_whom_they_need(
    pattern: Pattern, root: int, ends: list[float]
) -> None:
    one = JointCall(name="some", pattern=pattern, exchange=Exchange.SAME, root=root, bytes=2.0)
    found = walk(collective(one, CAME))
    assert found.end_s.tolist() == ends
    assert found.path.work.sum() + found.path.cost.sum() == pytest.approx(found.total_s)


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (Exchange.NOTHING, 3.0),
        (Exchange.SAME, 12.0),
        (Exchange.PAIRS, 16.0),
        (Exchange.GROWING, 3.0 + 3.0 * (1 + 2 + 1)),  # of 5 ranks, 1 is left in the last round
        (Exchange.HALVING, 3.0 + 3.0 * (1 / 2 + 1 / 4 + 1 / 8)),
    ],
)
def test_collectives_take_their_rounds(exchange: Exchange, expected: float) -> None:
    bytes = 0.0 if exchange is Exchange.NOTHING else 6.0
    one = JointCall(name="some", pattern=Pattern.ALL, exchange=exchange, bytes=bytes)
    assert collective_s(one, 5, LINK.time_s) == pytest.approx(expected)


def test_branches_carry_the_bytes_of_the_ranks_behind_them() -> None:
    grown = JointCall(name="gather", pattern=Pattern.TO_ROOT, exchange=Exchange.GROWING, bytes=2.0)
    # Of 7 ranks, counted from the root: 6 has no other behind it, and 4 has 5 and 6.
    assert branch_bytes(grown, 7) == [2.0, 4.0, 8.0, 2.0, 2.0, 6.0]


def test_messages_between_nodes_take_their_link() -> None:
    slow = Link(pieces=(Piece(from_bytes=0, latency_s=7.0, per_byte_s=0.0),))
    network = NodeNetwork(within=LINK, across=slow)
    program = one_message(4.0, early=True)
    apart = message_costs(program, network, nodes_of(2, 1), 10.0)
    together = message_costs(program, network, nodes_of(2, 2), 10.0)
    assert (apart.message_s.tolist(), together.message_s.tolist()) == ([7.0], [3.0])


def test_a_reduction_that_is_ended_later_hides_behind_work() -> None:
    one = JointCall(name="some", pattern=Pattern.ALL, exchange=Exchange.SAME, bytes=2.0)
    first, second = traces(2)
    for trace, before, between in ((first, 1.0, 9.0), (second, 4.0, 1.0)):
        trace.do(before)
        number = trace.enter(1, one)
        trace.do(between)
        trace.leave(2, number)
    assert walk(message_program([first, second])).end_s.tolist() == [10.0, 6.0]


def test_ranks_that_wait_in_a_circle_are_named() -> None:
    every = traces(3)
    for rank, trace in enumerate(every):
        trace.end(4, trace.receive(4, (rank + 1) % 3, 1))
        trace.end(5, trace.send(5, (rank - 1) % 3, 1, 1.0))
    with pytest.raises(DataError, match=r"in a circle: rank 0 waits for a message of rank 1 \(ra"):
        walk(message_program(every))


def test_a_collective_that_one_rank_cannot_come_to_is_a_circle() -> None:
    one = JointCall(name="barrier", pattern=Pattern.ALL, exchange=Exchange.NOTHING)
    first, second = traces(2)
    first.leave(1, first.enter(1, one))
    first.end(2, first.send(2, 1, 0, 1.0))
    second.end(1, second.receive(1, 0, 0))
    second.leave(2, second.enter(2, one))
    with pytest.raises(DataError, match=r"rank 0 waits in barrier \(rank0, line 1\); rank 1 waits"):
        walk(message_program([first, second]))


def test_compiled_and_interpreted_walks_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    every = traces(5)
    for step in range(20):
        for rank, trace in enumerate(every):
            trace.do(float(random.exponential()))
            came = trace.receive(1, (rank - 1) % 5, step)
            went = trace.send(2, (rank + 1) % 5, step, float(random.integers(20)))
            trace.end(3, came)
            trace.end(3, went)
            for pattern in Pattern:
                one = JointCall(name="x", pattern=pattern, exchange=Exchange.SAME, root=step % 5)
                trace.leave(4, trace.enter(4, one))
            trace.do(float(random.exponential()))
            trace.leave(5, trace.enter(5, reduction(float(10 * (step % 2) + 5))))
    program = message_program(every)
    plain = walk(program)
    monkeypatch.setattr(message_walk, "FEW_EVENTS", 0)
    fast = walk(program)
    assert fast.end_s.tolist() == plain.end_s.tolist()
    assert fast.path.work.tolist() == plain.path.work.tolist()
    assert plain.path.work.sum() + plain.path.cost.sum() == pytest.approx(plain.total_s)


def reduction(bytes: float) -> JointCall:
    return JointCall(
        name="allreduce", pattern=Pattern.DOUBLING, exchange=Exchange.SAME, bytes=bytes
    )


@pytest.mark.parametrize(("ranks", "at_once", "in_step"), [(8, 3, 3), (12, 4, 5), (3, 2, 3)])
def test_reductions_take_as_long_as_their_steps(ranks: int, at_once: int, in_step: int) -> None:
    program = collective(reduction(2.0), [0.0] * ranks)
    assert walk(program).total_s == 2.0 * at_once
    assert walk(program, eager=1.0).total_s == 2.0 * in_step


@pytest.mark.parametrize(
    ("eager", "ends"),
    [
        # Rank 0 hands its data to rank 1, which exchanges with rank 2 and hands back the result.
        (10.0, [9.0, 7.0, 9.0]),
        (1.0, [11.0, 11.0, 9.0]),
    ],
)
def test_a_reduction_goes_from_rank_to_rank(eager: float, ends: list[float]) -> None:
    found = walk(collective(reduction(2.0), [5.0, 0.0, 1.0]), eager)
    assert found.end_s.tolist() == ends
    assert found.path.work.sum() + found.path.cost.sum() == pytest.approx(found.total_s)


def test_steps_between_nodes_take_their_link() -> None:
    far = Link(pieces=(Piece(from_bytes=0, latency_s=100.0, per_byte_s=0.0),))
    program = collective(reduction(2.0), [0.0] * 4)
    network = NodeNetwork(within=LINK, across=far)
    costs = message_costs(program, network, nodes_of(4, 2), 10.0)
    assert walk_messages(program, costs, np.ones(4)).total_s == 102.0
