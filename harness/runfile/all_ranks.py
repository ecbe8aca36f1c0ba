"""Data of all ranks of a run, including those without full records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.reader import Run, check_values
from hindmost.harness.runfile.schema import VARIABLE


def total_of(run: Run, name: str) -> NDArray[np.int64]:
    """Return a count of each cycle, summed over all ranks: int64, shape (cycle,).

    Parameters
    ----------
    name : str
        One of `hindmost.harness.runfile.cycles.COUNTS`.
    """
    if run.reduced:
        return counted(run, "count_total", name)
    total: NDArray[np.int64] = run.variable(name).sum(axis=1)
    return total


def most_of(run: Run, name: str) -> NDArray[np.int64]:
    """Return the largest count of any rank in each cycle."""
    if run.reduced:
        return counted(run, "count_most", name)
    most: NDArray[np.int64] = run.variable(name).max(axis=1)
    return most


def counted(run: Run, variable: str, name: str) -> NDArray[np.int64]:
    """Return the column of a count; raise a DataError if the file has none."""
    names = run.texts("count")
    if name not in names:
        raise DataError(
            f"{run.path} does not contain '{name}' of all ranks; it contains: {', '.join(names)}."
        )
    return np.asarray(run.variable(variable)[:, names.index(name)], np.int64)


def profiles_of(run: Run) -> NDArray[np.float64]:
    """Read the time of every phase: float64, shape (interval, rank, phase), seconds.

    Raises
    ------
    DamagedFileError
        Impossible times, or intervals without bodies.
    """
    profile = np.asarray(run.variable("profile_phase"), np.float64)
    check_values(run.path, VARIABLE["profile_phase"], profile)
    if int(run.variable("interval_bodies").min(initial=1)) < 1:
        raise DamagedFileError(f"{run.path}: an interval of 'interval_bodies' is empty.")
    return profile


def hosts_of_all(run: Run) -> list[str]:
    """Return the host of every rank; empty if the file lacks those of ranks that were not kept."""
    return run.texts("every_host") if run.reduced else run.hosts


def unclassified_share_of_all(run: Run) -> NDArray[np.float64]:
    """Return the share of each rank's time in unclassified MPI calls: float64, shape (rank,).

    If most ranks have only profiles, it is their share of the time of bodies.
    """
    if not run.reduced or "unclassified" not in run.phases:
        return run.unclassified_share
    phases = profiles_of(run).sum(axis=0)
    whole = np.maximum(phases.sum(axis=1), 1e-300)
    return np.asarray(phases[:, run.phases.index("unclassified")] / whole)
