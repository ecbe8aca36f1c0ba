"""What a pipelined solver gains over a blocking one when every rank has the same law of noise.

Every rank works for the same time in every iteration, plus a detour of the law. A blocking solver
ends each iteration with a reduction; a pipelined one starts a reduction in each iteration, and
needs it some iterations later. With unlimited slack, as the paper's equations (4) and (6) assume,
the gain tends to E[max of P] / E[one].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.change import Detours
from hindmost.models.simulation.walker import Latencies, Walker

AT_ONCE = 2_000_000
"""Rank-iterations whose work is in memory."""
HALO = (EventKind.SEND, EventKind.RECEIVE)
BLOCKING = (EventKind.REDUCE,)
PIPELINED = (EventKind.POST, EventKind.COMPLETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseGain:
    """Times of both solvers under the same noise.

    Attributes
    ----------
    ranks, iterations : int
    blocking_s, pipelined_s : float
        Of a solve.
    unlimited_s : float
        Of the rank with the most work: a pipelined solve with unlimited slack.
    """

    ranks: int
    iterations: int
    blocking_s: float
    pipelined_s: float
    unlimited_s: float

    @property
    def speedup(self) -> float:
        """What the pipelined solver gains."""
        return self.blocking_s / self.pipelined_s

    @property
    def most(self) -> float:
        """What it would gain with unlimited slack."""
        return self.blocking_s / self.unlimited_s


def noise_gain(
    detours: Detours,
    *,
    ranks: int,
    iterations: int,
    work_s: float,
    latency_s: float = 0.0,
    lag: int = 1,
    halo: bool = False,
    seed: int = 0,
) -> NoiseGain:
    """Walk through a blocking and a pipelined solve with the same draws of noise.

    Parameters
    ----------
    detours : Detours
        The law of noise.
    work_s, latency_s : float
        Of an iteration without noise, and of a reduction.
    lag : int
        Iterations of work that hide a reduction: in pipelined solvers with one in flight, 1.
    halo : bool
        Whether each rank needs values of its two neighbours in every iteration, as in a chain.
    """
    before = HALO if halo else ()
    rank = np.arange(ranks, dtype=np.int32)
    nobody = np.empty(0, np.int32)
    neighbours = Neighbours.of_edges(
        ranks,
        np.concatenate([rank[:-1], rank[1:]]) if halo else nobody,
        np.concatenate([rank[1:], rank[:-1]]) if halo else nobody,
    )
    walkers = [
        (kinds, Walker(ranks, neighbours, Latencies.of_reductions(len(kinds), latency_s), lag=left))
        for kinds, left in (((*before, *BLOCKING), 0), ((*before, *PIPELINED), lag - 1))
    ]
    random = np.random.default_rng(seed)
    own_s = np.zeros(ranks)
    block = max(1, min(iterations, AT_ONCE // ranks))
    for begin in range(0, iterations, block):
        shape = (min(block, iterations - begin), ranks)
        times_s: NDArray[np.float64] = work_s + detours.draw(random, shape)
        own_s += times_s.sum(axis=0)
        for kinds, walker in walkers:
            work = np.zeros((*shape, len(kinds)))
            work[:, :, -1] = times_s
            walker.walk(np.tile(np.array(kinds, np.uint8), (shape[0], 1)), work, np.zeros(shape))
    blocking_s, pipelined_s = (float(walker.clock.max()) for _, walker in walkers)
    return NoiseGain(
        ranks=ranks,
        iterations=iterations,
        blocking_s=blocking_s,
        pipelined_s=pipelined_s,
        unlimited_s=float(own_s.max()),
    )
