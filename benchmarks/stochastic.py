"""What fitting laws to 8192 ranks times 5000 iterations takes, beside what scipy would take.

Run by ``make bench-stochastic``. The matrix is synthetic and seeded: Johnson SU bodies of which one
in ten thousand is held up by a detour. Times are told on the wall and, in brackets, of all cores
together: on a machine that others use, the latter say more.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hindmost.models.laws.families import fit_families
from hindmost.models.laws.law import fit_johnsonsu, fit_nct, log_likelihood
from hindmost.models.laws.sample import Sample
from hindmost.models.noise.fit import fit_models
from hindmost.models.noise.times import SolveTimes
from hindmost.records import to_document

ITERATIONS, RANKS = 5000, 8192
SUBSAMPLE = 200_000
"""Values of which scipy's density is timed, to be scaled up to all."""
Result = TypeVar("Result")


def matrix() -> NDArray[np.float64]:
    """Return body times in seconds, shape (iteration, rank)."""
    random = np.random.default_rng(8192)
    times = np.empty((ITERATIONS, RANKS))
    for row in times:
        random.standard_normal(out=row)
        row += 2.0
        row /= 1.3
        np.sinh(row, out=row)
        row *= 2e-5
        row += 4e-4
        late = random.random(RANKS) < 1e-4
        row[late] += random.exponential(1e-3, np.count_nonzero(late))
    return times


def timed(what: str, task: Callable[[], Result]) -> tuple[Result, float]:
    """Print what a task takes; return its result and its seconds on the wall."""
    wall, cores = time.perf_counter(), time.process_time()
    result = task()
    wall, cores = time.perf_counter() - wall, time.process_time() - cores
    say(f"{what:44}{wall:9.2f} s ({cores:.2f} s)   {peak_gb():.2f} GB at most so far")
    return result, wall


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def peak_gb() -> float:
    """Return the largest memory that the process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def one_evaluation(family: Any, law: Any, values: NDArray[np.float64], size: int) -> float:
    """Return the seconds of one likelihood evaluation by scipy, scaled up to so many values."""
    shape = [value for name, value in to_document(law).items() if name != "family"]
    began = time.perf_counter()
    family.logpdf(values, *shape).mean()
    return (time.perf_counter() - began) * size / values.size


def complete(durations: NDArray[np.float64]) -> None:
    """Time all models of a solve with these bodies, of which a tenth is waiting."""
    none = np.empty(0, np.int32)
    times = SolveTimes(
        durations=durations,
        work=0.9 * durations,
        fill=np.zeros(ITERATIONS, bool),
        position=(np.arange(ITERATIONS) % 30).astype(np.int32),
        between_s=1e-3,
        edge_source=none,
        edge_target=none,
        synchronisation="blocking",
        lag=0,
        solve_time_s=float(durations.max(axis=1).sum()),
    )
    _, quick = timed(
        "all models but the best of families", lambda: fit_models(times, families=False)
    )
    _, whole = timed("the complete table", lambda: fit_models(times))
    say(f"{'goals: 40 s, and 10 s without non-central t':44}{whole:9.2f} s, {quick:.2f} s with it")


def main() -> None:
    """Time the fits."""
    times = matrix()
    say(f"{ITERATIONS} x {RANKS} float64 values, {times.nbytes / 2**30:.2f} GB")
    Sample.of(times[:20])  # compiles
    sample, gathering = timed("Sample", lambda: Sample.of(times))
    johnsonsu, fitting = timed("Johnson SU on it", lambda: fit_johnsonsu(sample))
    say(f"{'Johnson SU in all':44}{gathering + fitting:9.2f} s   goal 2 s")
    nct, _ = timed("non-central t on it", lambda: fit_nct(sample))
    best, _ = timed("all families on it", lambda: fit_families(sample))
    few = times.ravel()[:: times.size // SUBSAMPLE][:SUBSAMPLE]
    for law, family in ((johnsonsu, stats.johnsonsu), (nct, stats.nct)):
        took = one_evaluation(family, law, few, times.size)
        say(
            f"{f'scipy, one likelihood of {law.name}':44}{took:9.2f} s   scaled up from "
            f"{few.size} values; a fit takes 300 to 800 of them"
        )
    everywhere = np.mean([johnsonsu.log_pdf(rows).mean() for rows in np.array_split(times, 100)])
    error = log_likelihood(johnsonsu, sample) - everywhere
    say(f"{'likelihood on bins less that of all values':44}{error:9.1e} a value")
    complete(times)
    say(f"least squared error: {best[0].law.name}; of {len(best)} families")


if __name__ == "__main__":
    main()
