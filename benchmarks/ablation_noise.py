"""The mechanisms of the noise models, each switched off alone.

Run by ``make ablation`` (PART=noise, about two minutes), with the run files of ``make demo`` if
there are any. The truth is drawn: solves of ranks that wait for each other, detours in the
iterations of a rank or of recorded ranks, ranks of one law. All rows of a table
have the same draws. A row gives what changes without the mechanism, with the standard error of the
paired differences.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.ablation import Case, Mechanism, Scores, print_table, say
from benchmarks.synthetic.solves import synthetic_solve
from numpy.typing import NDArray
from scipy import signal

from hindmost.analysis.runs.tallies import solve_times
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import open_run
from hindmost.models.noise import detours, kolmogorov, maxplus
from hindmost.models.noise.detours import find_detours
from hindmost.models.noise.kolmogorov import compare_ranks
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.times import SolveTimes

Times = NDArray[np.float64]
RESTART = 30
PREEMPTED_S = 1e-3
"""Recorded iterations that are longer by more are no ground for known detours."""


def at_once(excess_s: Times, least_s: float) -> Any:
    """Find detours with the jitter of all iterations, whatever share of them has a detour."""
    with patch.object(detours, "MIN_CLEAN", 1.0):
        return LAWS_IN(excess_s, least_s)


LAWS_IN = detours.laws_in
OF_DETOURS = (
    Mechanism(
        name="jitter of iterations without a detour", patches=((detours, "laws_in", at_once),)
    ),
    Mechanism(name="families of one length", patches=((detours, "PEAKS", 0),)),
    Mechanism(name="more than one family", patches=((detours, "WORTH", math.inf),)),
    Mechanism(
        name="work of the place in the cycle",
        patches=((detours, "MIN_OF_PLACE", 10**9),),
    ),
    Mechanism(name="short tails are jitter", patches=((detours, "NEGLIGIBLE", 0.0),)),
)
OF_RANKS = (
    Mechanism(
        name="effective sample size",
        patches=((kolmogorov, "correlation_time", lambda _: 1.0),),
    ),
)
OF_MAXPLUS = (
    Mechanism(
        name="what reductions cost, from the first half",
        patches=((maxplus, "least_wait_s", lambda *_: 0.0),),
    ),
    Mechanism(
        name="what is missed, from the first half",
        patches=((maxplus, "FEWEST_STRETCHES", 10**9), (maxplus, "FEWEST_CYCLES", 10**9)),
    ),
    Mechanism(
        name="wider quantile where reductions lag",
        patches=((maxplus, "SKEWED_QUANTILE", maxplus.QUANTILE),),
    ),
)


# Cases with known truth.

LAWS: dict[str, tuple[str, float, float]] = {
    "exponential, all": ("exponential", 50e-6, 1.0),
    "exponential, often": ("exponential", 100e-6, 0.1),
    "exponential, rare": ("exponential", 300e-6, 0.03),
    "one length": ("fixed", 300e-6, 0.05),
}


def detours_found(work_s: Times, place: NDArray[Any], seed: int) -> Iterator[Case]:
    """Yield cases of known detours in some iterations of a rank."""
    for number, (kind, mean_s, share) in enumerate(LAWS.values()):
        random = np.random.default_rng((seed, number))
        drawn = random.exponential(mean_s, work_s.size) if kind == "exponential" else mean_s
        added = np.where(random.random(work_s.size) < share, drawn, 0.0)
        took = work_s + added
        start = np.cumsum(took) - took

        def case(
            took: Times = took, start: Times = start, added: Times = added, kind: str = kind
        ) -> Scores:
            found = find_detours(took, start, place)
            assert found is not None
            count, mean = np.count_nonzero(added), float(added[added > 0.0].mean())
            nearest = min(
                found.families,
                key=lambda each: abs(np.log(each.mean_s / mean)) + abs(np.log(each.count / count)),
                default=None,
            )
            if nearest is None:
                return {"number": 100.0, "length": 100.0, "kind": 100.0}
            return {
                "number": min(100.0 * abs(nearest.count / count - 1.0), 400.0),
                "length": min(100.0 * abs(nearest.mean_s / mean - 1.0), 400.0),
                "kind": 100.0 * (nearest.kind != kind),
            }

        yield case


def synthetic_detours() -> Iterator[Case]:
    """Yield cases on drawn jitter, normal and skewed, with work that grows over a cycle."""
    place = np.arange(3000) % RESTART
    for seed in range(12):
        random = np.random.default_rng((1, seed))
        skewed = random.lognormal(0.0, 0.5, 3000) * 1e-6
        jitter = skewed if seed % 2 else random.normal(0.0, 1e-6, 3000)
        yield from detours_found(100e-6 + 1e-6 * place + jitter, place, seed)


def recorded_detours(paths: Iterable[Path]) -> Iterator[Case]:
    """Yield cases on the local work of recorded ranks."""
    for seed, path in enumerate(paths):
        run = open_run(path)
        regular = np.flatnonzero(run.kind == BodyKind.REGULAR)
        work = run.work_in(slice(0, run.bodies))[regular]
        place = run.position[regular]
        for column in range(run.columns):
            excess, _ = detours.excess_over_place(work[:, column], place)
            kept = excess < PREEMPTED_S
            yield from detours_found(work[kept, column], place[kept], 100 * seed + column)


def correlated(phi: float, size: int, seed: int) -> Times:
    """Return an AR(1) series of variance 1."""
    noise = np.random.default_rng(seed).standard_normal(size + 200)
    return np.asarray(np.sqrt(1.0 - phi**2) * signal.lfilter([1.0], [1.0, -phi], noise)[200:])


def pairs_of_ranks() -> Iterator[Case]:
    """Yield pairs of ranks of one law, and of laws that are half a deviation apart."""
    for seed in range(150):
        phi = (0.0, 0.5, 0.8)[seed % 3]
        both = np.stack([correlated(phi, 2000, 2 * seed + k) for k in (0, 1)], axis=1)

        def case(both: Times = both) -> Scores:
            apart = both + np.array([0.0, 0.5])
            return {
                "told apart, one law": 100.0 * compare_ranks(both).rejected_corrected,
                "not told apart, two": 100.0 * (1.0 - compare_ranks(apart).rejected_corrected),
            }

        yield case


def solves(paths: Iterable[Path]) -> Iterator[Case]:
    """Yield drawn and recorded solves for max-plus."""
    for seed in range(300):
        random = np.random.default_rng((3, seed))
        ranks, lag = (2, 8, 32)[seed % 3], seed % 2
        work = 1e-4 + random.gamma(4.0, 2e-6, (900, ranks))
        latency = random.exponential(1e-5, 900)
        yield judged(synthetic_solve(work, lag=lag, latency_s=latency, restart=RESTART))
    for path in paths:
        yield judged(solve_times(open_run(path)))


def judged(times: SolveTimes) -> Case:
    """Return the case of a solve: errors of max-plus, and whether its interval misses."""

    def case() -> Scores:
        model = fit_both(times)[0]
        found = model.predict()
        return {
            "second half": abs(model.later_error_percent or 0.0),
            "whole": abs(found.error_percent(times.solve_time_s)),
            "outside": 100.0 * (not found.low_s <= times.solve_time_s <= found.high_s),
        }

    return case


def main(paths: list[Path]) -> None:
    """Print all tables."""
    say("What changes without each mechanism, with the standard error of the paired differences.")
    print_table("Detours, drawn jitter", [*synthetic_detours()], OF_DETOURS)
    if paths:
        print_table("Detours added to recorded ranks", [*recorded_detours(paths)], OF_DETOURS)
    print_table("Ranks compared", [*pairs_of_ranks()], OF_RANKS)
    print_table("Max-plus", [*solves(paths)], OF_MAXPLUS)


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
