"""The critical path: as long as the replay, and over the ranks whose work it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.noise.replay import Replay
from hindmost.models.ranks import critical_path
from hindmost.models.ranks.critical_path import NOBODY, PathSum
from hindmost.models.simulation.blocks import OWN_TIME, EventBlock, whole_bodies
from hindmost.models.simulation.event_simulator import Latencies


def ring(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.arange(ranks, dtype=np.int32), ((np.arange(ranks) + 1) % ranks).astype(np.int32)


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_the_critical_path_is_as_long_as_the_replay(lag: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    bodies, ranks = 25, 6
    kinds = [EventKind.RECEIVE, EventKind.SEND, EventKind.REDUCE]
    if lag:
        kinds = [EventKind.COMPLETE, EventKind.RECEIVE, EventKind.SEND, EventKind.POST]
    shape = (bodies, ranks, len(kinds))
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        work=random.exponential(1.0, shape),
        duration=random.exponential(0.1, shape),
        rest=random.exponential(0.2, (bodies, ranks)),
        cycle_begins=np.arange(bodies) % 10 == 0,
    )
    replay = Replay(ranks, Latencies.of_reductions(len(kinds), 0.0), *ring(ranks), lag=lag)
    replay.advance(block)
    path = PathSum(ranks, *ring(ranks), lag=lag)
    path.add(block)
    found = path.result()
    assert found.length_s == pytest.approx(replay.elapsed_s, rel=1e-12)
    assert found.visits.sum() >= 3
    # Own work of the ranks that the path passes, event by event, is the work on the path.
    own = block.work + np.where(OWN_TIME[block.kind][:, None, :], block.duration, 0.0)
    own = np.concatenate([own, block.rest[:, :, None]], axis=2)
    assert found.passed is not None
    body, place = np.nonzero(found.passed != NOBODY)
    ranks_there = found.passed[body, place]
    summed = np.bincount(ranks_there, own[body, ranks_there, place], minlength=ranks)
    np.testing.assert_allclose(summed, found.seconds, rtol=1e-12)


def test_of_whole_bodies_the_path_is_the_last_rank_of_each() -> None:
    work = np.random.default_rng(4).random((30, 5))
    path = PathSum(5, *(np.empty(0, np.int32),) * 2)
    path.add(whole_bodies(work, 0, np.zeros(30, bool)))
    wanted = np.bincount(work.argmax(axis=1), work.max(axis=1), minlength=5)
    found = path.result()
    np.testing.assert_allclose(found.seconds, wanted, rtol=1e-12)
    assert found.passed is not None
    np.testing.assert_array_equal(found.passed[:, 0], work.argmax(axis=1))


def test_of_a_very_long_run_the_path_is_kept_as_sums_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critical_path, "MOST_PLACES", 50)
    path = PathSum(3, *(np.empty(0, np.int32),) * 2)
    for _ in range(3):
        path.add(whole_bodies(np.random.default_rng(4).random((10, 3)), 0, np.zeros(10, bool)))
    found = path.result()
    assert found.passed is None
    assert found.length_s > 0.0


def test_the_path_through_one_meeting_a_body_is_that_of_the_walk() -> None:
    random = np.random.default_rng(0)
    bodies, ranks, sums = 60, 5, []
    work, rest = random.integers(0, 4, (bodies, ranks, 1)) / 8, random.random((bodies, ranks)) / 8
    for events in (1, 2):  # the same with room for an event that does not take place
        empty = np.zeros((bodies, ranks, events))
        before = empty.copy()
        before[:, :, :1] = work
        kind = np.zeros((bodies, events), np.uint8)
        kind[:, 0] = EventKind.REDUCE
        path = PathSum(ranks, *ring(ranks))
        path.add(
            EventBlock(
                kind=kind,
                work=before,
                duration=empty,
                rest=rest,
                cycle_begins=np.arange(bodies) % 20 == 0,
            )
        )
        sums.append(path.result())
    short, walked = sums
    np.testing.assert_array_equal(short.seconds, walked.seconds)
    np.testing.assert_array_equal(short.visits, walked.visits)
    assert short.passed is not None
    assert walked.passed is not None
    np.testing.assert_array_equal(short.passed[:, 0], walked.passed[:, 0])
    np.testing.assert_array_equal(short.passed[:, 1], walked.passed[:, 2])
