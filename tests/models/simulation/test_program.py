"""Recorded solves as programs: what they replay to, with a change and without, by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.simulation.programs import NOBODY, PATTERNS, blocking, played, synthetic

from hindmost.errors import DataError, UsageError
from hindmost.models.simulation.blocks import (
    COMPLETE,
    OWN_TIME,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    EventBlock,
    whole_bodies,
)
from hindmost.models.simulation.change import Change, Detours
from hindmost.models.simulation.program import recorded_program
from hindmost.models.simulation.rerun import NOBODY as NOWHERE
from hindmost.models.simulation.rerun import Scenario, places_on_path, walk, what_if

Times = NDArray[np.float64]
SCENARIOS = [
    Scenario(level=level, byte_share=share)
    for level in ("typical", "low", "high")
    for share in (0.0, 0.3)
]


SENDING = sorted(set(PATTERNS) - {"without a send"})


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_without_a_change_every_clock_comes_back(name: str, scenario: Scenario) -> None:
    program = synthetic(name, stay_s=0.1)
    block = program.block
    cycles = (block.work + block.duration).sum(axis=2) + block.rest
    ends = program.between[0] + cycles[:30].sum(axis=0)
    for number in range(1, 4):
        rows = slice(30 * number, 30 * (number + 1))
        ends = ends.max() + program.between[number] + cycles[rows].sum(axis=0)
    total_s = (ends + program.after).max()
    assert walk(program, Change(), scenario).total_s == pytest.approx(total_s, rel=1e-12)


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_the_ranks_on_the_critical_path_do_the_work_on_it(name: str) -> None:
    program = synthetic(name, stay_s=0.1)
    passed = places_on_path(program)
    path = walk(program, Change(), SCENARIOS[0]).path
    block = program.block
    own = np.where(OWN_TIME[block.kind][:, None, :], block.duration, 0.0) + block.work
    own = np.concatenate([own, block.rest[:, :, None]], axis=2)
    body, place = np.nonzero(passed != NOWHERE)
    there = passed[body, place]
    summed = np.bincount(there, own[body, there, place], minlength=program.ranks)
    np.testing.assert_allclose(summed, path.work, rtol=1e-12)


@pytest.mark.parametrize("name", SENDING)
def test_costs_are_found_again(name: str) -> None:
    costs = synthetic(name).costs
    shown = (costs.there > 0) & ~costs.hidden
    assert shown.any()
    for found in (costs.low_s, costs.median_s, costs.high_s):
        np.testing.assert_allclose(found[shown], 0.05, rtol=1e-9)


@pytest.mark.parametrize("name", SENDING)
def test_another_latency_gives_the_solve_that_it_would_have_been(name: str) -> None:
    twice = synthetic(name, latency_s=0.1)
    ends = walk(twice, Change(), SCENARIOS[0]).total_s
    found = what_if(synthetic(name), Change(latency=2.0), byte_share=0.0)
    assert found.low_s - 1e-9 <= ends <= found.high_s + 1e-9
    if not synthetic(name).costs.hidden.any():
        assert found.predicted_s == pytest.approx(ends, rel=1e-9)
        more = what_if(synthetic(name), Change(more_latency_s=0.05), byte_share=0.0)
        if not {REDUCE, COMPLETE} & set(PATTERNS[name]):
            assert more.predicted_s == pytest.approx(ends, rel=1e-9)
        else:  # whose reductions take several messages
            assert more.predicted_s > ends


def test_a_speed_takes_as_long_as_the_work_by_hand() -> None:
    work = np.random.default_rng(3).uniform(1.0, 2.0, (40, 3))
    program = blocking(work, latency_s=0.5)
    by_hand = (work / [1.0, 0.5, 1.25]).max(axis=1).sum() + 40 * 0.5
    found = what_if(program, Change(speed={1: 0.5, 2: 1.25}))
    assert found.predicted_s == pytest.approx(by_hand, rel=1e-12)
    every = what_if(program, Change(every_speed=2.0))
    assert every.predicted_s == pytest.approx(work.max(axis=1).sum() / 2.0 + 20.0, rel=1e-12)


@pytest.mark.parametrize(
    ("work", "each_s"),
    [
        ([[2.0, 1.0], [1.0, 2.0]], 1.5 + 1.5),  # as much in all, but not at the same time
        ([[2.0, 4.0], [2.0, 2.0]], 2.0 + 3.0),
        ([[2.0, 1.0], [0.0, 3.0]], 2.0 + 2.0),  # nobody gives work to who makes no call there
    ],
)
def test_equal_work_is_equal_in_each_stretch(work: list[list[float]], each_s: float) -> None:
    bodies, cost_s = 30, 0.5
    course = np.random.default_rng(5).uniform(0.5, 1.5, bodies)
    own = course[:, None, None] * np.array(work)  # (body, rank, event)
    program = played(np.full((bodies, 2), REDUCE, np.uint8), own, latency_s=cost_s)
    found = what_if(program, Change(balanced=True))
    assert found.predicted_s == pytest.approx(course.sum() * each_s + 2 * bodies * cost_s)


def test_without_noise_bodies_take_their_median() -> None:
    random = np.random.default_rng(4)
    work = np.tile([1.0, 1.5, 1.25], (60, 1))
    work[random.random(work.shape) < 0.2] += 10.0
    found = what_if(blocking(work, 0.5), Change(noise=0.0))
    assert found.predicted_s == pytest.approx(60 * 2.0, rel=1e-12)
    assert found.recorded.total_s > 200.0


@pytest.mark.parametrize("change", [Change(noise=0.0), Change(noise=0.5)])
def test_without_noise_nothing_takes_longer_than_recorded(change: Change) -> None:
    # Two in five bodies are slow, so the upper quartile of each place is a slow one.
    work = np.where(np.random.default_rng(6).random((400, 1)) < 0.4, 5.0, 1.0)
    found = what_if(blocking(work, 0.0), change)
    assert found.predicted_s <= found.high_s <= found.recorded.total_s < 400 * 5.0
    louder = what_if(blocking(work, 0.0), Change(noise=2.0))
    assert louder.high_s > louder.recorded.total_s


def test_noise_of_a_known_law_costs_what_it_must() -> None:
    # One rank of two is disturbed in 1 - (1 - p)^2 of the bodies.
    program = blocking(np.ones((4000, 2)), 0.0)
    found = what_if(program, Change(detours=Detours(length_s=2.0, probability=0.1)))
    assert found.predicted_s == pytest.approx(4000 * (1.0 + 2.0 * 0.19), rel=0.01)
    assert found.low_s < found.predicted_s < found.high_s
    # The maximum of two exponentials has the mean 1.5.
    found = what_if(program, Change(detours=Detours(exponential=True, length_s=1.0)))
    assert found.predicted_s == pytest.approx(4000 * 2.5, rel=0.02)
    again = what_if(program, Change(detours=Detours(exponential=True, length_s=1.0)))
    assert again.predicted_s == found.predicted_s


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_deeper_pipeline_waits_for_earlier_reductions(depth: int) -> None:
    work = np.random.default_rng(5).exponential(1.0, (60, 3))
    latency_s = 3.0
    kinds = np.tile(np.array([COMPLETE, 2], np.uint8), (60, 1))
    before = np.zeros((60, 3, 2))
    before[:, :, 1] = work
    program = played(kinds, before, latency_s=latency_s)
    assert program.depth == 1
    found = what_if(program, Change(depth=depth))
    end = np.zeros_like(work)
    for k in range(60):
        done = end[k - depth].max() + latency_s if k >= depth else 0.0
        end[k] = np.maximum(end[k - 1] if k else 0.0, done) + work[k]
    last_s = end[-1].max()
    drain_s = latency_s if depth > 1 else 0.0  # what is in flight at the end
    assert found.predicted_s == pytest.approx(last_s + drain_s, rel=1e-9)


def test_the_path_adds_up_to_the_time_and_is_the_longest() -> None:
    program = synthetic("blocking")
    found = walk(program, Change(), SCENARIOS[0])
    path = found.path
    parts_s = path.work.sum() + path.cost.sum() + path.stay.sum()
    outside_s = found.total_s - parts_s
    # 4 cycles begin 0.5 to 0.6 s after the one before, and the solve ends after 0.25 s.
    assert 4 * 0.5 + 0.25 <= outside_s <= 4 * 0.6 + 0.25
    assert path.cost.sum() == pytest.approx(0.05 * 4 * 30 * 2, rel=0.5)


def test_costs_that_hide_behind_work_leave_the_time_open() -> None:
    program = synthetic("overlapping", latency_s=0.05)
    assert program.costs.hidden.any()
    found = what_if(program, Change(latency=8.0), byte_share=0.0)
    assert found.hidden
    assert found.open
    assert found.high_s > found.low_s


def test_a_network_that_varies_more_than_it_changes_predicts_no_single_time() -> None:
    steady = blocking(np.ones((200, 2)), 0.5)
    assert not what_if(steady, Change(latency=2.0)).open
    # Two in five reductions take forty times as long as the others.
    costs = np.where(np.arange(200) % 5 < 2, 2.0, 0.05)
    end = np.cumsum(1.0 + costs)
    start = np.repeat((end - 1.0 - costs)[:, None], 2, axis=1)
    block = whole_bodies(np.ones((200, 2)), 0, np.arange(200) == 0)
    block = replace(block, duration=np.repeat(costs[:, None, None], 2, axis=1))
    varying = recorded_program(
        start, block, np.arange(200, dtype=np.int32), np.zeros(2), NOBODY, NOBODY
    )
    found = what_if(varying, Change(latency=2.0))
    assert found.open
    assert found.low_s < found.recorded.total_s + costs.sum() <= found.high_s + 1e-9


def test_a_root_that_need_not_wait_is_the_reason_of_a_refusal() -> None:
    """Rank 0 completes a collective half a second before rank 1 starts it, in every iteration."""
    bodies = 40
    begins = np.arange(bodies) == 0
    work = np.zeros((bodies, 2, 2))
    work[:, :, 0] = [0.5, 1.0]
    inside = np.zeros((bodies, 2, 2))
    rest = np.repeat([[0.5, 0.0]], bodies, axis=0)  # rank 0 goes on without rank 1
    kind = np.tile(np.array([POST, COMPLETE], np.uint8), (bodies, 1))
    block = EventBlock(kind=kind, work=work, duration=inside, rest=rest, cycle_begins=begins)
    start = np.repeat(np.arange(bodies, dtype=np.float64)[:, None], 2, axis=1)
    position = np.arange(bodies, dtype=np.int32)
    with pytest.raises(
        DataError, match=r"persistent collectives with a root .* record the program with other"
    ):
        recorded_program(start, block, position, np.zeros(2), NOBODY, NOBODY)
    # Where rank 0 is known to be the root of a broadcast, it waits for nobody.
    group = np.zeros((bodies, 2, 2), np.int64)
    group[:, :, 1] = -1
    of_root = replace(block, group=group)
    recorded_program(start, of_root, position, np.zeros(2), NOBODY, NOBODY)


def test_a_measured_cost_closes_what_hides_unless_the_run_contradicts_it() -> None:
    # Ranks work for 0.1 to 1 s between a post and its completion.
    program = synthetic("overlapping", latency_s=0.05)
    told = replace(program, costs=program.costs.measured(RECEIVE, 0.05).measured(COMPLETE, 0.05))
    assert not told.costs.hidden.any()
    twice = walk(synthetic("overlapping", latency_s=0.4), Change(), SCENARIOS[0]).total_s
    found = what_if(told, Change(latency=8.0), byte_share=0.0)
    assert not found.open
    assert found.predicted_s == pytest.approx(twice, rel=1e-9)
    assert program.costs.measured(COMPLETE, 50.0).hidden.any()


def test_messages_may_be_bytes_or_latency() -> None:
    program = synthetic("two exchanges")
    all_latency = what_if(program, Change(latency=2.0), byte_share=0.0)
    all_bytes = what_if(program, Change(latency=2.0), byte_share=1.0)
    unknown = what_if(program, Change(latency=2.0))
    assert all_bytes.predicted_s == pytest.approx(all_bytes.recorded.total_s)
    assert unknown.predicted_s == all_latency.predicted_s
    assert unknown.low_s <= all_bytes.predicted_s
    twice = what_if(program, Change(bandwidth=0.5), byte_share=1.0)
    assert twice.predicted_s == pytest.approx(all_latency.predicted_s, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"every_speed": 1e-320}, "speed of x"),
        ({"more_latency_s": 1e308}, "from 0 to 1e.06 s"),
        ({"detours": Detours(length_s=1e300, probability=1.0)}, "the most is 1e.06 s"),
        ({"speed": {2: float("nan")}}, "speed of rank 2"),
        ({"more_latency_s": -1e-6}, "a time from 0 to 1e.06 s"),
        ({"depth": 0}, "depth is 1 or more"),
        ({"detours": Detours(exponential=True, length_s=float("inf"))}, "no finite mean"),
    ],
)
def test_no_machine_has_these_factors(change: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Change(**change)  # type: ignore[arg-type]


def test_a_run_must_show_its_network() -> None:
    with pytest.raises(UsageError, match="No exchange between neighbours"):
        what_if(blocking(np.ones((30, 3)), 0.1), Change(bandwidth=2.0))
    with pytest.raises(UsageError, match="one rank has no network"):
        what_if(blocking(np.ones((30, 1)), 0.1), Change(latency=2.0))
    with pytest.raises(UsageError, match="Too few iterations"):
        what_if(blocking(np.ones((10, 2)), 0.1), Change(latency=2.0))
    with pytest.raises(UsageError, match="give --machine"):
        what_if(synthetic("blocking"), Change(bandwidth=2.0))
    few = synthetic("blocking", cycles=1, length=3)
    with pytest.raises(UsageError, match="same events at the same place"):
        what_if(few, Change(noise=0.0))


def test_records_without_waits_or_with_impossible_clocks_are_refused() -> None:
    work = np.ones((10, 2))
    nothing = EventBlock(
        kind=np.zeros((10, 1), np.uint8),
        work=np.zeros((10, 2, 1)),
        duration=np.zeros((10, 2, 1)),
        rest=work,
        cycle_begins=np.arange(10) == 0,
    )
    start = np.cumsum(work, axis=0) - work
    with pytest.raises(DataError, match="No MPI call in which ranks wait"):
        recorded_program(start, nothing, np.arange(10), np.zeros(2), NOBODY, NOBODY)
    # Rank 1 comes to each reduction long after rank 0 left it.
    block = replace(whole_bodies(work, 0, np.arange(10) == 0), duration=np.full((10, 2, 1), 0.01))
    start = np.cumsum(work, axis=0) - work + np.array([0.0, 50.0])
    with pytest.raises(DataError, match="this is at collectives of all"):
        recorded_program(start, block, np.arange(10), np.zeros(2), NOBODY, NOBODY)


def test_an_added_time_counts_as_often_as_a_reduction_has_messages() -> None:
    program = blocking(np.ones((30, 5)), 0.5)  # of 5 ranks, 3 messages after each other
    found = what_if(program, Change(more_latency_s=0.01))
    assert found.predicted_s == pytest.approx(30 * (1.5 + 0.01 * 3))


@pytest.mark.parametrize("lost_in", ["the send", "the work before it"])
def test_a_message_may_have_left_before_its_call_ends(lost_in: str) -> None:
    """Rank 0 loses its core for 9 s in every thirtieth iteration; rank 1 does not wait for it."""
    bodies = 60
    begins = np.arange(bodies) == 0
    work, inside = np.zeros((2, bodies, 2, 2))
    work[:, :, 0] = [0.5, 0.6]
    inside[:] = 0.01
    rest = np.repeat([[9.48, 9.38]], bodies, axis=0)
    lost = inside if lost_in == "the send" else work
    lost[::30, 0, 0] += 9.0
    rest[::30, 0] -= 9.0
    kind = np.tile(np.array([SEND, RECEIVE], np.uint8), (bodies, 1))
    block = EventBlock(kind=kind, work=work, duration=inside, rest=rest, cycle_begins=begins)
    start = np.repeat(10.0 * np.arange(bodies)[:, None], 2, axis=1)
    recorded = start, block, np.arange(bodies, dtype=np.int32), np.zeros(2)
    edges = np.array([0], np.int32), np.array([1], np.int32)
    if lost_in != "the send":
        with pytest.raises(DataError, match=r"Rank 1 leaves events 17\.8 s too early"):
            recorded_program(*recorded, *edges)
        return
    assert walk(recorded_program(*recorded, *edges), Change(), SCENARIOS[0]).total_s == (
        pytest.approx(10.0 * bodies, rel=0.02)
    )
