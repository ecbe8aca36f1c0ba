"""Which receive gets which message."""

from dataclasses import replace

import pytest
from benchmarks.traces.messages import (
    ANY,
    NOBODY,
    Exchange,
    JointCall,
    Operation,
    Pattern,
    RankTrace,
    message_program,
)

from hindmost.errors import DataError

BARRIER = JointCall(name="barrier", pattern=Pattern.ALL, exchange=Exchange.NOTHING)


def sends(*tags: int, rank: int = 0, other: int = 1) -> RankTrace:
    trace = RankTrace(rank, f"rank{rank}")
    for line, tag in enumerate(tags, 1):
        trace.end(line, trace.send(line, other, tag, 10.0 * line))
    return trace


def receives(*wanted: tuple[int, int], rank: int = 1) -> RankTrace:
    trace = RankTrace(rank, f"rank{rank}")
    for line, (source, tag) in enumerate(wanted, 1):
        trace.end(line, trace.receive(line, source, tag))
    return trace


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ([(0, 5), (0, 5), (0, 6)], [0, 1, 2]),
        ([(0, 6), (0, 5), (0, 5)], [2, 0, 1]),
        ([(0, ANY), (0, 6), (0, ANY)], [0, 2, 1]),
        ([(ANY, 5), (ANY, ANY), (0, 6)], [0, 1, 2]),
    ],
)
def test_messages_of_one_tag_keep_their_order(
    wanted: list[tuple[int, int]], got: list[int]
) -> None:
    program = message_program([sends(5, 5, 6), receives(*wanted)])
    assert program.bytes.tolist() == [10.0, 20.0, 30.0]
    posts = program.kind == Operation.POST
    assert program.target[posts].tolist() == got


def test_a_receive_from_any_rank_may_be_from_none() -> None:
    program = message_program([sends(5), receives((ANY, 9), (0, 5))])
    nothing = program.kind == Operation.NOTHING
    assert nothing.sum() == 2  # its begin and its end
    assert program.at(int(nothing.argmax())) == "rank1, line 1"


def test_a_send_to_nobody_takes_no_part() -> None:
    assert message_program([sends(5, other=NOBODY), receives()]).source.size == 0


def test_a_test_ends_a_message_unless_a_later_call_does() -> None:
    trace = RankTrace(1, "rank1")
    begun, later = trace.receive(1, 0, 5), trace.receive(2, 0, 6)
    for line in (3, 4):
        trace.test(line, begun)
        trace.test(line, later)
    trace.end(5, later)
    trace.close()
    program = message_program([sends(5, 6), trace])
    received = program.kind == Operation.RECEIVED
    assert program.line[received].tolist() == [4, 5]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([sends(5), receives((0, 6))], r"rank1, line 1: rank 1 receives a message from rank 0 w"),
        ([sends(5), receives((0, 5), (0, 5))], r"rank1, line 2: rank 1 receives .* none is left"),
        ([sends(5, 5), receives((0, 5))], r"rank0, line 2: rank 0 sends rank 1 a message with ta"),
        (
            [sends(5, other=2), sends(5, rank=1, other=2), receives((ANY, 5), rank=2)],
            r"rank2, line 1: rank 2 receives a message from any rank with tag 5, and those of rank",
        ),
    ],
)
def test_what_does_not_fit_is_refused(ranks: list[RankTrace], said: str) -> None:
    with pytest.raises(DataError, match=said):
        message_program(ranks)


def test_what_nobody_waits_for_is_refused() -> None:
    trace = RankTrace(1, "rank1")
    trace.receive(3, 0, 5)
    with pytest.raises(DataError, match=r"rank1, line 3: rank 1 begins to receive a message and"):
        message_program([sends(5), trace])
    trace = RankTrace(0, "rank0")
    trace.enter(3, BARRIER)
    with pytest.raises(DataError, match=r"rank0, line 3: rank 0 begins a barrier and never waits"):
        message_program([trace])


@pytest.mark.parametrize(
    "others", [[], [replace(BARRIER, name="bcast")], [replace(BARRIER, root=1)]]
)
def test_ranks_agree_on_collectives(others: list[JointCall]) -> None:
    first, second = RankTrace(0, "rank0"), RankTrace(1, "rank1")
    first.leave(1, first.enter(1, BARRIER))
    for one in others:
        second.leave(1, second.enter(1, one))
    with pytest.raises(
        DataError, match=r"rank 0 calls barrier \(rank0, line 1\), and rank 1 calls"
    ):
        message_program([first, second])


def test_the_most_bytes_of_a_collective_count() -> None:
    every = [RankTrace(rank, "") for rank in range(3)]
    for trace, bytes in zip(every, (1.0, 9.0, 0.0), strict=True):
        one = JointCall(
            name="gather", pattern=Pattern.TO_ROOT, exchange=Exchange.GROWING, bytes=bytes
        )
        trace.leave(1, trace.enter(1, one))
    assert message_program(every).collectives[0].bytes == 9.0
