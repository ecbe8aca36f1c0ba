"""How fast the walk over events is.

Run by ``make bench-simulation``:

    python -m benchmarks.simulation                    rank-iterations a second, 8192 ranks

``--quick`` takes one round. Shares of the machine's memory bandwidth are those of a loop that
copies, in turn with the walks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator, reductions_alike

RANKS, ITERATIONS, ROUNDS = 8192, 5000, 7
AT_ONCE = 250
"""Bodies whose work is in memory; walked through until there are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern of a Krylov solver: the events of an iteration, with its work before the last."""

    name: str
    kinds: tuple[EventKind, ...]
    lag: int = 0
    neighbours: bool = False


REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE
SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
HALO = (SEND, RECEIVE)
PATTERNS = (
    Pattern(name="blocking", kinds=(REDUCE,)),
    Pattern(name="pipelined, lag 1", kinds=(COMPLETE, POST)),
    Pattern(name="pipelined, lag 2", kinds=(COMPLETE, POST), lag=1),
    Pattern(name="pipelined, lag 8", kinds=(COMPLETE, POST), lag=7),
    Pattern(name="split phase", kinds=(POST, COMPLETE)),
    Pattern(name="blocking, halo", kinds=(*HALO, REDUCE), neighbours=True),
    Pattern(name="pipelined, lag 1, halo", kinds=(*HALO, COMPLETE, POST), neighbours=True),
)


def walk_of(pattern: Pattern, seed: int) -> Callable[[], float]:
    """Return a walk through all iterations; it returns the time of the solve in seconds."""
    work = np.zeros((AT_ONCE, RANKS, len(pattern.kinds)))
    work[:, :, -1] = np.random.default_rng(seed).exponential(1e-3, (AT_ONCE, RANKS))
    kind = np.tile(np.array(pattern.kinds, np.uint8), (AT_ONCE, 1))
    block = EventBlock(
        kind=kind,
        work=work,
        duration=np.zeros_like(work),
        rest=np.zeros((AT_ONCE, RANKS)),
        cycle_begins=np.zeros(AT_ONCE, np.bool_),
    )
    neighbours = chain(RANKS, neighbours=pattern.neighbours)

    def walk() -> float:
        latency = reductions_alike(len(pattern.kinds), 1e-5)
        simulator = EventSimulator(RANKS, neighbours, latency, lag=pattern.lag)
        for _ in range(ITERATIONS // AT_ONCE):
            simulator.walk(block)
        return float(simulator.clock.max())

    return walk


def seconds_of(task: Callable[[], object]) -> float:
    """Return the processor time of a task, in seconds."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


def copy_speed() -> float:
    """Return how many bytes of memory two threads read and write a second, at best."""
    pairs = [(np.ones(1 << 23), np.ones(1 << 23)) for _ in range(2)]
    took = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            begin = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            took.append(time.perf_counter() - begin)
    return sum(2 * each.nbytes for each, _ in pairs) / min(took)


def chain(ranks: int, *, neighbours: bool) -> Neighbours:
    """Return ranks in a row, each with the one before and after it; or none with any."""
    rank = np.arange(ranks if neighbours else 1, dtype=np.int32)
    left, right = rank[:-1], rank[1:]
    return Neighbours.of_edges(ranks, np.concatenate([left, right]), np.concatenate([right, left]))


def speed(*, rounds: int) -> None:
    """Print the speed of every pattern on one core."""
    say(f"{RANKS} ranks x {ITERATIONS} iterations, on one core")
    say(f"{'pattern':24}{'rank-iterations/s':>20}{'of bandwidth':>14}")
    for pattern in PATTERNS:
        walk = walk_of(pattern, 0)
        walk()  # compiled
        took, memory = [], []
        for _ in range(rounds):
            memory.append(copy_speed())
            took.append(seconds_of(walk))
        rate, bandwidth = RANKS * ITERATIONS / float(np.median(took)), max(memory)
        share = rate * 8 * (len(pattern.kinds) + 1) / bandwidth
        say(f"{pattern.name:24}{rate / 1e6:18.0f} M{share:14.0%}")
    say(f"bandwidth: {bandwidth / 1e9:.1f} GB/s, two threads that copy in the same run")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    speed(rounds=1 if "--quick" in sys.argv else ROUNDS)
