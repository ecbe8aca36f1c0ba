"""Ranks whose calls differ are put into one sequence in which each has its own."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import NOTED, PHASES, RECORD, Flag
from hindmost.harness.runfile.bodies import RankEvents
from hindmost.harness.runfile.common_events import CommonEvents, common_sequence, most_pending
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator

SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE

Events = list[tuple[EventKind, float, float]]


def sequence_of(
    ranks: list[Events], sources: list[list[int]]
) -> tuple[list[int], list[list[int]]] | None:
    kinds = [[kind for kind, _, _ in rank] for rank in ranks]
    begins = [[begin for _, begin, _ in rank] for rank in ranks]
    ends = [[end for _, _, end in rank] for rank in ranks]
    return common_sequence(kinds, begins, ends, sources)


def test_alike_ranks_keep_their_sequence() -> None:
    alike: Events = [(SEND, 0, 1), (RECEIVE, 1, 2), (REDUCE, 2, 3)]
    found = sequence_of([alike, alike], [[1], [0]])
    assert found == ([SEND, RECEIVE, REDUCE], [[0, 1, 2], [0, 1, 2]])


def test_a_chain_is_walked_from_rank_to_rank() -> None:
    # Every rank works for a second once it has what the one before it sent.
    chain: list[Events] = [
        [(SEND, 1, 1)],
        [(RECEIVE, 0, 1), (SEND, 2, 2)],
        [(RECEIVE, 0, 2), (SEND, 3, 3)],
        [(RECEIVE, 0, 3)],
    ]
    found = sequence_of(chain, [[], [0], [1], [2]])
    assert found is not None
    kinds, places = found
    assert places == [[0], [1, 2], [3, 4], [5]]
    # On an ideal network the last rank ends when all have worked, one after the other.
    work = np.zeros((1, 4, len(kinds)))
    for rank in range(3):
        work[0, rank, places[rank][-1]] = 1.0
    source, target = np.arange(3, dtype=np.int32), np.arange(1, 4, dtype=np.int32)
    network = EventSimulator(4, Neighbours.of_edges(4, source, target))
    network.walk(np.array([kinds], np.uint8), work, np.array([[0.0, 0.0, 0.0, 1.0]]))
    assert network.clock.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_one_rank_hands_out_work() -> None:
    found = sequence_of(
        [
            [(SEND, 0, 1), (RECEIVE, 1, 6)],
            [(RECEIVE, 0, 1), (SEND, 4, 4)],
            [(RECEIVE, 0, 1), (SEND, 6, 6)],
        ],
        [[1, 2], [0], [0]],
    )
    assert found == ([SEND, RECEIVE, SEND, RECEIVE], [[0, 3], [1, 2], [1, 2]])


def test_a_rank_may_do_nothing_between_collectives() -> None:
    found = sequence_of(
        [[(REDUCE, 5, 6)], [(SEND, 1, 1), (REDUCE, 5, 6)], [(RECEIVE, 0, 2), (REDUCE, 5, 6)]],
        [[], [], [1]],
    )
    assert found == ([SEND, RECEIVE, REDUCE], [[2], [0, 2], [1, 2]])


def test_collectives_of_some_ranks_have_no_common_sequence() -> None:
    assert sequence_of([[(REDUCE, 0, 1), (REDUCE, 1, 2)], [(REDUCE, 1, 2)]], [[], []]) is None
    assert sequence_of([[(POST, 0, 1)], [(REDUCE, 0, 1)]], [[], []]) is None


@pytest.mark.parametrize(
    ("kinds", "pending"),
    [
        ([[POST, COMPLETE], [POST, COMPLETE]], 1),
        ([[POST, POST], [COMPLETE, POST], [COMPLETE, COMPLETE]], 2),
        ([[COMPLETE, POST, POST]], 2),  # the first was posted before
        ([[POST] * 70], 70),
        ([[REDUCE]], 0),
    ],
)
def test_collectives_under_way(kinds: list[list[int]], pending: int) -> None:
    assert most_pending(np.array(kinds, np.uint8)) == pending


def test_what_a_receipt_needs_is_said_by_other_sources() -> None:
    one = np.zeros((1, 6), np.float32)
    events = RankEvents(
        kind=np.full((1, 6), RECEIVE, np.uint8),
        work=one,
        duration=one,
        needs=np.array([[0, 1, 2, 3, 4, -1]], np.int32),
        sources=(7, 3, -1),
    )
    found = events.needs_by([3, 5, 7])
    # Who is not among the sources may be anyone.
    assert found.tolist() == [[0, 4, 1, 5, -1, -1]]


def test_calls_in_a_row_need_all_their_sources() -> None:
    classes = ("waits_all", "starts_send")
    calls = np.zeros(6, RECORD)
    calls["begin_ns"] = np.arange(6) * 100
    calls["end_ns"] = calls["begin_ns"] + 50
    calls["what"] = [-1, -1, -2, -1, -2, -1]
    calls["flags"] = [Flag.GROUP, Flag.GROUP, 0, Flag.GROUP, 0, Flag.GROUP]
    calls["count"] = [1, 2, 0, 0, 0, 4]
    begin, end = np.array([0]), np.array([600])
    found, _ = events_of_bodies(begin, end, calls, classes, (7, 3))
    assert found is not None
    assert found.kind.tolist() == [[RECEIVE, SEND, RECEIVE, SEND, RECEIVE]]
    assert found.needs.tolist() == [[3, -1, 0, -1, -1]]  # of a third source nothing is known
    calls["flags"][1] = 0  # a call that does not say which
    found, _ = events_of_bodies(begin, end, calls, classes, (7, 3))
    assert found is not None
    assert found.needs[0, 0] == -1


def test_a_blocking_send_needs_nobody() -> None:
    """Sends of one function are one event; what they take counts to the next message."""
    calls = np.zeros(5, NOTED)
    calls["begin_ns"] = np.arange(5) * 100
    calls["end_ns"] = calls["begin_ns"] + 50
    calls["what"] = [-1, -1, -1, -2, -1]
    calls["phase"][3] = PHASES.index("wait")
    calls["function"] = [7, 9, 9, 9, 9]
    found, _ = events_of_bodies(np.array([0]), np.array([600]), calls, ("sends", "meets"))
    assert found is not None
    assert found.needs is not None
    exchange = [SEND, RECEIVE]
    assert found.kind.tolist() == [[*exchange, *exchange, EventKind.REDUCE, *exchange]]
    assert found.needs.tolist() == [[-1, 0, -1, 0, -1, -1, 0]]
    np.testing.assert_allclose(found.duration * 1e9, [[0, 50, 50, 50, 50, 0, 50]])


def test_a_rank_needs_nobody_at_a_receipt_of_others() -> None:
    kind = np.array([[EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE]], np.uint8)
    common = CommonEvents(
        kind=kind,
        rows=np.array([0]),
        places=[[[2]]],
        known=frozenset({"needs"}),
        sources=[[1]],
    )
    one = np.ones((1, 1), np.float32)
    alone = RankEvents(kind=kind[:, 2:], work=one, duration=one)
    found = common.of(0, alone)
    assert found.needs.tolist() == [[-1, 0, -1]]
