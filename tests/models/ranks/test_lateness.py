from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.errors import DataError, UsageError
from hindmost.models.events import EventKind
from hindmost.models.ranks.extrema import beyond_spread, extrema_of
from hindmost.models.ranks.histogram import empty_histogram
from hindmost.models.ranks.lateness import Lateness, LatenessSum, lateness
from hindmost.models.ranks.transfers import SlowTransfers
from hindmost.models.simulation.blocks import EventBlock

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
    assert alike.chance == 1.0
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
    assert lateness(work, ["n"] * 32).chance > 0.05
    work[:, 7] += 0.05
    found = lateness(work, ["n"] * 32)
    assert found.chance < 1e-3
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
