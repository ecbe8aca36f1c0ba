"""How fast the walk over events is, and how well replays foretell real reruns.

Run by ``make bench-simulation``:

    python -m benchmarks.simulation speed              rank-iterations a second, 8192 ranks
    python -m benchmarks.simulation reruns CLEAN NOISY LAW
                                                       replays of quiet runs with a law of noise,
                                                       against runs that had it injected

Speeds are those of processor time, on one core and on two threads that walk side by side; the share
of the memory's bandwidth is that of reading the work once, measured in turn with the walks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.options import changes_of
from hindmost.analysis.whatif.study import replay_run
from hindmost.models.events import EventKind
from hindmost.models.simulation.walker import Latencies, Neighbours, Walker

RANKS, ITERATIONS, ROUNDS = 8192, 5000, 7
AT_ONCE = 250
"""Bodies whose work is in memory; walked through until there are enough."""
GOAL = 200e6
"""Rank-iterations a second, on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern of a Krylov solver: the events of an iteration, with its work before the last."""

    name: str
    kinds: tuple[EventKind, ...]
    lag: int = 0
    neighbours: bool = False


POST, COMPLETE = EventKind.POST, EventKind.COMPLETE
HALO = (EventKind.SEND, EventKind.RECEIVE)
PATTERNS = (
    Pattern(name="blocking", kinds=(EventKind.REDUCE,)),
    Pattern(name="pipelined, lag 1", kinds=(COMPLETE, POST)),
    Pattern(name="pipelined, lag 2", kinds=(COMPLETE, POST), lag=1),
    Pattern(name="pipelined, lag 8", kinds=(COMPLETE, POST), lag=7),
    Pattern(name="split phase", kinds=(POST, COMPLETE)),
    Pattern(name="blocking, halo", kinds=(*HALO, EventKind.REDUCE), neighbours=True),
    Pattern(name="pipelined, lag 1, halo", kinds=(*HALO, COMPLETE, POST), neighbours=True),
)


def walk_of(pattern: Pattern, seed: int) -> Callable[[], float]:
    """Return a walk through all iterations; it returns the time of the solve in seconds."""
    work = np.zeros((AT_ONCE, RANKS, len(pattern.kinds)))
    work[:, :, -1] = np.random.default_rng(seed).exponential(1e-3, (AT_ONCE, RANKS))
    kind = np.tile(np.array(pattern.kinds, np.uint8), (AT_ONCE, 1))
    rest = np.zeros((AT_ONCE, RANKS))
    rank = np.arange(RANKS, dtype=np.int32)
    left, right = rank[:-1], rank[1:]
    nobody = np.empty(0, np.int32)
    neighbours = Neighbours.of_edges(
        RANKS,
        np.concatenate([left, right]) if pattern.neighbours else nobody,
        np.concatenate([right, left]) if pattern.neighbours else nobody,
    )

    def walk() -> float:
        latencies = Latencies.of_reductions(len(pattern.kinds), 1e-5)
        walker = Walker(RANKS, neighbours, latencies, lag=pattern.lag)
        for _ in range(ITERATIONS // AT_ONCE):
            walker.walk(kind, work, rest)
        return float(walker.clock.max())

    return walk


def seconds_of(task: Callable[[], object]) -> float:
    """Return the processor time of a task, in seconds."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


def read_speed() -> float:
    """Return how many bytes of memory one core reads a second."""
    values = np.ones(1 << 25)
    return values.nbytes / seconds_of(values.sum)


def speed() -> None:
    """Print the speed of every pattern."""
    say(
        f"{RANKS} ranks x {ITERATIONS} iterations; goal: {GOAL / 1e6:.0f} million a second, 2 cores"
    )
    say(f"{'pattern':24}{'1 core':>12}{'2 threads':>12}   share of memory bandwidth (1 core)")
    count = RANKS * ITERATIONS
    with ThreadPoolExecutor(2) as pool:
        for pattern in PATTERNS:
            walks = [walk_of(pattern, seed) for seed in (0, 1)]
            walks[0]()  # compiled
            alone, both, memory = [], [], []
            for _ in range(ROUNDS):
                memory.append(read_speed())
                alone.append(seconds_of(walks[0]))
                begin = time.perf_counter()
                list(pool.map(lambda walk: walk(), walks))
                both.append(time.perf_counter() - begin)
            rate, together = count / np.median(alone), 2 * count / np.median(both)
            share = rate * 8 * (len(pattern.kinds) + 1) / np.median(memory)
            say(f"{pattern.name:24}{rate / 1e6:10.0f} M{together / 1e6:10.0f} M{share:12.0%}")


def reruns(clean: Path, noisy: Path, law: str) -> None:
    """Compare replays of quiet runs with runs that had the noise, solver by solver."""
    quiet: dict[str, list[float]] = {}
    real: dict[str, list[float]] = {}
    for run in find_runs([clean]):
        (found,) = replay_run(run, changes_of(noise=law), None)
        quiet.setdefault(run.header.solver, []).append(found.result.predicted_s)
    for run in find_runs([noisy]):
        real.setdefault(run.header.solver, []).append(run.solve_time_s)
    say(f"{'solver':12}{'replayed':>10}{'rerun':>10}{'error':>9}   reruns differ by")
    for solver in sorted(quiet.keys() & real.keys()):
        replayed, rerun = np.median(quiet[solver]), np.median(real[solver])
        spread = max(real[solver]) / min(real[solver]) - 1.0
        error = replayed / rerun - 1.0
        say(f"{solver:12}{replayed:8.3f} s{rerun:8.3f} s{error:+9.1%}   {spread:.1%}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main(words: list[str]) -> None:
    """Run one of the two."""
    if words[:1] == ["reruns"] and len(words) == 4:
        reruns(Path(words[1]), Path(words[2]), words[3])
    elif words == ["speed"]:
        speed()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
