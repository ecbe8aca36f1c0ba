"""The metrics of a run file.

Of a run that kept full records of some ranks only, whole solves and phases are of all ranks, by
what the file has of each. Statistics of single iterations are of the kept ranks, which are those
that stand out and no sample of all: `kept_only` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.all_ranks import profiles_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import BLOCK_BYTES, Run
from hindmost.text import choose


def iteration_times(run: Run, phase: int | None = None) -> Iterator[NDArray[np.float64]]:
    """Yield the times of the regular bodies of some ranks at a time, shape (iteration, rank).

    All bodies, if none is regular.
    """
    regular = run.kind == BodyKind.REGULAR
    rows = np.flatnonzero(regular) if regular.any() else np.arange(run.bodies)
    if not rows.size:
        raise DataError(f"{run.path} contains no iteration, so there is no iteration time.")
    ranks = run.columns
    width = max(1, BLOCK_BYTES // (8 * run.bodies))
    with run.reading() as file:
        for first in range(0, ranks, width):
            some = slice(first, min(first + width, ranks))
            if phase is None:
                block = file["duration"][:, some]
            else:
                block = file["phase_duration"][:, some, phase]
            yield np.asarray(block[rows], np.float64)


def _slowest(
    run: Run, over: Callable[[NDArray[np.float64]], NDArray[np.float64]], phase: int | None = None
) -> float:
    """Return the largest value over the ranks of a statistic over iterations."""
    return max(float(np.max(over(times))) for times in iteration_times(run, phase))


def _median(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.median(times, axis=0))


def _mean(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(times.mean(axis=0))


def time_to_tolerance(run: Run) -> float:
    """Return the time of a solve that reached its tolerance, of the slowest rank.

    Raises
    ------
    DataError
        No tolerance was asked for, or it was not reached.
    """
    ending = Ending.of(run.header)
    if ending is None or not ending.to_tolerance:
        raise DataError(
            f"{run.path} has no time to tolerance: the run had no tolerance"
            f"{remedy(Need.TOLERANCE, run, before='; ')}."
        )
    if not ending.reached:
        raise DataError(f"{run.path} has no time to tolerance: {ending.shortfall}.")
    return run.solve_time_s


METRICS: dict[str, Callable[[Run], float]] = {
    # The median time of the regular iterations, and the time of the whole solve, of the slowest
    # rank; the latter of a solve that reached its tolerance.
    "median-iteration": lambda run: _slowest(run, _median),
    "solve-time": lambda run: run.solve_time_s,
    "time-to-tolerance": time_to_tolerance,
}
"""Metrics by name, in addition to every phase of a run."""

DEFAULT_METRIC = "median-iteration"


def measure(run: Run, name: str) -> float:
    """Return a metric of a run in seconds.

    A statistic over the iterations of each rank comes first, and then the rank where it is
    largest: ranks of pipelined solvers are not in step, so the maximum of each iteration would
    count their jitter twice. A phase is its mean over the regular iterations, so that a rare wait
    is in it; of a reduced run, over all bodies.

    Raises
    ------
    UsageError
        The run has neither a metric nor a phase of that name.
    """
    if name in METRICS:
        return METRICS[name](run)
    if name in run.phases:
        if run.reduced:
            return float(profile_means(run)[:, run.phases.index(name)].max())
        return _slowest(run, _mean, run.phases.index(name))
    choices = [*METRICS, *run.phases]
    raise UsageError(f"No metric '{name}' in {run.path}; {choose(choices)}.")


def profile_means(run: Run) -> NDArray[np.float64]:
    """Return the mean time of every phase in a body, of every rank of a reduced run.

    Returns
    -------
    float64 array, shape (rank, phase), seconds
    """
    if not run.bodies:
        raise DataError(f"{run.path} contains no iteration, so there is no iteration time.")
    return np.asarray(profiles_of(run).sum(axis=0) / run.bodies)


def kept_only(run: Run, name: str) -> str:
    """Say that a metric of a run is not of all ranks; empty if it is."""
    if not run.reduced or name != DEFAULT_METRIC:
        return ""
    return (
        f"{run.path}: {name} covers the {run.columns} of {run.header.ranks} ranks with full "
        "records; they were kept because they stand out, so another rank may be slower. "
        f"solve-time and the phases ({', '.join(run.phases)}) cover all ranks."
    )
