"""How often 90 % intervals hold what they should, in simulation with known truth.

Run by ``make validate``. Each model is fitted to one draw and held against another of the same
law, or, where it explains, against its own run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from benchmarks.synthetic.solves import draw_work, synthetic_solve
from scipy import stats

from hindmost.models.laws.law import law_of
from hindmost.models.noise.cycle_places import fit_places
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.stationary import fit_redrawn_uniform, fit_stationary
from hindmost.models.noise.times import SolveTimes
from hindmost.models.results import FittedModel

RUNS = 400
ITERATIONS = 900
BODY = law_of("johnsonsu", -1.5, 1.8, 1e-4, 1e-5)
LEAST = law_of("johnsonsu", -1.2, 1.6, 4e-4, 3e-5)
SPAN = law_of("johnsonsu", -2.0, 1.9, 6e-5, 2e-5)
EARLIER = 5


def independent(ranks: int, seed: int) -> SolveTimes:
    """Return a solve whose bodies are independent: what equation 3 assumes."""
    work = draw_work(BODY.at_normal, iterations=ITERATIONS, ranks=ranks, seed=seed)
    slowest = float(work.max(axis=1).sum())
    return replace(synthetic_solve(work), durations=work, solve_time_s=slowest)


def redrawn(seed: int) -> SolveTimes:
    """Return a solve with the uniform laws of section 6."""
    random = np.random.default_rng(seed)
    least = LEAST.at_normal(random.standard_normal((ITERATIONS, 1)))
    span = SPAN.at_normal(random.standard_normal((ITERATIONS, 1)))
    work = least + span * random.random((ITERATIONS, 500))
    return replace(synthetic_solve(work), durations=work)


def waiting(seed: int, lag: int) -> SolveTimes:
    """Return a solve on 8 ranks whose reductions take exponential times."""
    work = draw_work(BODY.at_normal, iterations=ITERATIONS, ranks=8, seed=seed)
    latency = np.random.default_rng(seed).exponential(1e-5, ITERATIONS)
    return synthetic_solve(work, latency_s=latency, lag=lag)


def drifting(seed: int) -> list[SolveTimes]:
    """Return solves that are 5 % apart as wholes."""
    random = np.random.default_rng(seed)
    solves = []
    for factor in random.lognormal(0.0, 0.05, EARLIER + 1):
        one = independent(2, int(random.integers(1 << 30)))
        solves.append(
            replace(
                one,
                durations=one.durations[:] * factor,
                solve_time_s=float((one.durations[:] * factor).mean(axis=1).sum()),
            )
        )
    return solves


def of_another(
    fit: Callable[[SolveTimes], FittedModel], draw: Callable[[int], SolveTimes], run: int
) -> bool:
    """Tell whether the interval from one draw holds the time of another."""
    prediction = fit(draw(2 * run)).predict()
    return prediction.low_s <= draw(2 * run + 1).solve_time_s <= prediction.high_s


def of_itself(lag: int, run: int) -> bool:
    """Tell whether the interval of max-plus holds the time of the run that it explains."""
    times = waiting(run, lag)
    prediction = fit_both(times)[0].predict()
    return prediction.low_s <= times.solve_time_s <= prediction.high_s


def of_the_last(run: int) -> bool:
    """Tell whether the interval from five solves holds the time of a sixth."""
    *earlier, later = drifting(run)
    prediction = fit_places(earlier).predict()
    return prediction.low_s <= later.solve_time_s <= prediction.high_s


CASES: dict[str, Callable[[int], bool]] = {
    "stationary Johnson SU, 1 rank": lambda run: of_another(
        fit_stationary, lambda seed: independent(1, seed), run
    ),
    "stationary Johnson SU, 8 ranks": lambda run: of_another(
        fit_stationary, lambda seed: independent(8, seed), run
    ),
    "stationary Johnson SU, 64 ranks": lambda run: of_another(
        fit_stationary, lambda seed: independent(64, seed), run
    ),
    "redrawn uniforms, 500 ranks": lambda run: of_another(fit_redrawn_uniform, redrawn, run),
    "max-plus, blocking, its own run": lambda run: of_itself(0, run),
    "max-plus, lag 1, its own run": lambda run: of_itself(1, run),
    "place in cycle, from 5 solves 5 % apart": of_the_last,
}


def main() -> None:
    """Print a line a case."""
    print("| 90 % interval of | held | 95 % interval of that |")  # noqa: T201
    print("|---|---|---|")  # noqa: T201
    for name, held in CASES.items():
        count = sum(held(run) for run in range(RUNS))
        low, high = stats.binomtest(count, RUNS).proportion_ci(0.95)
        print(  # noqa: T201
            f"| {name} | {100 * count / RUNS:.1f} % of {RUNS} | {100 * low:.1f} to "
            f"{100 * high:.1f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
