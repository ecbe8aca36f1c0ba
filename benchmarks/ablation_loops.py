"""The rules by which `attach` chooses the loop of a program, each switched off alone.

Run by ``make ablation`` (PART=loops, about a minute). The truth is drawn: programs of fifteen
kinds, each with its loop of time steps, traced call by call on three ranks. No number of
iterations, of calls or of seconds is drawn with regard to the rules' thresholds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np
from benchmarks.ablation import Case, Mechanism, Scores, print_table
from numpy.typing import NDArray

from hindmost.harness.loops import choice
from hindmost.harness.loops.choice import (
    Candidate,
    Chosen,
    candidates_of,
    choose,
    phases_of,
    signatures_of,
    summaries_of,
)
from hindmost.harness.loops.tree import ContextCalls, Loop, LoopKey, calls_inside, seconds_of

RANKS, DRAWS = 3, 60
NEVER = 10**9
CALL_NS = 2_000
PLACE = 100
"""Between the frames of two places in a function."""
Random = np.random.Generator
Truth = tuple[tuple[int, int, int], ...]
"""The loops to be found: their function, passes in an iteration, and places of call."""


class At(IntEnum):
    """The functions of drawn programs: each has one loop, or calls those that have."""

    MAIN, SETUP, CHUNKS, STEPS, INNER, SOLVE, OTHER, SMALL = range(1, 9)


STEPS: Truth = ((At.STEPS, 1, 1),)


class Trace:
    """The calls of a rank as a program makes them, and the loops that they lie in."""

    def __init__(self, own: Random) -> None:
        self.own = own
        self.now_ns = 0
        self.calls: list[tuple[int, bool]] = []
        self.frames: list[int] = [At.MAIN]
        self.around: list[LoopKey] = []
        self.found: dict[LoopKey, tuple[LoopKey | None, defaultdict[str, list[int]]]] = {}

    def call(self, count: int = 1, *, work_us: float = 50.0, writes: bool = False) -> None:
        """Work, and call MPI, some times."""
        for work in self.own.gamma(25.0, 40.0 * work_us, count).tolist():
            self.now_ns += int(work)
            self.calls.append((self.now_ns, writes))
            self.now_ns += CALL_NS

    def loop(self, at: At, trips: int, *, place: int = 0) -> Iterator[int]:
        """Iterate; ``place`` tells calls of one function apart."""
        if trips < 1:
            return
        key = ((*self.frames[:-1], self.frames[-1] + PLACE * place), (0, int(at)), 0)
        parent = self.around[-1] if self.around else None
        _, noted = self.found.setdefault(key, (parent, defaultdict(list)))
        noted["enters"].append(len(self.calls))
        self.around.append(key)
        self.frames.append(int(at))
        for trip in range(trips):
            noted["begins"].append(len(self.calls))
            yield trip
        self.frames.pop()
        self.around.pop()
        noted["leaves"].append(len(self.calls) - 1)
        noted["trips"].append(trips)

    def result(self) -> tuple[ContextCalls, dict[LoopKey, Loop]]:
        """Return what `loops_of` finds of it."""
        begin_ns = np.array([each for each, _ in self.calls])
        calls = ContextCalls(
            context=np.zeros(begin_ns.size, np.uint32),
            begin_ns=begin_ns,
            end_ns=begin_ns + CALL_NS,
            writes=np.array([each for _, each in self.calls]),
        )
        loops = {}
        for key, (parent, noted) in self.found.items():
            arrays = {name: np.array(each, np.int64) for name, each in noted.items()}
            seconds = seconds_of(arrays["enters"], arrays["leaves"], calls)
            loops[key] = Loop(
                key=key,
                parent=parent,
                frames=(),
                begins=arrays["begins"],
                enters=arrays["enters"],
                leaves=arrays["leaves"],
                trips=arrays["trips"],
                seconds=seconds,
            )
        return calls, loops


# Programs. Each draws its numbers from a generator that all ranks share, so they agree.


def several(random: Random, low: float, high: float) -> int:
    """Draw a number, evenly on a logarithmic scale."""
    return round(float(np.exp(random.uniform(np.log(low), np.log(high)))))


def other_loop(random: Random, trace: Trace) -> None:
    """Iterate in another loop, as of a set-up, that takes less time than what there is so far."""
    trips, calls = several(random, 2, 40), several(random, 1, 10)
    work_us = 1e-3 * trace.now_ns * random.uniform(0.05, 0.8) / (trips * calls)
    for _ in trace.loop(At.SETUP, trips):
        trace.call(calls, work_us=work_us)


def time_steps(random: Random, trace: Trace) -> Truth:
    """Run steps, with a solver of as many iterations as it needs."""
    for _ in trace.loop(At.STEPS, several(random, 13, 150)):
        trace.call(several(random, 2, 6))
        for _ in trace.loop(At.SOLVE, several(random, 5, 30)):
            trace.call(3)
    other_loop(random, trace)
    return STEPS


def chunks(random: Random, trace: Trace) -> Truth:
    """Run so many steps between outputs, with a part of MPI-IO in these."""
    steps, in_step = several(random, 8, 60), several(random, 3, 10)
    output, files = several(random, 1, 4), random.integers(2) * several(random, 5, 60)
    for _ in trace.loop(At.CHUNKS, several(random, 11, 30)):
        for _ in trace.loop(At.STEPS, steps):
            trace.call(in_step)
        trace.call(output)
        trace.call(int(files), writes=True)
    other_loop(random, trace)
    return STEPS


def stages(random: Random, trace: Trace) -> Truth:
    """Run steps of so many stages or sweeps, and a little around them."""
    number, in_stage, around = (several(random, *ends) for ends in ((2, 12), (1, 8), (1, 12)))
    for _ in trace.loop(At.STEPS, several(random, 13, 200)):
        trace.call(around)
        for _ in trace.loop(At.INNER, number):
            trace.call(in_stage)
    other_loop(random, trace)
    return STEPS


def few_steps(random: Random, trace: Trace) -> Truth:
    """Run a handful of steps, with a solver of as many iterations as it needs, but not many."""
    for _ in trace.loop(At.STEPS, int(random.integers(5, 10))):
        trace.call(several(random, 2, 6))
        for _ in trace.loop(At.SOLVE, several(random, 4, 20)):
            trace.call(3)
    other_loop(random, trace)
    return STEPS


def few_solves(random: Random, trace: Trace) -> Truth:
    """Run a handful of steps, with a solver of as many iterations as it needs, of which many."""
    for _ in trace.loop(At.STEPS, int(random.integers(4, 10))):
        trace.call(several(random, 2, 6))
        for _ in trace.loop(At.SOLVE, several(random, 40, 150)):
            trace.call(3)
    other_loop(random, trace)
    return ((At.SOLVE, 1, 1),)


def cycles(random: Random, trace: Trace) -> Truth:
    """Run a handful of cycles over levels, with an exchange along each axis."""
    levels, work_us = several(random, 2, 7), random.uniform(100.0, 2000.0)
    for _ in trace.loop(At.STEPS, int(random.integers(4, 10))):
        trace.call(several(random, 1, 4), work_us=work_us)
        for _ in trace.loop(At.INNER, levels):
            for _ in trace.loop(At.SOLVE, 3):
                trace.call(2)
    other_loop(random, trace)
    return STEPS


def repeats(random: Random, trace: Trace) -> Truth:
    """Repeat the same steps a few times, as benchmarks do."""
    steps, in_step = several(random, 15, 200), several(random, 2, 8)
    for _ in trace.loop(At.CHUNKS, int(random.integers(2, 10))):
        trace.call(2)
        for _ in trace.loop(At.STEPS, steps):
            trace.call(in_step)
    other_loop(random, trace)
    return STEPS


def own_counts(random: Random, trace: Trace) -> Truth:
    """Go first through as many pieces as a rank has: more calls than the steps make."""
    pieces = several(random, 20, 150) + int(trace.own.integers(1, 20))
    for _ in trace.loop(At.SETUP, pieces):
        trace.call(4)
    for _ in trace.loop(At.STEPS, several(random, 13, 100)):
        trace.call(several(random, 2, 8))
        for _ in trace.loop(At.SOLVE, int(trace.own.integers(1, 6))):
            trace.call()
    return STEPS


def one_of_many(random: Random, trace: Trace) -> Truth:
    """Go through cases, of which one has the steps, with a solver in some programs."""
    number, solver = several(random, 11, 25), bool(random.integers(2))
    large = int(random.integers(number))
    for case in trace.loop(At.CHUNKS, number):
        trace.call(several(random, 1, 20))
        for _ in trace.loop(At.STEPS, several(random, 20, 100) if case == large else 0):
            trace.call(4)
            for _ in trace.loop(At.SOLVE, solver * several(random, 5, 30)):
                trace.call(3)
    other_loop(random, trace)
    return STEPS


def levels_first(random: Random, trace: Trace) -> Truth:
    """Set up a handful of levels, which takes as long as the steps or longer."""
    for _ in trace.loop(At.STEPS, several(random, 13, 100)):
        trace.call(several(random, 2, 8))
    longer, levels = random.uniform(0.8, 3.0), int(random.integers(3, 10))
    for level in trace.loop(At.SETUP, levels):
        of_all = 0.5 ** (level + 1)
        trace.call(8, work_us=1e-3 * trace.now_ns * longer * of_all / 8)
    return STEPS


def workers(random: Random, trace: Trace) -> Truth:
    """Take tasks as they come, after a short loop: no loop is the same on all ranks."""
    for _ in trace.loop(At.STEPS, several(random, 50, 200) + int(trace.own.integers(1, 20))):
        trace.call(several(trace.own, 2, 8))
    trips = several(random, 10, 40)
    short_us = 1e-3 * trace.now_ns * random.uniform(0.002, 0.04) / trips
    for _ in trace.loop(At.SETUP, trips):
        trace.call(work_us=short_us)
    return ()


def unseen_steps(random: Random, trace: Trace) -> Truth:
    """Run steps that consist of nothing but stages, the first after other work."""
    number, longer = several(random, 2, 8), random.uniform(3.0, 10.0)
    for _ in trace.loop(At.STEPS, 1):  # no call separates its iterations from those in it
        for stage in trace.loop(At.INNER, number * several(random, 13, 150)):
            trace.call(work_us=50.0 * (1.0 if stage % number else longer))
    other_loop(random, trace)
    return ((At.INNER, number, 1),)


def ended(random: Random, trace: Trace) -> Truth:
    """Run steps until the program is ended, on some ranks an iteration earlier."""
    for _ in trace.loop(At.STEPS, several(random, 13, 150) - int(trace.own.integers(2))):
        trace.call(several(random, 2, 8))
    return STEPS


def several_places(random: Random, trace: Trace) -> Truth:
    """Call a solver from some places, or from many, as the loop around is unrolled."""
    places = int(random.choice([2, 3, 24]))
    for place in range(places):
        trace.call()
        for _ in trace.loop(At.STEPS, several(random, 13, 60), place=place):
            trace.call(4)
    other_loop(random, trace)
    return ((At.STEPS, 1, places),)


def two_phases(random: Random, trace: Trace) -> Truth:
    """Run two loops of a program one after the other, and one that is small beside them."""
    first, second = several(random, 60, 200), several(random, 60, 200)
    for at, trips in ((At.STEPS, first), (At.OTHER, second), (At.SMALL, (first + second) // 16)):
        for _ in trace.loop(at, max(trips, 11)):
            trace.call(4)
    return ((At.STEPS, 1, 1), (At.OTHER, 1, 1))


PROGRAMS: dict[str, Callable[[Random, Trace], Truth]] = {
    each.__name__.replace("_", " "): each
    for each in (
        time_steps,
        chunks,
        stages,
        few_steps,
        few_solves,
        cycles,
        repeats,
        own_counts,
        one_of_many,
        levels_first,
        workers,
        unseen_steps,
        ended,
        several_places,
        two_phases,
    )
}


def case_of(program: Callable[[Random, Trace], Truth], seed: int) -> Case:
    """Return the case of a drawn program."""
    truth: Truth = ()
    ranks = []
    for rank in range(RANKS):
        trace = Trace(np.random.default_rng((seed, rank, 1)))
        truth = program(np.random.default_rng(seed), trace)
        calls, loops = trace.result()
        signatures = signatures_of(loops, lambda frame: (0, frame % PLACE))
        ranks.append((calls, loops, signatures, trace.now_ns * 1e-9))
    slack = int(program is ended)

    def case() -> Scores:
        seen = [
            summaries_of(loops, signatures, calls, seconds, choice.MIN_SHARE)
            for calls, loops, signatures, seconds in ranks
        ]
        found = tuple(map(described, phases_of(choose(candidates_of(seen, slack)))))
        return {
            "wrong first": 100.0 * bool(found and found[0] not in truth),
            "lost": 100.0 * (not set(truth) <= set(found)),
            "too many": 100.0 * (len(found) > 2) if program is two_phases else np.nan,
        }

    return case


def described(chosen: Chosen) -> tuple[int, int, int]:
    """Return a chosen loop as the truth has it."""
    return chosen.parts[0][0][-1][1], chosen.every, len(chosen.parts)


def always(_: Any) -> bool:
    """Ask nothing."""
    return True


def never(*_: Any) -> bool:
    """Ask nothing, and say no."""
    return False


def as_many(loop: Candidate) -> float:
    """Count iterations, however they share the calls."""
    return loop.iterations if loop.iterates and loop.equal else 0.0


def constant(loop: Candidate) -> bool:
    """Tell whether a loop has the same number of iterations each time, as it is."""
    return min(rank.constant for rank in loop.ranks) >= nearly_all


def all_calls(loop: Loop, calls_before: NDArray[np.uint32]) -> int:
    """Count the calls in a loop with those of MPI-IO."""
    return calls_inside(loop, np.arange(calls_before.size, dtype=np.uint32))


def each_for_itself(found: Any, _: Any) -> Any:
    """Take one loop that is called from two places for two."""
    return found


def as_often(found: Any, candidates: Any) -> Any:
    """Take a loop of few iterations for one that iterates often."""
    return [replace(each, few=False) for each in merged(found, candidates)]


def no_signature(loop: Loop, _: ContextCalls) -> Any:
    """Find no loop that is hidden."""
    return np.zeros(0, np.bool_)


merged, nearly_all = choice._merged, choice.NEARLY_ALL
RULES = (
    Mechanism(name="outermost: 32 iterations are enough", patches=((choice, "ENOUGH", NEVER),)),
    Mechanism(name="10 are, and those in it are not asked", patches=((choice, "ENOUGH", 10),)),
    Mechanism(
        name="iterations that share the calls",
        patches=((Candidate, "sharing", property(as_many)),),
    ),
    Mechanism(name="4 to 9 iterations, marked as few", patches=((choice, "MIN_OF_FEW", NEVER),)),
    Mechanism(
        name="few come after those that iterate often", patches=((choice, "_merged", as_often),)
    ),
    Mechanism(name="few give way to what is in them", patches=((choice, "_is_in_these", never),)),
    Mechanism(
        name="not to axes, fields or messages", patches=((Candidate, "short", property(never)),)
    ),
    Mechanism(name="not to what has little time", patches=((choice, "MIN_INSIDE", 0.0),)),
    Mechanism(
        name="only to most of their calls",
        patches=((choice, "NEARLY_ALL", 0.0), (Candidate, "constant", property(constant))),
    ),
    Mechanism(name="calls without MPI-IO", patches=((choice, "calls_inside", all_calls),)),
    Mechanism(
        name="only to what is constant or long",
        patches=((Candidate, "constant", property(always)),),
    ),
    Mechanism(name="few to what is long", patches=((Candidate, "long", property(never)),)),
    Mechanism(name="equally often on all ranks", patches=((Candidate, "equal", property(always)),)),
    Mechanism(
        name="one less where the program was ended",
        patches=((Candidate, "equal", property(lambda self: self.most == self.iterations)),),
    ),
    Mechanism(
        name="several iterations of an entry", patches=((Candidate, "iterates", property(always)),)
    ),
    Mechanism(
        name="loops hidden by those in them", patches=((choice, "hidden_every", no_signature),)
    ),
    Mechanism(
        name="one loop, called from several places", patches=((choice, "_merged", each_for_itself),)
    ),
    Mechanism(name="loops of at least 5 % of the time", patches=((choice, "MIN_SHARE", 0.0),)),
    Mechanism(name="phases of at least 10 %", patches=((choice, "MIN_PHASE", 0.0),)),
)


def main() -> None:
    """Print the table, and which programs are mistaken."""
    cases = {
        name: [case_of(program, 1000 * number + seed) for seed in range(DRAWS)]
        for number, (name, program) in enumerate(PROGRAMS.items())
    }
    for name, some in cases.items():
        print_table(f"Loops: {name}", some, ())
    print_table("Loops", [each for some in cases.values() for each in some], RULES)


if __name__ == "__main__":
    main()
