"""What a run file is measured by, and which parameters it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import BLOCK_BYTES, Run

TRIMMED = 0.05
"""Share of the iterations that the robust mean leaves out at either end."""


def iteration_times(run: Run, phase: int | None = None) -> Iterator[NDArray[np.float64]]:
    """Yield the times of the regular bodies of some ranks at a time, shape (iteration, rank).

    All bodies, if none is regular.
    """
    regular = run.kind == BodyKind.REGULAR
    rows = np.flatnonzero(regular) if regular.any() else np.arange(run.bodies)
    if not rows.size:
        raise DataError(f"{run.path} holds no iteration, so it has no time of one.")
    ranks = run.columns
    width = max(1, BLOCK_BYTES // (8 * run.bodies))
    with h5py.File(run.path, "r") as file:
        for first in range(0, ranks, width):
            some = slice(first, min(first + width, ranks))
            if phase is None:
                block = file["duration"][:, some]
            else:
                block = file["phase_duration"][:, some, phase]
            yield np.asarray(block[rows], np.float64)


def trimmed_mean(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of every column without its lowest and highest 5 %.

    Parameters
    ----------
    times : float64 array, shape (iteration, rank), seconds

    Returns
    -------
    float64 array, shape (rank,), seconds
    """
    cut = int(TRIMMED * len(times))
    ordered = np.sort(times, axis=0)
    return np.asarray(ordered[cut : len(times) - cut].mean(axis=0))


def _slowest(
    run: Run, over: Callable[[NDArray[np.float64]], NDArray[np.float64]], phase: int | None = None
) -> float:
    """Return a statistic over the iterations of every rank, of the rank where it is largest."""
    return max(float(np.max(over(times))) for times in iteration_times(run, phase))


def _median(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.median(times, axis=0))


def _mean(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(times.mean(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMetric:
    """A number of seconds that a run is measured by."""

    name: str
    meaning: str
    of: Callable[[Run], float]


METRICS = (
    RunMetric(
        name="median-iteration",
        meaning="median time of the regular iterations, of the slowest rank",
        of=lambda run: _slowest(run, _median),
    ),
    RunMetric(
        name="mean-iteration",
        meaning="mean time of the regular iterations without the lowest and highest 5 %, of the "
        "slowest rank",
        of=lambda run: _slowest(run, trimmed_mean),
    ),
    RunMetric(
        name="solve-time",
        meaning="time of the whole solve, of the slowest rank",
        of=lambda run: run.solve_time_s,
    ),
)
"""Besides these, every phase of a run by its name."""

DEFAULT_METRIC = "median-iteration"


def measure(run: Run, name: str) -> float:
    """Return a metric of a run in seconds.

    A statistic is taken over the iterations of each rank first, and then the rank where it is
    largest: ranks of pipelined solvers are not in step, so the maximum of each iteration would
    count their jitter twice. A phase is its mean over the regular iterations, so that a rare wait
    is in it.

    Raises
    ------
    UsageError
        The run has neither a metric nor a phase of that name.
    """
    for metric in METRICS:
        if metric.name == name:
            return metric.of(run)
    if name in run.phases:
        return _slowest(run, _mean, run.phases.index(name))
    choices = ", ".join([*(metric.name for metric in METRICS), *run.phases])
    raise UsageError(f"No metric '{name}' in {run.path}; choose from: {choices}.")


PARAMETERS: dict[str, Callable[[Run], float]] = {
    "ranks": lambda run: float(run.header.ranks),
    "unknowns": lambda run: _unknowns(run),
    "unknowns-per-rank": lambda run: _unknowns(run) / run.header.ranks,
    "iterations": lambda run: float(run.header.iterations),
}
"""Parameters of a run by name."""

DEFAULT_PARAMETER = "ranks"


def _unknowns(run: Run) -> float:
    unknowns = run.header.spec.get("unknowns")
    if isinstance(unknowns, bool) or not isinstance(unknowns, int | float):
        raise DataError(
            f"{run.path} does not say how many unknowns it has, so they cannot be a parameter; "
            "take ranks or iterations."
        )
    return float(unknowns)
