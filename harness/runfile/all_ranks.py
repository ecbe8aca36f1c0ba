"""What all ranks did in the cycles of an adaptive run, whether or not all of them were kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run


def total_of(run: Run, name: str) -> NDArray[np.int64]:
    """Return what was counted in each cycle, summed over all ranks: int64, shape (cycle,).

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
    """Return the same of the rank that has most in each cycle."""
    if run.reduced:
        return counted(run, "count_most", name)
    most: NDArray[np.int64] = run.variable(name).max(axis=1)
    return most


def least_phase(run: Run, name: str) -> NDArray[np.float64]:
    """Return a phase on the rank that spent least in it: float64, shape (cycle,), seconds."""
    if run.reduced:
        return np.asarray(run.variable("phase_least")[:, run.phases.index(name)], np.float64)
    least: NDArray[np.float64] = run.phase(name).min(axis=1)
    return least


def counted(run: Run, variable: str, name: str) -> NDArray[np.int64]:
    """Return the column of a count; raise a DataError if the file has none."""
    names = run.texts("count")
    if name not in names:
        raise DataError(
            f"{run.path} does not hold '{name}' of all ranks; it has: {', '.join(names)}."
        )
    return np.asarray(run.variable(variable)[:, names.index(name)], np.int64)
