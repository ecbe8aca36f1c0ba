from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.noise.maxplus import Replay
from hindmost.models.simulation.blocks import whole_bodies
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
