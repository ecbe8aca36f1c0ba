"""Sampled solves against the walker of recorded ones, with the same times drawn in numpy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.events import EventKind
from hindmost.models.simulation import counted_draws as draws
from hindmost.models.simulation import sampled
from hindmost.models.simulation.blocks import Neighbours
from hindmost.models.simulation.counted_draws import Quantiles
from hindmost.models.simulation.sampled import DrawnWork, SampledProgram, SampledWalk
from hindmost.models.simulation.walker import Latencies, Walker

REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE
SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
RANKS, ITERATIONS, SEED = 37, 23, 5
PATTERNS: dict[str, tuple[tuple[int, ...], int]] = {
    "blocking": ((REDUCE,), 0),
    "lag 1": ((COMPLETE, POST), 0),
    "lag 3": ((COMPLETE, POST), 2),
    "split phase": ((POST, COMPLETE), 0),
    "two reductions, halo": ((SEND, RECEIVE, REDUCE, REDUCE), 0),
    "pipelined, halo": ((COMPLETE, RECEIVE, SEND, POST), 0),
    "Gropp, halo": ((POST, SEND, RECEIVE, COMPLETE, POST, COMPLETE), 0),
}
EXPONENTIAL = Quantiles.of_law(stats.expon(scale=1e-3).isf)
GAMMA = Quantiles.of_law(stats.gamma(2.0, scale=5e-4).isf)


def ring_of(ranks: int) -> Neighbours:
    rank = np.arange(ranks, dtype=np.int32)
    source = np.concatenate([np.roll(rank, 1), np.roll(rank, -1)])
    return Neighbours.of_edges(ranks, source, np.concatenate([rank, rank]))


def program_of(pattern: str) -> SampledProgram:
    """A program with all that work can be: by place, by node, lasting, rare, and not scaled."""
    kinds, lag = PATTERNS[pattern]
    last = len(kinds) - 1
    return SampledProgram(
        ranks=RANKS,
        kinds=kinds,
        work=(
            DrawnWork(event=last, laws=(EXPONENTIAL, GAMMA, EXPONENTIAL)),
            DrawnWork(event=0, laws=(GAMMA,), ranks_together=8, scaled=False),
            DrawnWork(event=last, laws=(GAMMA,), iterations_together=4, probability=0.25),
        ),
        latency_s=tuple(1e-4 * (each + 1) for each in range(last + 1)),
        overhead_s=tuple(1e-5 * each for each in range(last + 1)),
        neighbours=ring_of(RANKS),
        lag=lag,
        slowness=np.linspace(1.0, 2.0, RANKS),
    )


def hashed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64, as it is published."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def key_of(*numbers: int) -> NDArray[np.uint64]:
    gamma = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        key = hashed(np.array([numbers[0]], np.uint64) + gamma)
        for each in numbers[1:]:
            key = hashed(key + np.uint64(each) * gamma + np.uint64(1))
    return key


def drawn(term: int, work: DrawnWork, body: int, ranks: int, place: int) -> NDArray[np.float64]:
    """What ranks draw in a body, in numpy."""
    gamma = np.uint64(0x9E3779B97F4A7C15)
    counter = (np.arange(ranks) // work.ranks_together).astype(np.uint64)
    with np.errstate(over="ignore"):
        value = hashed(key_of(SEED, term, body // work.iterations_together) + counter * gamma)
    tail = ((value >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53 / work.probability
    table = work.laws[place % len(work.laws)].seconds[:-1]
    times = np.interp(tail, draws.exceeded(), table)
    return np.where(tail <= 1.0, times, 0.0)


def reference(program: SampledProgram, iterations: int) -> Walker:
    """The same solve as arrays of work, walked through by the walker."""
    kinds = np.array(program.kinds, np.uint8)
    work = np.zeros((iterations, program.ranks, kinds.size))
    slowness = program.slowness
    assert slowness is not None
    for term, each in enumerate(program.work):
        for body in range(iterations):
            place = body % program.cycle if program.cycle else body
            times = drawn(term, each, body, program.ranks, place)
            work[body, :, each.event] += times * (slowness if each.scaled else 1.0)
    latency, overhead = np.zeros((2, kinds.size, len(EventKind)))
    latency[np.arange(kinds.size), kinds] = program.latency_s
    overhead[np.arange(kinds.size), kinds] = program.overhead_s
    walker = Walker(
        program.ranks,
        program.neighbours,
        Latencies(latency=latency, overhead=overhead),
        lag=program.lag,
    )
    cycle, total_s = program.cycle or iterations, 0.0
    for begin in range(0, iterations, cycle):
        if begin:
            total_s += float(walker.clock.max()) + program.between_s
            walker.meet()
        rows = slice(begin, min(begin + cycle, iterations))
        size = rows.stop - rows.start
        walker.walk(
            np.tile(kinds, (size, 1)), work[rows], np.zeros((size, program.ranks)), interpret=True
        )
    walker.clock += total_s
    return walker


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sampled_solves_are_walked_as_arrays_of_work_are(pattern: str) -> None:
    program = program_of(pattern)
    walk = SampledWalk(program, seed=SEED, threads=1)
    walk.walk(ITERATIONS)
    wanted = reference(program, ITERATIONS).clock
    np.testing.assert_allclose(walk.clock, wanted, rtol=1e-13)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_threads_parts_and_cycles_change_no_bit(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = replace(program_of(pattern), cycle=7, between_s=2e-3)
    one = SampledWalk(program, seed=SEED, threads=1)
    one.walk(ITERATIONS)
    np.testing.assert_allclose(one.clock, reference(program, ITERATIONS).clock, rtol=1e-13)
    monkeypatch.setattr("hindmost.models.simulation.sampled.RANK_BODIES", 4 * RANKS)
    for threads in (2, 3):
        several = SampledWalk(program, seed=SEED, threads=threads)
        several.walk(9)
        several.walk(ITERATIONS - 9)
        assert several.walked == ITERATIONS
        np.testing.assert_array_equal(several.clock, one.clock)


def test_a_thread_that_fails_stops_those_that_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = sampled.walk_sampled.compile()

    def begin(*arguments: Any) -> None:
        if arguments[16] == 1:
            raise MemoryError
        loop(*arguments)

    monkeypatch.setattr(sampled.walk_sampled, "_made", begin)
    with pytest.raises(MemoryError):
        SampledWalk(program_of("blocking"), threads=2).walk(5)


def test_another_seed_draws_other_times() -> None:
    clocks = []
    for seed in (1, 2):
        walk = SampledWalk(program_of("blocking"), seed=seed, threads=1)
        walk.walk(1)
        clocks.append(walk.clock[0])
    assert clocks[0] != clocks[1]


@pytest.mark.parametrize("law", [stats.expon(scale=2.0), stats.lognorm(1.0), stats.gamma(3.0)])
def test_draws_follow_their_law(law: stats.rv_continuous) -> None:
    ranks = 40_000
    nobody = np.empty(0, np.int32)
    program = SampledProgram(
        ranks=ranks,
        kinds=(SEND,),
        work=(DrawnWork(event=0, laws=(Quantiles.of_law(law.isf),)),),
        latency_s=(0.0,),
        overhead_s=(0.0,),
        neighbours=Neighbours.of_edges(ranks, nobody, nobody),
    )
    walk = SampledWalk(program, seed=3)
    walk.walk(1)
    # 1.36 / sqrt(n) is the bound at the level of 5 %.
    assert stats.kstest(walk.clock, law.cdf).statistic < 1.36 / np.sqrt(ranks)
    # Far in the tail, where the slowest of a million ranks comes from.
    tail = np.geomspace(2e-12, 1e-3, 999)
    table = np.interp(tail, draws.exceeded(), Quantiles.of_law(law.isf).seconds[:-1])
    np.testing.assert_allclose(table, law.isf(tail), rtol=1e-4)


def test_measured_times_are_drawn_up_to_the_longest() -> None:
    values = np.array([3.0, 1.0, 2.0])
    table = Quantiles.of_values(values).seconds
    assert table[0] == pytest.approx(3.0, rel=1e-9)
    assert table[-1] == 1.0
    assert set(Quantiles.constant(0.5).seconds) == {0.5}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kinds": (0,)}, "each is one of"),
        ({"work": ()}, "Work belongs to one of the 1 events"),
        ({"latency_s": ()}, "as many latencies"),
        ({"latency_s": (-1.0,)}, "negative latency"),
        ({"kinds": (POST,)}, "as many reductions as it posts"),
        ({"kinds": (RECEIVE,)}, "sends once"),
        ({"lag": -1}, "lag of -1"),
        ({"slowness": np.ones(3)}, "slowness of 37 ranks"),
        ({"work": (DrawnWork(event=0, laws=()),)}, "needs a law"),
        ({"work": (DrawnWork(event=0, laws=(GAMMA,), ranks_together=0),)}, "At least 1 rank"),
    ],
)
def test_nonsense_is_refused(change: dict[str, object], words: str) -> None:
    program = replace(program_of("blocking"), **change)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=words):
        SampledWalk(program)


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_a_law_of_impossible_times_is_refused(value: float) -> None:
    with pytest.raises(DataError, match="negative or not finite"):
        Quantiles.of_law(lambda tail: np.full(tail.shape, value))
    with pytest.raises(DataError, match="No times"):
        Quantiles.of_values(np.empty(0))
