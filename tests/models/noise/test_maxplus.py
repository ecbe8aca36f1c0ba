from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.noise.maxplus import Replay
from hindmost.models.simulation.blocks import EventBlock, whole_bodies
from hindmost.models.simulation.event_simulator import reductions_alike

NO_EDGES = np.empty(0, np.int32)


def line(ranks: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    source, target = np.array(pairs, np.int32).T
    return source, target


def brute_force(
    work: NDArray[np.float64],
    latency: float,
    lag: int,
    starts: list[int],
    edges: list[tuple[int, int]],
) -> float:
    """Walk the dependencies one by one, as the module's docstring states them."""
    iterations, ranks = work.shape
    total = 0.0
    for first, last in zip(starts, [*starts[1:], iterations], strict=True):
        ended = np.zeros((last - first, ranks))
        for k in range(last - first):
            for p in range(ranks):
                waits_for = [0.0]
                if k > 0:
                    waits_for.append(ended[k - 1, p])
                    waits_for += [ended[k - 1, s] for s, t in edges if t == p]
                if k - 1 - lag >= 0:
                    waits_for.append(ended[k - 1 - lag].max() + latency)
                ended[k, p] = max(waits_for) + work[first + k, p]
        total += ended[-1].max() + latency
    return total


def max_plus_time(
    work: NDArray[np.float64],
    latency_s: float,
    *,
    lag: int,
    cycle_starts: NDArray[np.intp],
    edge_source: NDArray[np.int32],
    edge_target: NDArray[np.int32],
) -> float:
    """Walk from body to body over a matrix of work."""
    begins = np.zeros(len(work), np.bool_)
    begins[cycle_starts] = True
    block = whole_bodies(work, lag, begins)
    latencies = reductions_alike(block.kind.shape[1], latency_s)
    replay = Replay(
        work.shape[1], latencies, edge_source, edge_target, lag=lag, pending_s=latency_s
    )
    replay.advance(block)
    return replay.elapsed_s


@pytest.mark.parametrize("lag", [0, 1, 2, 5])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_agrees_with_walking_the_dependencies(lag: int, halo: bool, ranks: int) -> None:
    work = np.random.default_rng(lag).exponential(1.0, (37, ranks))
    source, target = line(ranks) if halo and ranks > 1 else (NO_EDGES, NO_EDGES)
    starts = [0, 12, 30]
    ours = max_plus_time(
        work,
        0.3,
        lag=lag,
        cycle_starts=np.array(starts),
        edge_source=source,
        edge_target=target,
    )
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    assert ours == pytest.approx(brute_force(work, 0.3, lag, starts, edges), rel=1e-13)


KINDS = (EventKind.SEND, EventKind.RECEIVE, EventKind.COMPLETE, EventKind.POST, EventKind.REDUCE)


def by_hand(
    kinds: list[EventKind],
    work: NDArray[np.float64],
    rest: NDArray[np.float64],
    edges: list[tuple[int, int]],
    latency: float,
) -> float:
    """Walk through events rank by rank, with a list of what was posted."""
    iterations, ranks, _ = work.shape
    clock = [0.0] * ranks
    sent = [0.0] * ranks
    posted: list[float] = []
    for body in range(iterations):
        for event, kind in enumerate(kinds):
            clock = [clock[rank] + work[body, rank, event] for rank in range(ranks)]
            if kind == EventKind.REDUCE:
                clock = [max(clock) + latency] * ranks
            elif kind == EventKind.POST:
                posted.append(max(clock))
            elif kind == EventKind.COMPLETE and posted:
                done = posted.pop(0) + latency
                clock = [max(mine, done) for mine in clock]
            elif kind == EventKind.SEND:
                sent = list(clock)
            elif kind == EventKind.RECEIVE:
                clock = [
                    max([clock[rank], *(sent[s] for s, t in edges if t == rank)])
                    for rank in range(ranks)
                ]
        clock = [clock[rank] + rest[body, rank] for rank in range(ranks)]
    return max([*clock, *posted])


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
    ranks=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_events_are_walked_through_as_by_hand(
    kinds: list[EventKind], ranks: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    iterations = 9
    work = random.exponential(1.0, (iterations, ranks, len(kinds)))
    rest = random.exponential(1.0, (iterations, ranks))
    source, target = line(ranks) if ranks > 1 else (NO_EDGES, NO_EDGES)
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (iterations, 1)),
        work=work,
        duration=np.zeros_like(work),
        rest=rest,
        cycle_begins=np.arange(iterations) == 0,
    )
    replay = Replay(ranks, reductions_alike(len(kinds), 0.25), source, target)
    for rows in (slice(0, 4), slice(4, 5), slice(5, None)):  # in blocks, as from a file
        replay.advance(block.part(rows))
    edges = list(zip(source.tolist(), target.tolist(), strict=True))
    assert replay.elapsed_s == pytest.approx(by_hand(kinds, work, rest, edges, 0.25), rel=1e-13)
