"""Sums and extremes of the cycles of all ranks, when only some ranks keep their cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.reduction.decide import interval_edges
from hindmost.harness.runfile.contents import RankRun
from hindmost.harness.runfile.cycles import COUNTS

if TYPE_CHECKING:
    from mpi4py import MPI

ALWAYS = (0,)
"""Ranks of an adaptive run that are always kept: rank 0 has the predictions and the blocks."""


def cycles_of_all(run: RankRun, communicator: MPI.Intracomm) -> dict[str, Any]:
    """Return the variables on the cycles of all ranks, on rank 0; collective.

    Sums and maxima of counts are exact, so the work of every cycle is known as if all ranks had
    kept their records. No rank holds more than the cycles of one rank, and the profiles.

    Returns
    -------
    dict of str to array
        ``count_total`` and ``count_most``, shape (iteration, count); ``profile_count``, shape
        (interval, rank, count); ``phase_least``, shape (iteration, phase), seconds. Empty on the
        other ranks, and for runs without cycles.
    """
    from mpi4py import MPI

    if run.cycles is None:
        return {}
    counts = np.stack([run.cycles.counts[name] for name in COUNTS], axis=1).astype(np.int64)
    profile = np.add.reduceat(counts, interval_edges(len(counts))[:-1], axis=0)
    phases = np.ascontiguousarray(run.bodies.phase_duration, np.float32)
    found = {
        "count_total": reduced(counts, MPI.SUM, communicator),
        "count_most": reduced(counts, MPI.MAX, communicator),
        "phase_least": reduced(phases, MPI.MIN, communicator),
    }
    profiles = communicator.gather(profile)
    if profiles is None:
        return {}
    return {**found, "profile_count": np.stack(profiles, axis=1)}


def reduced(mine: NDArray[Any], operation: Any, communicator: MPI.Intracomm) -> NDArray[Any]:
    """Return a reduction over the ranks on rank 0; elsewhere what comes back has no meaning."""
    result = np.empty_like(mine)
    communicator.Reduce(np.ascontiguousarray(mine), result, op=operation, root=0)
    return result
