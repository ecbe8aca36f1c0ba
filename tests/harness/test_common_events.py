"""Ranks whose calls differ are put into one sequence in which each has its own."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import NOBODY, NOTED, PHASES, RECORD, CallClass, Flag
from hindmost.harness.runfile.bodies import RankBodies, RankEvents
from hindmost.harness.runfile.common_events import (
    CommonEvents,
    EventsSeen,
    common_events,
    most_pending,
)
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.event_order import OrderedEvents, common_sequence
from hindmost.harness.runfile.message_matches import Receipts
from hindmost.harness.solo import Solo
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import EventBlock, Neighbours, absent_ranks
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.models.simulation.program import Program, recorded_program
from hindmost.models.simulation.rerun import what_if

SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE

Events = list[tuple[EventKind, float, float]]


def sequence_of(
    ranks: list[Events], sources: list[list[int]]
) -> tuple[list[int], list[list[int]]] | None:
    """Return the sequence of ranks that do not know whose messages they need."""
    found = common_sequence(
        [
            OrderedEvents(
                [kind for kind, _, _ in rank],
                [begin for _, begin, _ in rank],
                [end for _, _, end in rank],
                [],
                {at for at, (kind, _, _) in enumerate(rank) if kind == RECEIVE},
            )
            for rank in ranks
        ],
        sources,
    )
    return found if found[0] else None


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
    block = EventBlock(
        kind=np.array([kinds], np.uint8), work=work, duration=np.zeros_like(work),
        rest=np.array([[0.0, 0.0, 0.0, 1.0]]), cycle_begins=np.zeros(1, np.bool_),
    )  # fmt: skip
    network.walk(block)
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


def test_calls_in_a_row_need_all_their_messages() -> None:
    classes = (CallClass.WAIT_ALL, CallClass.ISEND)
    calls = np.zeros(8, RECORD)
    calls["begin_ns"] = np.arange(8) * 100
    calls["end_ns"] = calls["begin_ns"] + 50
    calls["what"] = [-1, -1, -1, -2, -1, -2, -2, -1]
    calls["flags"] = Flag.GROUP
    calls["flags"][1] |= np.uint8(Flag.FURTHER)  # two messages of the second call
    calls["flags"][[3, 5, 6]] |= np.uint8(Flag.SENT)
    calls["count"] = [1, 2, 4, 9, NOBODY, 8, 8, 4]
    calls["channel"] = np.arange(8)
    begin, end = np.array([0]), np.array([800])
    found, _ = events_of_bodies(begin, end, calls, classes, {1: 5, 2: 7, 9: 0, 8: 3})
    assert found is not None
    assert found.kind.tolist() == [[RECEIVE, SEND, RECEIVE, SEND, RECEIVE]]
    assert found.needs.tolist() == [[0, -1, 0, -1, 0]]
    messages = [
        tuple(each) for each in found.messages[["event", "rank", "channel", "sent"]].tolist()
    ]
    assert messages == [
        (0, 5, 0, False),
        (0, 7, 1, False),
        (0, -1, 2, False),  # of a rank that takes no part
        (1, 0, 3, True),
        (3, 3, 5, True),
        (3, 3, 6, True),
        (4, -1, 7, False),
    ]
    calls["flags"][1] = Flag.FURTHER  # a message of which nothing is known
    found, _ = events_of_bodies(begin, end, calls, classes)
    assert found is not None
    assert found.needs.tolist() == [[-1, -1, 0, -1, 0]]


def test_a_blocking_send_needs_nobody() -> None:
    """Sends of one function are one event; what they take counts to the next message."""
    calls = np.zeros(5, NOTED)
    calls["begin_ns"] = np.arange(5) * 100
    calls["end_ns"] = calls["begin_ns"] + 50
    calls["what"] = [-1, -1, -1, -2, -1]
    calls["phase"][3] = PHASES.index("wait")
    calls["function"] = [7, 9, 9, 9, 9]
    found, _ = events_of_bodies(
        np.array([0]), np.array([600]), calls, (CallClass.SEND, CallClass.COLLECTIVE)
    )
    assert found is not None
    assert found.needs is not None
    exchange = [SEND, RECEIVE]
    assert found.kind.tolist() == [[*exchange, *exchange, EventKind.REDUCE, *exchange]]
    assert found.needs.tolist() == [[-1, 0, -1, 0, -1, -1, 0]]
    np.testing.assert_allclose(found.duration * 1e9, [[0, 50, 50, 50, 50, 0, 50]])


def test_a_rank_needs_nobody_at_a_receipt_of_others() -> None:
    kind = np.array([[EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE]], np.uint8)
    nowhere = np.empty(0, np.int64)
    common = CommonEvents(
        kind=kind,
        rows=np.array([0]),
        places=[[[2]]],
        known=frozenset({"needs"}),
        receipts=[
            Receipts(**dict.fromkeys(("body", "place", "needs", "behind", "further"), nowhere))
        ],
    )
    one = np.ones((1, 1), np.float32)
    alone = RankEvents(kind=kind[:, 2:], work=one, duration=one)
    found = common.of(0, alone)
    assert found.needs.tolist() == [[-1, 0, -1]]


Call = tuple[CallClass, float, list[tuple[int, int]]]
"""What a rank calls after some work: messages as the other rank and the channel."""
CALLS = (CallClass.ISEND, CallClass.RECV, CallClass.WAIT_ALL, CallClass.COLLECTIVE)
BODIES = 12


def made_up(seed: int, *, ranks: int, tags: int, meets: bool) -> list[list[list[Call]]]:
    """Return what every rank calls in every body, so that nobody waits for ever.

    Messages are put into one order; each is received some places later. Those that a rank receives
    in a row are often received by one call.
    """
    draw = np.random.default_rng(seed)
    count = 40 * ranks
    places: dict[tuple[int, int, int], list[int]] = {}
    happens = []
    for at in range(count):
        source, target = draw.choice(ranks, 2, replace=False).tolist()
        channel = int(draw.integers(tags))
        happens.append((at, "send", source, target, channel))
        delay = int(draw.integers(1, 8 * ranks))
        places.setdefault((source, target, channel), []).append(at + delay)
    for (source, target, channel), received in places.items():
        happens += [(at, "receive", target, source, channel) for at in received]
    # All that happens up to a place is in a body; those that are received later come later.
    calls: list[list[list[Call]]] = [[[] for _ in range(BODIES)] for _ in range(ranks)]
    for at, what, rank, other, channel in sorted(happens):
        body = min(at * BODIES // count, BODIES - 1)
        if meets and what == "receive":
            body = min(body, BODIES - 1)
        own = calls[rank][body]
        if what == "receive" and own and own[-1][0] != CallClass.ISEND and draw.random() < 0.5:
            name, work, messages = own.pop()
            own.append((CallClass.WAIT_ALL, work, [*messages, (other, channel)]))
            continue
        name = CallClass.ISEND if what == "send" else CallClass.RECV
        own.append((name, float(draw.uniform(1e-5, 1e-4)), [(other, channel)]))
    if meets:
        for rank in calls:
            for of_body in rank:
                of_body.append((CallClass.COLLECTIVE, 1e-5, []))
    return calls


def run_through(
    calls: list[list[list[Call]]], slowness: list[float]
) -> tuple[list[list[tuple[int, float, float, Call]]], float]:
    """Return body, begin and end of all calls of every rank, on a network that takes no time."""
    flat = [[(body, one) for body, of in enumerate(rank) for one in of] for rank in calls]
    sent: dict[tuple[int, int, int], list[float]] = {}
    taken: dict[tuple[int, int, int], int] = {}
    clock, at, come = [0.0] * len(calls), [0] * len(calls), dict[int, dict[int, float]]()
    done: list[list[tuple[int, float, float, Call]]] = [[] for _ in calls]
    moved = True
    meetings = [0] * len(calls)
    while moved:
        moved = False
        for rank, own in enumerate(flat):
            while at[rank] < len(own):
                body, (name, work, messages) = own[at[rank]]
                begin = clock[rank] + work * slowness[rank]
                end = begin
                if name == CallClass.COLLECTIVE:
                    there = come.setdefault(meetings[rank], {})
                    there[rank] = begin
                    if len(there) < len(calls):
                        break
                    end = max(there.values())
                    meetings[rank] += 1
                elif name == CallClass.ISEND:
                    for target, channel in messages:
                        sent.setdefault((rank, target, channel), []).append(begin)
                else:
                    number = dict(taken)
                    times = []
                    for source, channel in messages:
                        key = source, rank, channel
                        place = number.get(key, 0)
                        times.append(sent.get(key, [])[place : place + 1])
                        number[key] = place + 1
                    if not all(times):
                        break
                    taken = number
                    end = max(begin, *(time for (time,) in times))
                clock[rank] = end
                done[rank].append((body, begin, end, (name, work, messages)))
                at[rank] += 1
                moved = True
    assert all(place == len(own) for place, own in zip(at, flat, strict=True))
    return done, max(clock)


def bodies_of(done: list[tuple[int, float, float, Call]]) -> RankBodies:
    """Return what a rank would have recorded; nanoseconds are rounded."""
    records, begins = [], np.zeros(BODIES + 1)
    last = 0.0
    for number in range(BODIES):
        begins[number] = last
        for body, begin, end, (name, _, messages) in done:
            if body != number:
                continue
            flags = Flag.GROUP if name != CallClass.COLLECTIVE else Flag(0)
            flags |= Flag.SENT if name == CallClass.ISEND else Flag(0)
            phase = 1 if name == CallClass.COLLECTIVE else 0
            what = -1 - CALLS.index(name)
            for other, channel in messages[1:]:
                records.append((begin, begin, what, channel, phase, flags | Flag.FURTHER, other))
            other, channel = messages[0] if messages else (0, 0)
            records.append((begin, end, what, channel, phase, flags, other))
            last = end
    begins[BODIES] = last
    noted = np.zeros(len(records), RECORD)
    for row, record in zip(noted, records, strict=True):
        row["begin_ns"], row["end_ns"] = (round(each * 1e9) for each in record[:2])
        for field, value in zip((RECORD.names or ())[2:], record[2:], strict=True):
            row[field] = value
    # A body begins where the one before it ended: just after its last call.
    border = np.rint(begins * 1e9).astype(np.int64)
    border[1:] += 1
    events, why_not = events_of_bodies(border[:-1], border[1:], noted, CALLS)
    assert events is not None
    assert not why_not
    events.messages["at_s"] *= 1e-9
    nothing = np.zeros(BODIES)
    return RankBodies(
        start=border[:-1] * 1e-9,
        duration=np.diff(border) * 1e-9,
        phase_duration=np.zeros((BODIES, 5), np.float32),
        position=np.arange(BODIES, dtype=np.int32),
        kind=np.zeros(BODIES, np.uint8),
        restart_duration=nothing[:0],
        lead_in_s=0.0,
        lead_out_s=0.0,
        solve_time_s=float(border[-1] * 1e-9),
        events=events,
    )


def program_in(ranks: list[RankBodies]) -> tuple[Program, CommonEvents, str]:
    """Return bodies of all ranks as a program, by way of their common sequence."""
    pairs = {
        (int(source), at)
        for at, each in enumerate(ranks)
        if each.events is not None
        for source in each.events.messages["rank"][~each.events.messages["sent"]]
    }
    source, target = np.array(sorted(pairs), np.int32).reshape(-1, 2).T
    edges = Edges(source=source, target=target, bytes=np.ones(source.size, np.int64))
    common, why_not = common_events(lambda: ranks, EventsSeen.of(ranks), edges, Solo())  # type: ignore[arg-type]
    assert common is not None
    of_ranks = [
        common.of(rank, each.events) for rank, each in enumerate(ranks) if each.events is not None
    ]
    work, duration, needs, behind = (
        np.stack([getattr(rank, name) for rank in of_ranks], axis=1).astype(kind)
        for name, kind in (("work", float), ("duration", float), ("needs", int), ("behind", int))
    )
    start, spent = (
        np.stack([getattr(rank, name) for rank in ranks], axis=1) for name in ("start", "duration")
    )
    block = EventBlock(
        kind=common.kind,
        work=work,
        duration=duration,
        rest=np.maximum(spent - (work + duration).sum(axis=2), 0.0),
        cycle_begins=np.arange(BODIES) == 0,
        absent=absent_ranks(common.kind, work, duration),
        group=np.where(common.kind[:, None, :] == RECEIVE, needs, -1),
        behind=behind,
    )
    position = np.arange(BODIES, dtype=np.int32)
    program = recorded_program(start, block, position, np.zeros(len(ranks)), source, target)
    return program, common, why_not


@pytest.mark.parametrize("meets", [True, False])
@pytest.mark.parametrize(("ranks", "tags"), [(2, 1), (2, 5), (4, 3)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_replay_waits_for_the_messages_that_were_received(
    seed: int, ranks: int, tags: int, meets: bool
) -> None:
    """Whatever the order of tags: with other speeds, ranks wait as the program itself would."""
    calls = made_up(seed, ranks=ranks, tags=tags, meets=meets)
    done, total_s = run_through(calls, [1.0] * ranks)
    program, _, why_not = program_in([bodies_of(each) for each in done])
    assert not why_not
    found = what_if(program, Change()).recorded.total_s
    assert found == pytest.approx(total_s, abs=1e-7)
    for slow in range(ranks):
        speed = [0.4 if rank == slow else 1.0 for rank in range(ranks)]
        _, wanted_s = run_through(calls, [1.0 / each for each in speed])
        change = Change(speed=dict(enumerate(speed)))
        assert what_if(program, change).predicted_s == pytest.approx(wanted_s, rel=1e-3)


def test_what_does_not_fit_costs_its_iteration() -> None:
    """A message that nobody sent, and collectives of some ranks: all other iterations stay."""
    calls = made_up(5, ranks=2, tags=2, meets=True)
    done, total_s = run_through(calls, [1.0, 1.0])
    ranks = [bodies_of(each) for each in done]
    events = ranks[0].events
    assert events is not None
    messages, kind = events.messages.copy(), events.kind.copy()
    other_channel = np.flatnonzero((messages["body"] == 3) & ~messages["sent"])[-1]
    messages["channel"][other_channel] = 99
    kind[7, np.count_nonzero(kind[7]) - 1] = EventKind.FROM_ROOT
    kind[9] = 0
    kind[9, 0] = EventKind.UNKNOWN
    defective = replace(events, messages=messages, kind=kind)
    program, common, why_not = program_in([replace(ranks[0], events=defective), ranks[1]])
    unknown = np.flatnonzero(common.kind[:, 0] == EventKind.UNKNOWN)
    # The messages after it in its channel are then those of others: some come too late for that.
    assert {3, 7, 9} <= set(unknown.tolist())
    assert unknown.size < BODIES
    assert why_not
    assert what_if(program, Change()).recorded.total_s == pytest.approx(total_s, abs=1e-6)


def test_a_rank_of_more_neighbours_than_bits() -> None:
    """Of 40 workers, each answers after another time: the last one that is needed decides."""
    workers = 40
    hand_out: list[Call] = [
        *[(CallClass.ISEND, 5e-6, [(1 + each, 0)]) for each in range(workers)],
        (CallClass.WAIT_ALL, 1e-6, [(1 + each, 7) for each in range(workers)]),
        (CallClass.RECV, 1e-6, [(1, 8)]),
    ]
    calls = [[hand_out for _ in range(BODIES)]]
    for each in range(workers):
        answers: list[Call] = [
            (CallClass.RECV, 1e-6, [(0, 0)]),
            (CallClass.ISEND, 1e-4 + 1e-6 * ((7 * each) % workers), [(0, 7)]),
            *([(CallClass.ISEND, 1e-6, [(0, 8)])] if not each else []),
        ]
        calls.append([answers for _ in range(BODIES)])
    done, _ = run_through(calls, [1.0] * (workers + 1))
    program, _, why_not = program_in([bodies_of(each) for each in done])
    assert not why_not
    for slow in (3, 35):  # by its bit, and alone
        speed = [0.25 if rank == slow else 1.0 for rank in range(workers + 1)]
        _, wanted_s = run_through(calls, [1.0 / each for each in speed])
        found = what_if(program, Change(speed=dict(enumerate(speed)))).predicted_s
        assert found == pytest.approx(wanted_s, rel=5e-3)
