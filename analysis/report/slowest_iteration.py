"""The iteration that lost most time against others at its place in the restart cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.analysis.runs.check import does_the_same
from hindmost.analysis.runs.check_bodies import read_body_times
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run

OWN = ("local", INJECTED)
"""Phases that are a rank's own time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestIteration:
    """An iteration, how long it took, and on what.

    Attributes
    ----------
    body : int
    lasted_s : float
        On the rank that needed longest.
    times : float
        That over the median of its place in the cycle.
    rank : int
        Number of the rank with most own work in it.
    own_s : float
        That work, with injected noise.
    phase : str
        Of MPI, in which the ranks spent most of it.
    phase_s : float
        The mean of all ranks.
    """

    body: int
    lasted_s: float
    times: float
    rank: int
    own_s: float
    phase: str
    phase_s: float


def slowest_iteration(run: Run) -> SlowestIteration | None:
    """Return the iteration that lost most time; None if the run has none."""
    if not run.bodies:
        return None
    times = read_body_times(run, same_work=does_the_same(run))
    excess_s = times.slowest * (1.0 - 1.0 / np.maximum(times.relative, 1e-300))
    body = int(excess_s.argmax())
    spent = run.variable("phase_duration", slice(body, body + 1))[0]  # (rank, phase)
    own = spent[:, [at for at, name in enumerate(run.phases) if name in OWN]].sum(axis=1)
    in_mpi = {
        name: float(spent[:, at].mean()) for at, name in enumerate(run.phases) if name not in OWN
    }
    phase = max(in_mpi, key=lambda name: in_mpi[name], default="")
    return SlowestIteration(
        body=body,
        lasted_s=float(times.slowest[body]),
        times=float(times.relative[body]),
        rank=int(run.kept_ranks[int(own.argmax())]),
        own_s=float(own.max()),
        phase=phase,
        phase_s=in_mpi.get(phase, 0.0),
    )
