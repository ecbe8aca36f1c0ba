"""What `show` says of stragglers and of work that grows, each of its rules switched off alone.

Run by ``make ablation`` (PART=runs, about a minute). The truth is drawn. Runs of blocking ranks:
all alike, one rank with more work of its own, or one whose core something else takes, with waiting
for the core that the kernel counts or does not see. Stretches of the code: work that grows or not,
with skewed noise, rare long iterations, slow stretches of the machine, and stretches that only
later iterations have.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ablation import Case, Mechanism, Scores, print_table
from benchmarks.large_file import header, values
from benchmarks.synthetic.solves import synthetic_solve
from numpy.typing import NDArray

from hindmost.analysis.runs import straggler
from hindmost.analysis.runs.finding import WORTH_SAYING
from hindmost.analysis.runs.straggler import costs_of, verdict_of
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks import culprit, growth
from hindmost.models.ranks.culprit import QUICKEST, QuickestWork

Times = NDArray[np.float64]
ITERATIONS, RUNS, GROWN = 300, 60, 1000
BODY_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A run with known truth.

    Attributes
    ----------
    work : float64 array, shape (iteration, rank), seconds
    core_wait : float64 array, shape (rank,), seconds
    latency_s : float
        Of the reduction that ends an iteration.
    rank : int or None
        That with more time outside of MPI.
    own : float
        Share of this that its own work is.
    """

    work: Times
    core_wait: Times
    latency_s: float
    rank: int | None
    own: float


def quiet(random: np.random.Generator) -> Times:
    """Draw ranks with levels and noise of their own: float64, shape (iteration, rank), seconds."""
    ranks = int(random.integers(3, 17))
    levels = 1.0 + 0.01 * random.standard_normal(ranks)
    noise = random.lognormal(0.0, random.uniform(0.01, 0.08), (ITERATIONS, ranks))
    return np.asarray(BODY_S * levels * noise)


def draw(kind: str, seed: int) -> Drawn:
    """Draw a run of one of `KINDS`."""
    random = np.random.default_rng((KINDS.index(kind), seed))
    work = quiet(random)
    ranks = work.shape[1]
    rank = None if kind == "alike" else int(random.integers(ranks))
    mean_s = work.sum(axis=0).mean()
    own_s = taken_s = 0.0
    waited = 0.002 * mean_s * random.random(ranks)
    if kind in ("own work", "own work, busy machine", "both"):
        more = random.uniform(0.08, 0.4)
        own_s = more * mean_s
        work[:, rank] *= 1.0 + more
    if kind in ("core taken", "unseen", "both"):
        taken_s = random.uniform(0.08, 0.4) * mean_s
        work[:, rank] += delays(random, taken_s)
        if kind != "unseen":
            waited[rank] += taken_s * random.uniform(0.95, 1.0)
    if kind == "own work, busy machine":  # whatever takes cores does so on every rank
        for each in range(ranks):
            lost_s = mean_s * random.uniform(0.05, 0.1)
            work[:, each] += delays(random, lost_s)
            waited[each] += lost_s
    own = own_s / (own_s + taken_s) if rank is not None else 0.0
    latency_s = BODY_S * float(np.exp(random.uniform(np.log(0.01), np.log(5.0))))
    return Drawn(work=work, core_wait=waited, latency_s=latency_s, rank=rank, own=own)


def delays(random: np.random.Generator, total_s: float) -> Times:
    """Draw what delays add to the iterations of a rank: to a few, or to nearly all."""
    number = max(int(ITERATIONS * random.uniform(0.02, 0.9)), 1)
    added = np.zeros(ITERATIONS)
    struck = random.choice(ITERATIONS, number, replace=False)
    added[struck] = random.exponential(1.0, number)
    return np.asarray(added * (total_s / added.sum()))


KINDS = ("alike", "own work", "own work, busy machine", "core taken", "unseen", "both")


def look(folder: Path, drawn: Drawn) -> Run:
    """Write a run and read it."""
    bodies, ranks = drawn.work.shape
    solve = synthetic_solve(drawn.work, latency_s=drawn.latency_s, restart=bodies)
    duration = np.asarray(solve.durations, np.float64)
    phases = np.zeros((bodies, ranks, len(PHASES)))
    phases[:, :, PHASES.index("local")] = drawn.work
    phases[:, :, PHASES.index("wait")] = duration - drawn.work
    lead_s = np.full(ranks, 1e-5)
    contents = values(bodies, ranks) | {
        "duration": duration,
        "phase_duration": phases,
        "start": np.cumsum(duration, axis=0) - duration + lead_s,
        "solve_time": 2.0 * lead_s + duration.sum(axis=0),
        "core_wait": drawn.core_wait,
    }
    said: dict[str, Any] = {"attached": {"name": "drawn"}, "mpi_seen": True}
    run = open_run(write_whole(folder, replace(header(bodies, ranks), spec=said), contents))
    costs_of(run)
    return run


def stragglers(folder: Path) -> Iterator[Case]:
    """Yield runs: who is said to be the straggler, and whether that is doubted."""
    for kind in KINDS:
        for seed in range(RUNS):
            drawn = draw(kind, seed)
            run = look(folder, drawn)

            def case(run: Run = run, drawn: Drawn = drawn) -> Scores:
                find: Any = verdict_of
                found = find.__wrapped__(run).culprit  # once for each mechanism
                named = None if found is None else found.rank
                sure = found is not None and found.sure
                own, wrong = drawn.own > 0.0, named != drawn.rank
                return {
                    "named in vain": np.nan if drawn.rank is not None else 100.0 * sure,
                    "missed": 100.0 * wrong if own else np.nan,
                    "doubted, own work": 100.0 * (not wrong and not sure) if own else np.nan,
                    "believed, no work": np.nan if own or drawn.rank is None else 100.0 * sure,
                }

            yield case


def anything(quickest: QuickestWork, least: float) -> NDArray[np.bool_]:
    """Believe any rank."""
    return np.ones(quickest.whole_s.size, np.bool_)


def of_any_cores(*found: Any, **others: Any) -> culprit.Culprit | None:
    """Find a culprit without the waiting for cores."""
    return FIND(*found[:4], **others)


FIND = culprit.find_culprit
OF_STRAGGLERS = (
    Mechanism(name="1.05 times the others", patches=((culprit, "MATTERS", 0.0),)),
    Mechanism(name="1 % of the time", patches=((culprit, "COSTS", 0.0),)),
    Mechanism(name="quickest iterations", patches=((QuickestWork, "shows_more", anything),)),
    Mechanism(name="in most parts of the run", patches=((culprit, "MIN_PARTS_SHARE", 0.0),)),
    Mechanism(name="waiting for a core", patches=((straggler, "find_culprit", of_any_cores),)),
)


def growing() -> Iterator[Case]:
    """Yield the work of a stretch: whether it is said to grow."""
    for seed in range(GROWN):
        random = np.random.default_rng((9, seed))
        size = int(random.integers(60, 1000))
        noise = random.lognormal(0.0, random.uniform(0.01, 0.4), size)
        noise *= np.where(random.random(size) < 0.03, random.uniform(2.0, 10.0), 1.0)
        grown = 1.0 + random.uniform(0.5, 3.0) * np.linspace(0.0, 1.0, size)
        slow, begin = np.ones(size), int(random.integers(size))
        slow[begin : begin + size // 5] = random.uniform(1.1, 1.6)
        later = np.where(np.arange(size) < random.uniform(0.2, 0.6) * size, 0.0, 1.0)

        def case(
            steady: Times = BODY_S * noise * slow,
            more: Times = BODY_S * noise * grown,
            later: Times = BODY_S * noise * later,
        ) -> Scores:
            return {
                "in vain": 100.0 * said_to_grow(steady),
                "in vain, later only": 100.0 * said_to_grow(later),
                "missed": 100.0 * (not said_to_grow(more)),
            }

        yield case


def said_to_grow(work: Times) -> bool:
    """Tell whether `show` says that work of a stretch grows, in a run of twice its time."""
    found = growth.WorkGrowth.of(work[:, None], np.arange(work.size))
    least_s = WORTH_SAYING * 2.0 * float(work.sum())
    return work.size * float(found.more_s[0]) >= least_s


OF_GROWTH = (
    Mechanism(name="above most of the earlier ones", patches=((growth, "MIDDLE", QUICKEST),)),
    Mechanism(name="1 % of the time", patches=((sys.modules[__name__], "WORTH_SAYING", 1e-9),)),
)


def main() -> None:
    """Print both tables."""
    with tempfile.TemporaryDirectory(prefix="hindmost-") as folder:
        print_table("Stragglers", [*stragglers(Path(folder))], OF_STRAGGLERS)
    print_table("Growth of work", [*growing()], OF_GROWTH)


if __name__ == "__main__":
    main()
