"""When does a job stop before its limit? Jobs that are replayed on series of iteration times.

    python -m benchmarks.time_left [--jobs 1000] [RUN.h5 ...]

A job has a limit that is drawn, learns from its own iterations only, and asks after each whether to
stop. Being told takes one iteration more (a program that is sent a signal looks at its flag at the
end of the iteration that has begun); then it writes a checkpoint of three iterations. *Overruns*:
jobs that their limit ended. *Unused*: what was left of the limit at the end, beyond what a job
leaves that knows the future.

Of a run file, the iterations of the slowest rank become jobs of 2,500: stretches of 40 in random
order.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.synthetic.iteration_times import HELD_OUT, LAWS, draw
from numpy.typing import NDArray

import hindmost
from hindmost.models.ahead.next_iterations import NextIterations

Times = NDArray[np.float64]
LAG = 1
CHECKPOINT = 3.0
JOBS_PER_SERIES = 20


@dataclass(slots=True)
class Score:
    """How jobs ended under one rule."""

    jobs: int = 0
    overruns: int = 0
    unused: list[float] = field(default_factory=list)


def bounds(times: Times, lag: int) -> Times:
    """Return after each iteration what the next take at most, in seconds, shape (iteration,)."""
    iterations, needed = NextIterations(), np.empty(times.size)
    for place, time_s in enumerate(times):
        iterations.observe(float(time_s))
        needed[place] = iterations.bound_s(1 + lag)
    return needed


def last_value(times: Times, lag: int) -> Times:
    """Return so many times the last iteration."""
    return (1 + lag) * times


def largest_so_far(times: Times, lag: int) -> Times:
    """Return so many times the longest iteration."""
    return np.asarray((1 + lag) * np.maximum.accumulate(times))


LEARNT: dict[str, Callable[[Times, int], Times]] = {
    "hindmost": bounds,
    "last value": last_value,
    "largest so far": largest_so_far,
}
FIXED = {"90 % of the limit": 0.1, "95 % of the limit": 0.05, "5 minutes of 2 h": 5 / 120}


def replay(series: Callable[[], Times], jobs: int, random: np.random.Generator) -> dict[str, Score]:
    """Return the scores of all rules on the same jobs."""
    scores = {rule: Score() for rule in (*LEARNT, *FIXED)}
    for _ in range(math.ceil(jobs / JOBS_PER_SERIES)):
        times = series()
        ends, usual = np.cumsum(times), float(np.median(times))
        needed = {rule: bound(times, LAG) for rule, bound in LEARNT.items()}
        for _ in range(JOBS_PER_SERIES):
            limit_s = ends[int(times.size * random.uniform(0.3, 0.92))] * random.uniform(1.0, 1.02)
            # Checkpoints differ by 5 %; the job knows four, and keeps the longest and 5 % free.
            costs = CHECKPOINT * usual * np.exp(0.05 * random.standard_normal(5))
            reserved_s = 1.05 * float(costs[:4].max())
            last_possible = int(np.searchsorted(ends, limit_s - costs[4], side="right")) - 1
            for rule, score in scores.items():
                if rule in FIXED:
                    stops = limit_s - ends <= FIXED[rule] * limit_s
                else:
                    stops = limit_s - ends - reserved_s < needed[rule]
                stop = int(np.argmax(stops)) if stops.any() else times.size - 1
                end_s = ends[min(stop + LAG, times.size - 1)] + costs[4]
                score.jobs += 1
                score.overruns += int(end_s > limit_s)
                if end_s <= limit_s:
                    score.unused.append((ends[last_possible] + costs[4] - end_s) / limit_s)
    return scores


def shuffled(times: Times, count: int, random: np.random.Generator, stretch: int = 40) -> Times:
    """Return so many iterations made of stretches of these, in random order."""
    begins = random.integers(0, max(1, times.size - stretch), -(-count // stretch))
    rows = np.concatenate([times[begin : begin + stretch] for begin in begins])
    return np.asarray(rows[:count])


def sources(
    runs: list[Path], random: np.random.Generator
) -> Iterator[tuple[str, str, Callable[[], Times]]]:
    """Yield group, name, and what draws a series of each."""
    for group, laws in (("known laws", LAWS), ("laws held out", HELD_OUT)):
        for name, law in laws.items():
            yield group, name, partial(draw, law, 700, random)
    for path in runs:
        slowest = np.asarray(hindmost.open(path).durations).max(axis=1)
        if slowest.size >= 50:
            yield "recorded", path.stem, partial(shuffled, slowest, 2500, random)


def main() -> None:
    """Print overruns and unused time by law and rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1000, help="by law")
    parser.add_argument("runs", type=Path, nargs="*", help="run files")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    totals: dict[str, dict[str, list[Score]]] = {}
    print("overruns of", options.jobs, "jobs / unused in %")
    print(f"{'':24}" + "".join(f"{rule:>20}" for rule in (*LEARNT, *FIXED)))
    for group, name, series in sources(options.runs, random):
        scores = replay(series, options.jobs, random)
        for rule, score in scores.items():
            totals.setdefault(group, {}).setdefault(rule, []).append(score)
        print(row(name, [[score] for score in scores.values()]))
    for group, by_rule in totals.items():
        print(row(f"all {group}", list(by_rule.values())))


def row(name: str, scores: list[list[Score]]) -> str:
    """Return a line of the table; laws count alike."""
    cells = []
    for those in scores:
        unused = [100.0 * float(np.mean(score.unused)) for score in those if score.unused]
        share = f"{np.mean(unused):.2f}" if unused else "-"
        cells.append(f"{sum(score.overruns for score in those)} / {share}")
    return f"{name:24}" + "".join(f"{cell:>20}" for cell in cells)


if __name__ == "__main__":
    main()
