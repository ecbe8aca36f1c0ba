"""The bodies of an attached run, summed for each of its ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.model_input import MOST_IN_MEMORY
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.reader import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimes:
    """The bodies of a run, summed for each rank.

    Attributes
    ----------
    work_s, wait_s, time_s : float64 array, shape (rank,), seconds
        Own work, wait in halo exchange and collectives, and all of the bodies.
    hidden_s : float64 array, shape (rank,), seconds
        Wait in collectives that work of the same body could overlap.
    amount : float64 array, shape (rank,), or None
        Work that the program counted, in its own unit.
    """

    work_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    hidden_s: NDArray[np.float64]
    amount: NDArray[np.float64] | None = None


def rank_times(run: Run) -> RankTimes | None:
    """Sum the bodies of a run for each rank; None if it is too large to be read for a glance."""
    if run.bodies * run.columns > MOST_IN_MEMORY:
        return None
    work, wait, time, hidden, amount = np.zeros((5, run.columns))
    counts = run.has("work_amount")
    waits = [run.phases.index(name) for name in WAITING]
    collective = run.phases.index("wait")
    for rows in run.blocks():
        phases = run.variable("phase_duration", rows).astype(np.float64)
        own = run.own_work(phases)
        work += own.sum(axis=0)
        wait += phases[:, :, waits].sum(axis=(0, 2))
        time += phases.sum(axis=(0, 2))
        hidden += np.minimum(phases[:, :, collective], own).sum(axis=0)
        if counts:
            amount += run.variable("work_amount", rows).sum(axis=0)
    return RankTimes(
        work_s=work,
        wait_s=wait,
        time_s=time,
        hidden_s=hidden,
        amount=amount if counts and (amount > 0).all() else None,
    )
