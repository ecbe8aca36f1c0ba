"""Who comes last, which links are slow, and what an ideal network would bring."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.errors import DataError, UsageError
from hindmost.models.events import EventKind
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.ranks.efficiency_tally import EfficiencyTally, Window, window_borders
from hindmost.models.ranks.extrema import beyond_spread, extrema_of
from hindmost.models.ranks.histogram import empty_histogram
from hindmost.models.ranks.lateness import Lateness, LatenessSum, lateness
from hindmost.models.ranks.links import link_costs
from hindmost.models.ranks.transfers import SlowTransfers
from hindmost.models.simulation.blocks import EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.records import to_document

Values = NDArray[np.float64]


def test_who_is_hindmost_by_hand() -> None:
    work = np.array([[1.0, 2.0, 4.0, 3.0], [5.0, 1.0, 2.0, 2.0], [1.0, 1.0, 9.0, 8.0]])
    found = lateness(work, ["a", "a", "b", "b"])
    assert found.total_s == 4 + 5 + 9
    assert found.last.tolist() == [1, 0, 2, 0]
    # body 1: 1 x 3 for leading, 3 by 0.75 and 0.75 over the mean; body 2: 3 x 3 and 1 by three
    # ranks' 0.25; body 3: 1 x 3, and 14 by two ranks' 3.5
    wanted = [9 + 1 / 3, 0, 3 + 1.5 + 1 / 3 + 3 + 7, 1.5 + 1 / 3 + 7]
    assert found.charged_s.tolist() == pytest.approx(wanted)
    assert found.lost_s.tolist() == [3, 0, 1 + 1, 0]
    assert found.node_lost_s is not None
    # as a node: b is last by 4 - 2 and 9 - 1, a by 5 - 2
    assert found.node_lost_s.tolist() == [3, 2 + 8]
    assert found.node_last.tolist() == [1, 2]
    assert found.waited_s.tolist() == [3 + 0 + 8, 2 + 4 + 8, 0 + 3 + 0, 1 + 3 + 1]
    assert found.charged_s.sum() == pytest.approx(found.waited_s.sum())
    assert found.longest_body.tolist() == [1, 0, 2, 2]


def test_blocks_add_up_to_numpys_moments_and_slopes() -> None:
    random = np.random.default_rng(0)
    work = 5.0 + random.random((101, 7)) + np.linspace(0, 1, 101)[:, None] * np.arange(7)
    sweep = LatenessSum(["n"] * 7, 101)
    for rows in np.array_split(np.arange(101), [3, 4, 60]):
        sweep.add(work[rows])
    sweep.add(work[:0])
    found = sweep.result()
    np.testing.assert_allclose(found.work_s, work.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.deviation_s, work.std(axis=0), rtol=1e-10)
    slope = np.polyfit(np.arange(101), work, 1)[0]
    np.testing.assert_allclose(found.drift, slope * 100 / work.mean(axis=0), rtol=1e-9)
    assert lateness(np.array([[1.0], [2.0]]), ["n"]).drift[0] == pytest.approx(1.0 / 1.5)
    with pytest.raises(DataError, match="iteration 101 is not a number"):
        sweep.add(np.full((1, 7), np.nan))


def test_of_ranks_that_come_last_together_none_is_the_last_one() -> None:
    alike = lateness(np.ones((200, 4)), ["a"] * 4)
    assert alike.last.tolist() == [0] * 4
    assert alike.chance_of(0) == 1.0
    # Two of a node at once, then two of different nodes; they share what the third waits.
    found = lateness(np.array([[5.0, 5.0, 2.0], [4.0, 1.0, 4.0]]), ["a", "a", "b"])
    assert found.last.tolist() == [0, 0, 0]
    assert found.charged_s.tolist() == [1.5 + 1.5, 1.5, 1.5]
    assert found.node_last.tolist() == [1, 0]
    assert found.node_charged_s.tolist() == [3.0 + 1.5, 1.5]
    assert found.node_lost_s is not None
    assert found.node_lost_s.tolist() == [3.0, 0.0]
    assert found.charged_s.sum() == pytest.approx(found.waited_s.sum())


def test_a_rank_that_leads_by_nothing_is_not_blamed_for_what_others_cause_too() -> None:
    work = np.tile([10.001, 10.0, 10.0, 0.0], (100, 1))
    found = lateness(work, ["n"] * 4)
    assert found.last.tolist() == [100, 0, 0, 0]
    np.testing.assert_allclose(found.charged_s[:3] / found.charged_s.sum(), 1 / 3, atol=1e-3)
    first = {each.criterion: each.standing_out for each in extrema_of(found, None)}
    assert first["most often last"] == first["costs the others most"] == 0
    pair = 10.0 + np.tile([1.0, 1.001] + [0.0] * 14, (100, 1))
    pair[:50, 0] += 0.002  # two slow ranks lead by turns: both stand out
    named = {each.criterion: each for each in extrema_of(lateness(pair, ["n"] * 16), None)}
    assert named["costs the others most"].standing_out == 2


def test_one_rank_and_one_node_cost_nobody_anything() -> None:
    found = lateness(np.ones((5, 1)), ["n"])
    assert found.node_lost_s is not None
    assert (found.lost_s[0], found.charged_s[0], found.node_lost_s[0]) == (0, 0, 0)


def test_chance_is_told_from_a_culprit() -> None:
    random = np.random.default_rng(1)
    work = random.random((400, 32))
    alike = lateness(work, ["n"] * 32)
    assert min(map(alike.chance_of, range(32))) > 0.05
    work[:, 7] += 0.05
    found = lateness(work, ["n"] * 32)
    assert found.chance_of(7) < 1e-3
    assert {each.criterion: each for each in extrema_of(found, None)}["most often last"].ranks[
        0
    ] == 7


def test_values_at_edges_are_counted_where_they_belong() -> None:
    empty = empty_histogram(1e-6, 1e-2, 200)
    edges = empty.edges
    random = np.random.default_rng(0).lognormal(np.log(1e-4), 2.0, 20_000)
    near = np.concatenate([edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0)])
    values = np.concatenate([random, near, [-1e-9, 0.0, 1e9]])
    found = empty.with_more(values)
    counts, _ = np.histogram(values, edges)
    np.testing.assert_array_equal(found.counts, counts)
    assert (found.below, found.above) == ((values < 1e-6).sum(), (values > 1e-2).sum())
    assert found.total == values.size
    with pytest.raises(UsageError, match="bounds above zero that ascend"):
        empty_histogram(1.0, 0.5)


def chain(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    left = np.arange(ranks - 1, dtype=np.int32)
    return np.concatenate([left, left + 1]), np.concatenate([left + 1, left])


def exchanged(
    work: Values, transfer: Values, *, in_one_call: bool = False, sends_at_once: bool = False
) -> tuple[Values, EventBlock]:
    """Let ranks in a line work, send, receive and reduce; return starts and events.

    A halo comes a transfer after both neighbours have sent; sending is part of the work.
    """
    bodies, ranks = work.shape
    padded = np.pad(work, ((0, 0), (1, 1)), constant_values=-np.inf)
    latest = np.maximum(work, np.maximum(padded[:, :-2], padded[:, 2:]))
    halo = latest - work + transfer
    come = work + halo
    wait = come.max(axis=1, keepdims=True) + 0.1 - come
    zero, sending = np.zeros_like(work), np.full_like(work, 0.0 if sends_at_once else 1e-6)
    kinds = [EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE]
    before, inside = [work - sending, zero, zero], [sending, halo, wait]
    if in_one_call:
        kinds, before, inside = kinds[1:], [work, zero], [halo, wait]  # Sendrecv
    length = (come + wait)[:, :1]
    start = np.cumsum(np.vstack([[[0.0]], length[:-1]]), axis=0) * np.ones(ranks)
    return start, EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=np.stack(before, axis=2),
        duration=np.stack(inside, axis=2),
        rest=np.zeros_like(work),
        cycle_begins=np.arange(bodies) == 0,
    )


@pytest.mark.parametrize(
    ("in_one_call", "sends_at_once"), [(False, False), (True, False), (False, True)]
)
def test_a_slow_link_is_told_from_a_late_neighbour(in_one_call: bool, sends_at_once: bool) -> None:
    random = np.random.default_rng(2)
    work = 1.0 + 0.01 * random.random((50, 8))
    transfer = np.full((50, 8), 0.1)
    late, linked = work.copy(), transfer.copy()
    late[:, 3] += 1.4
    linked[:, 3] += 1.4
    for works, takes, by_transfer in ((late, transfer, False), (work, linked, True)):
        start, block = exchanged(works, takes, in_one_call=in_one_call, sends_at_once=sends_at_once)
        found = SlowTransfers(8, *chain(8))
        slow = np.concatenate(
            [found.add(start[rows], block.part(rows)) for rows in (slice(0, 9), slice(9, None))]
        )
        np.testing.assert_allclose(slow, takes - takes.min(axis=1, keepdims=True), atol=1e-9)
        who = lateness(works, ["n"] * 8, slow)
        # either way rank 3 holds all others up, and nobody is blamed who only sat beside it
        assert who.last.tolist() == [0, 0, 0, 50, 0, 0, 0, 0]
        assert who.waiting_share == pytest.approx(1.4 * 7 / 8 / 2.4, rel=0.02)
        share = who.transfer_charged_s[3] / who.charged_s[3]
        assert share == pytest.approx(1.0 if by_transfer else 0.0, abs=0.01)

        def on_one(spread: Spread, works: Values = works, slow: Values = slow) -> Lateness:
            mine = spread.mine
            hosts = ["n"] * mine.size
            return lateness(works[:, mine], hosts, slow[:, mine], ids=mine, reductions=spread)

        apart = on_processes(3, 8, on_one)
        for name in ("last", "charged_s", "transfer_charged_s", "lost_s", "waited_s", "path_s"):
            met = np.concatenate([getattr(each, name) for each in apart])
            np.testing.assert_allclose(met, getattr(who, name), atol=1e-9)


def test_ranks_that_take_no_part_in_an_exchange_do_not_make_others_slow() -> None:
    start, block = exchanged(np.ones((5, 4)), np.full((5, 4), 0.1))
    block.duration[:, 3, :2] = 0.0  # the events are those of others
    assert SlowTransfers(4, *chain(4)).add(start, block)[:, 1:].max() == 0.0


def test_what_clocks_leave_open_is_no_slow_transfer() -> None:
    start, block = exchanged(np.ones((5, 4)), np.array([[0.1, 0.1, 0.3, 0.1]]).repeat(5, axis=0))
    assert SlowTransfers(4, *chain(4)).add(start, block)[:, 2] == pytest.approx(0.2)
    assert SlowTransfers(4, *chain(4), 0.15).add(start, block)[:, 2] == pytest.approx(0.05)
    assert not SlowTransfers(4, *chain(4), 0.3).add(start, block).any()
    none = np.empty(0, np.int32)
    assert not SlowTransfers(4, none, none).add(start, block).any()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_of_too_few_ranks_none_stands_out(ranks: int) -> None:
    work = np.random.default_rng(1).random((100, ranks))
    work[:, 0] *= 5.0
    assert not any(each.standing_out for each in extrema_of(lateness(work, ["n"] * ranks), None))


@pytest.mark.parametrize("ranks", [4, 8, 64, 1024])
def test_ranks_stand_out_beyond_the_spread_of_the_others(ranks: int) -> None:
    def standing(work: Values) -> dict[str, list[int]]:
        found = extrema_of(lateness(work, ["n"] * ranks), None)
        return {each.criterion: each.ranks[: each.standing_out].tolist() for each in found}

    random = np.random.default_rng(ranks)
    work = 1.0 + 0.02 * random.standard_normal((400, ranks))
    assert not any(standing(np.ones((400, ranks))).values())  # all equal
    assert not any(standing(work).values())
    one = work.copy()
    one[:, 2] += 0.3
    for criterion in ("most often last", "costs the others most", "least waiting"):
        assert standing(one)[criterion] == [2]
    assert standing(one)["latest single iteration"] in ([], [2])
    assert not standing(one)["grows slower"]
    groups = work.copy()
    groups[:, : ranks // 2] += 0.3  # two groups as large as each other: no rank is odd
    assert not standing(groups)["least waiting"]
    drifting = work + np.where(np.arange(ranks) == 1, 0.3, 0.0) * np.linspace(0, 1, 400)[:, None]
    assert standing(drifting)["grows slower"] == [1]


def test_two_slow_ranks_do_not_hide_each_other() -> None:
    values = np.sort(1.0 + 0.01 * np.random.default_rng(3).standard_normal(40))[::-1]
    assert beyond_spread(values, 5) == 0
    assert beyond_spread(np.append([2.0, 2.0], values), 5) == 2
    assert beyond_spread(np.append([1.2], values), 5, matters=0.5) == 0


BODIES = 60
KINDS = (EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE)
WITHIN_S = 1e-5


def ring(
    nodes: list[int],
    across_s: dict[tuple[int, int], float],
    clock_s: list[float],
) -> tuple[NDArray[np.float64], EventBlock, Neighbours]:
    """Walk through a ring: work, send to the next, receive from the one before, work, reduce.

    Parameters
    ----------
    nodes : list of int, one a rank
    across_s : dict
        Time of a message by pair of nodes.
    clock_s : list of float, one a node
        Error of its clock.
    """
    random, ranks = np.random.default_rng(0), len(nodes)

    def link(one: int, two: int) -> float:
        pair = (min(nodes[one], nodes[two]), max(nodes[one], nodes[two]))
        return WITHIN_S if pair[0] == pair[1] else across_s[pair]

    work, inside = np.zeros((2, BODIES, ranks, len(KINDS)))
    start, now = np.zeros((BODIES, ranks)), np.zeros(ranks)
    slowest_s = max(link(one, two) for one in range(ranks) for two in range(ranks))
    for body in range(BODIES):
        start[body] = now + np.take(clock_s, nodes)
        work[body, :, 0] = random.uniform(1e-3, 3e-3, ranks)
        # Each node in its turn is late, so that both directions show.
        work[body, np.array(nodes) == body % (1 + max(nodes)), 0] += 1e-2
        sent = now + work[body, :, 0]
        # They come at once, and their neighbour before has or has not sent by then.
        arrived = [sent[rank - 1] + link(rank - 1, rank) for rank in range(ranks)]
        received = np.maximum(sent, arrived)
        inside[body, :, 1] = received - sent
        work[body, :, 2] = random.uniform(1e-4, 3e-4, ranks)
        come = received + work[body, :, 2]
        now = np.full(ranks, come.max())
        # Those of the last rank's node hear of it at once, the others over the link.
        last = nodes[int(come.argmax())]
        now += np.where(np.array(nodes) == last, 0.0, slowest_s)
        inside[body, :, 2] = now - come
    block = EventBlock(
        kind=np.tile(np.array(KINDS, np.uint8), (BODIES, 1)),
        work=work,
        duration=inside,
        rest=np.zeros((BODIES, ranks)),
        cycle_begins=np.arange(BODIES) == 0,
    )
    target = np.arange(ranks, dtype=np.int32)
    return start, block, Neighbours.of_edges(ranks, (target - 1) % ranks, target)


@pytest.mark.parametrize("wrong_s", [0.0, 5e-4, -1e-3])
def test_both_directions_are_free_of_the_error_of_clocks(wrong_s: float) -> None:
    nodes = [0, 0, 1, 1]
    start, block, neighbours = ring(nodes, {(0, 1): 2e-3}, [0.0, wrong_s])
    links = link_costs(start, block, neighbours, list(map(str, nodes)), 1e-3)
    found = {link.nodes: link for link in links}
    assert found["0", "1"].message_s == pytest.approx(2e-3, rel=1e-6)
    assert found["0", "1"].reduction_s == pytest.approx(2e-3, rel=1e-6)
    assert found["0", "1"].clock_s == 0.0
    assert found["0",].message_s == pytest.approx(WITHIN_S, rel=1e-6)
    assert found["0",].reduction_s is None


def test_the_slow_one_of_three_links_comes_first() -> None:
    nodes, times = [0, 1, 2], {(0, 1): 5e-5, (1, 2): 4e-3, (0, 2): 5e-5}
    start, block, neighbours = ring(nodes, times, [0.0, 0.0, 0.0])
    links = link_costs(start, block, neighbours, list(map(str, nodes)))
    assert links[0].nodes == ("1", "2")
    for link in links:
        wanted_s = times[int(link.nodes[0]), int(link.nodes[1])]
        assert link.message_s == pytest.approx(wanted_s, rel=1e-6)
        assert link.reduction_s is None  # over which link, nobody knows
    spent = block.duration[:, 2, 1].sum() / (block.work.sum() + block.duration.sum())
    assert 0.0 < links[0].share <= spent


@pytest.mark.parametrize("wrong_s", [0.0, 8e-4, -8e-4])
def test_one_direction_is_as_uncertain_as_the_clocks(wrong_s: float) -> None:
    nodes = [0, 1]
    start, block, _ = ring(nodes, {(0, 1): 2e-3}, [0.0, wrong_s])
    one_way = Neighbours.of_edges(2, np.array([0], np.int32), np.array([1], np.int32))
    (link,) = link_costs(start, block, one_way, list(map(str, nodes)), 1e-3)
    assert link.clock_s == 1e-3
    assert link.message_s == pytest.approx(2e-3 + wrong_s, rel=1e-6)
    assert link.reduction_s == pytest.approx(2e-3, rel=1e-6)


def test_hidden_messages_show_no_time() -> None:
    nodes = [0, 1]
    start, block, neighbours = ring(nodes, {(0, 1): 2e-3}, [0.0, 0.0])
    block.work[:, :, 1], block.duration[:, :, 1] = 1e-2, 0.0  # all arrived long before
    (link,) = link_costs(start, block, neighbours, list(map(str, nodes)))
    assert link.message_s is None


REDUCE, SEND, RECEIVE = EventKind.REDUCE, EventKind.SEND, EventKind.RECEIVE
POST, COMPLETE = EventKind.POST, EventKind.COMPLETE
NO_EDGES = np.empty(0, np.int32)


def line(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    source, target = np.array(pairs, np.int32).reshape(-1, 2).T
    return source, target


Bodies = tuple[Values, Values, Values, EventBlock | None]
"""Starts, times, own work and events."""


def tallied(
    given: Bodies,
    position: NDArray[np.int32],
    edges: tuple[NDArray[np.int32], NDArray[np.int32]] = (NO_EDGES, NO_EDGES),
    *,
    windows: int = 1,
    rows: int = 10**6,
) -> tuple[Efficiencies, tuple[Window, ...]]:
    start, duration, local, events = given
    bodies, ranks = start.shape
    with_events = events is not None
    tally = EfficiencyTally(position, ranks, *edges, with_events=with_events, windows=windows)
    for first in range(0, bodies, rows):
        some = slice(first, first + rows)
        part = None if events is None else events.part(some)
        tally.add(first, start[some], duration[some], local[some], part)
    return tally.result()


def events_of(
    work: NDArray[np.float64],
    kinds: list[EventKind],
    rest: NDArray[np.float64] | None = None,
    cycle: int = 10**6,
) -> EventBlock:
    """Return the same events in all bodies, which take no time."""
    bodies, ranks, _ = work.shape
    return EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=work,
        duration=np.zeros_like(work),
        rest=np.zeros((bodies, ranks)) if rest is None else rest,
        cycle_begins=np.arange(bodies) % cycle == 0,
    )


def run_of(work: NDArray[np.float64], kinds: list[EventKind], cost: float) -> Bodies:
    """Return bodies in lockstep that take the most work of any rank, and a cost beside it."""
    ranks = work.shape[1]
    local = work.sum(axis=2)
    ends = np.cumsum(work.max(axis=1).sum(axis=1) + cost)
    start = np.repeat(np.concatenate([[0.0], ends[:-1]])[:, None], ranks, axis=1)
    duration = np.repeat(ends[:, None], ranks, axis=1) - start
    return start, duration, local, events_of(work, kinds, cycle=10)


def test_ranks_that_take_turns_lose_half_to_serialisation() -> None:
    # Rank 0 works 3 s before a reduction, rank 1 then 3 s before the next: balanced, one after
    # the other; each body of 6 s costs 1.5 s beside.
    work = np.zeros((8, 2, 2))
    work[:, 0, 0] = work[:, 1, 1] = 3.0
    whole, _ = tallied(run_of(work, [REDUCE, REDUCE], 1.5), np.arange(8, dtype=np.int32))
    assert whole.run_time_s == pytest.approx(60.0)
    assert whole.load_balance == pytest.approx(1.0)
    assert whole.serialisation == pytest.approx(0.5)
    assert whole.transfer == pytest.approx(0.8)
    assert whole.parallel == pytest.approx(0.4)


@pytest.mark.parametrize("ranks", [1, 2, 5, 20])
def test_a_pipeline_goes_as_slow_as_its_first_rank(ranks: int) -> None:
    # Rank p needs what rank p - 1 sent in the body before; the first takes 2 s, the others 1 s.
    # The longest path to body k stays on the first rank, then moves on by a rank a body.
    bodies = 12
    source, target = np.arange(ranks - 1), np.arange(1, ranks)
    network = EventSimulator(
        ranks, Neighbours.of_edges(ranks, source.astype(np.int32), target.astype(np.int32))
    )
    work = np.zeros((bodies, ranks, 2))
    work[:, :, 1] = 1.0
    work[:, 0, 1] = 2.0
    ended = np.empty((bodies, ranks))
    network.walk_cycles(events_of(work, [RECEIVE, SEND]), ended=ended)
    body, rank = np.arange(1, bodies + 1)[:, None], np.arange(ranks)
    np.testing.assert_allclose(ended, np.maximum(2.0 * body - rank, body))


def test_parts_add_up_and_neither_blocks_nor_compiling_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(5)
    work = random.exponential(1.0, (37, 4, 2))
    position = (np.arange(37) % 10).astype(np.int32)
    block = run_of(work, [REDUCE, REDUCE], 0.25)
    found = tallied(block, position, line(4), windows=3)
    whole, windows = found
    monkeypatch.setattr("hindmost.models.simulation.event_simulator.FEW_EVENTS", 0)
    again = tallied(block, position, line(4), windows=3, rows=7)
    every = ([whole, *(part.efficiencies for part in parts)] for whole, parts in (found, again))
    for one, other in zip(*every, strict=True):
        ours, theirs = to_document(one), to_document(other)
        assert ours.pop("lost_s") == pytest.approx(theirs.pop("lost_s"))
        assert ours == pytest.approx(theirs)
    assert [(window.first, window.last) for window in windows] == [(0, 10), (10, 20), (20, 37)]
    # Bodies in lockstep: windows share the time out.
    parts_s = [window.efficiencies.run_time_s for window in windows]
    assert sum(parts_s) == pytest.approx(whole.run_time_s)
    assert whole.ideal_s == pytest.approx(work.max(axis=1).sum())


def test_without_events_nothing_is_split() -> None:
    block = run_of(np.ones((6, 2, 1)), [REDUCE], 1.0)
    start, duration, local, _ = block
    whole, _ = tallied((start, duration, local, None), np.arange(6, dtype=np.int32))
    assert whole.ideal_s is None
    assert whole.communication == pytest.approx(0.5)
    # One rank waits for nobody: what it does not work is transfer.
    alone = (start[:, :1], duration[:, :1], local[:, :1], None)
    whole, _ = tallied(alone, (np.arange(6) % 3).astype(np.int32))
    assert whole.serialisation == pytest.approx(1.0)
    assert whole.transfer == pytest.approx(0.5)


def test_events_that_do_not_fit_together_are_refused() -> None:
    network = EventSimulator(1, Neighbours.of_edges(1, NO_EDGES, NO_EDGES))
    with pytest.raises(DataError, match="do not fit together"):
        network.walk_cycles(events_of(np.ones((70, 1, 1)), [POST]))


@pytest.mark.parametrize(
    ("bodies", "cycle", "windows", "borders"),
    [
        (20, 5, 2, [0, 10, 20]),
        (20, 5, 4, [0, 5, 10, 15, 20]),
        (20, 20, 4, [0, 5, 10, 15, 20]),
        (3, 3, 8, [0, 1, 2, 3]),
        (22, 5, 3, [0, 5, 15, 22]),
    ],
)
def test_windows_begin_with_cycles_where_there_are_enough(
    bodies: int, cycle: int, windows: int, borders: list[int]
) -> None:
    position = (np.arange(bodies) % cycle).astype(np.int32)
    assert window_borders(position, windows).tolist() == borders
