"""How fast the walk over events is.

Run by ``make bench-simulation``:

    python -m benchmarks.simulation speed              rank-iterations a second, 8192 ranks
    python -m benchmarks.simulation million            1,048,576 ranks: time, peak memory

``--quick`` takes one round, and a tenth of the million's iterations. Shares of the machine's memory
bandwidth are those of a loop that copies, in turn with the walks.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.counted_draws import Quantiles
from hindmost.models.simulation.sampled import DrawnWork, SampledProgram, SampledWalk
from hindmost.models.simulation.walker import Latencies, Walker

RANKS, ITERATIONS, ROUNDS = 8192, 5000, 7
MANY = 1 << 20
AT_ONCE = 250
"""Bodies whose work is in memory; walked through until there are enough."""
GOAL = 200e6
"""Rank-iterations a second, on two cores."""
MOST_S, MOST_BYTES = 120, 4 << 30
"""Goals of a million ranks."""


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
    rest = np.zeros((AT_ONCE, RANKS))
    neighbours = chain(RANKS, neighbours=pattern.neighbours)

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


def touched(pattern: Pattern) -> int:
    """Return the bytes that the loops of a sampled walk read and write in a rank's iteration."""
    # Clock read and written and slowness read where work is added; then clock, sent, cost by event.
    of_event = {REDUCE: 16, POST: 8, COMPLETE: 16, SEND: 16, RECEIVE: 16 + 8 + 2 * 16}
    return 24 + sum(of_event[each] for each in pattern.kinds)


def chain(ranks: int, *, neighbours: bool) -> Neighbours:
    """Return ranks in a row, each with the one before and after it; or none with any."""
    rank = np.arange(ranks if neighbours else 1, dtype=np.int32)
    left, right = rank[:-1], rank[1:]
    return Neighbours.of_edges(ranks, np.concatenate([left, right]), np.concatenate([right, left]))


def sampled(pattern: Pattern, ranks: int) -> SampledProgram:
    """Return a program whose ranks draw their work from an exponential law."""
    law = Quantiles.of_law(lambda tail: -1e-3 * np.log(tail))
    events = len(pattern.kinds)
    return SampledProgram(
        ranks=ranks,
        kinds=tuple(int(kind) for kind in pattern.kinds),
        work=(DrawnWork(event=events - 1, laws=(law,)),),
        latency_s=(1e-5,) * events,
        overhead_s=(0.0,) * events,
        neighbours=chain(ranks, neighbours=pattern.neighbours),
        lag=pattern.lag,
    )


def sampled_seconds(program: SampledProgram, threads: int) -> float:
    """Return the time of the walk through all iterations, in seconds."""
    walk = SampledWalk(program, threads=threads)
    begin = time.perf_counter()
    walk.walk(ITERATIONS)
    return time.perf_counter() - begin


def speed(*, rounds: int) -> None:
    """Print the speed of every pattern: one solve on one core, and on two threads."""
    say(
        f"{RANKS} ranks x {ITERATIONS} iterations; goal: {GOAL / 1e6:.0f} million rank-iterations "
        "a second, 2 cores"
    )
    say(
        f"{'':24}{'times drawn in the loop':>38}{'times from arrays':>26}\n"
        f"{'pattern':24}{'1 core':>12}{'2 threads':>12}{'of bandwidth':>14}{'1 core':>12}"
        f"{'of bandwidth':>14}"
    )
    count = RANKS * ITERATIONS
    for pattern in PATTERNS:
        program, walk = sampled(pattern, RANKS), walk_of(pattern, 0)
        walk()  # compiled
        SampledWalk(program).walk(1)
        alone, both, arrays, memory = [], [], [], []
        for _ in range(rounds):
            memory.append(copy_speed())
            alone.append(sampled_seconds(program, 1))
            both.append(sampled_seconds(program, 2))
            arrays.append(seconds_of(walk))
        one, two, read = (count / float(np.median(each)) for each in (alone, both, arrays))
        bandwidth = max(memory)
        say(
            f"{pattern.name:24}{one / 1e6:10.0f} M{two / 1e6:10.0f} M"
            f"{two * touched(pattern) / bandwidth:14.0%}{read / 1e6:10.0f} M"
            f"{read * 8 * (len(pattern.kinds) + 1) / bandwidth:14.0%}"
        )
    say(
        f"bandwidth: {bandwidth / 1e9:.1f} GB/s, two threads that copy in the same run. Its share "
        "is that of\nthe bytes that the loops touch; clocks of so few ranks stay in the caches."
    )


def million(iterations: int) -> None:
    """Print time and memory of a million ranks whose times are drawn while they are walked."""
    pattern = PATTERNS[1]
    program = sampled(pattern, MANY)
    SampledWalk(program).walk(1)
    walk = SampledWalk(program)
    begin = time.perf_counter()
    walk.walk(iterations)
    took, peak = time.perf_counter() - begin, peak_bytes()
    bandwidth = copy_speed()
    rate = MANY * iterations / took
    say(
        f"{MANY:,} ranks x {iterations} iterations, {pattern.name}: {took:.1f} s, "
        f"{rate / 1e6:.0f} million a second; the solve takes {walk.clock.max():.2f} s"
    )
    if iterations != ITERATIONS:
        say(f"  {ITERATIONS} iterations at this rate: {MANY * ITERATIONS / rate:.1f} s")
    say(f"  goal: under {MOST_S} s for {ITERATIONS} iterations, and {MOST_BYTES >> 30} GiB")
    say(f"  peak memory of the process: {peak / 2**20:.0f} MiB")
    say(
        f"  the loops touch {rate * touched(pattern) / 1e9:.1f} GB/s, "
        f"{rate * touched(pattern) / bandwidth:.0%} of the {bandwidth / 1e9:.1f} GB/s that two "
        "threads copy"
    )


def peak_bytes() -> int:
    """Return the most memory that this process had so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main(words: list[str]) -> None:
    """Run one of the parts."""
    quick = "--quick" in words
    words = [each for each in words if each != "--quick"]
    if words == ["speed"]:
        speed(rounds=1 if quick else ROUNDS)
    elif words == ["million"]:
        million(ITERATIONS // 10 if quick else ITERATIONS)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
