"""Stragglers, if every process has only the columns of its own ranks.

The same results as `lateness` for a run in one place, by reductions of a few numbers per body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedLateness:
    """Lateness of the ranks of this process, compared with all ranks.

    Attributes
    ----------
    last : int64 array, shape (rank,)
        Bodies in which the rank was the last one.
    charged_s, transfer_charged_s : float64 array, shape (rank,), rank-seconds
        Wait time that it causes, and the part of it due to its slow transfers.
    lost_s : float64 array, shape (rank,), seconds
        Time saved if the rank were as fast as the last of the others.
    waited_s : float64 array, shape (rank,), seconds
    path_s : float64 array, shape (rank,), seconds
        Own work and slow transfers in the bodies in which it was last: its part of the critical
        path.
    level_s : float64 array, shape (iteration,), seconds
        Mean work over all ranks.
    """

    last: NDArray[np.int64]
    charged_s: NDArray[np.float64]
    transfer_charged_s: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    waited_s: NDArray[np.float64]
    path_s: NDArray[np.float64]
    level_s: NDArray[np.float64]


def distributed_lateness(
    work: NDArray[np.float64],
    *,
    transfer: NDArray[np.float64] | None = None,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> DistributedLateness:
    """Find the last rank of every body; collective.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
        Of the ranks of this process, without waiting.
    transfer : float64 array, shape (iteration, rank), seconds, optional
        Time in slow transfers; 0 if not given. On all processes or on none.
    """
    ranks = work.shape[1]
    ids = np.arange(ranks, dtype=np.int64) if ids is None else ids
    come = work if transfer is None else work + transfer
    most = reductions.most(come.max(axis=1, initial=-np.inf))
    nobody = np.iinfo(np.int64).max
    at_last = come == most[:, None]
    mine = np.where(at_last, ids[None, :], nobody)
    who = reductions.least(mine.min(axis=1, initial=nobody))
    first_last = ids[None, :] == who[:, None]
    second = reductions.most(np.where(first_last, -np.inf, come).max(axis=1, initial=-np.inf))
    margin = np.where(np.isfinite(second), most - second, 0.0)
    count = count_of(ranks, reductions)
    sums = [each.sum(axis=1) for each in (work, come)]
    worked, came, together_last = reductions.total(np.stack([*sums, at_last.sum(axis=1)]))
    # If several ranks arrive last together, none of them is the last one.
    alone = (together_last == 1.0)[:, None] & at_last
    # The wait for the last rank alone is charged to it, the rest to ranks later than the mean.
    lead = first_last * margin[:, None]
    excess = np.maximum(come - lead - ((came - margin) / count)[:, None], 0.0)
    above = reductions.total((excess * excess).sum(axis=1))
    waiting = (most - margin) * count - (came - margin)
    rate = np.divide(waiting, above, out=np.zeros_like(waiting), where=above > 0.0)[:, None]
    slow = np.zeros_like(come) if transfer is None else transfer
    slow_lead = np.minimum(lead, slow)
    slow_rest = np.minimum(excess, np.maximum(slow - lead, 0.0))
    return DistributedLateness(
        last=alone.sum(axis=0),
        charged_s=over_bodies(lead * (count - 1) + rate * excess * excess),
        transfer_charged_s=over_bodies(slow_lead * (count - 1) + rate * excess * slow_rest),
        lost_s=over_bodies(alone * margin[:, None]),
        waited_s=over_bodies(most[:, None] - come),
        path_s=over_bodies(alone * come),
        level_s=worked / count,
    )


def over_bodies(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over bodies: float64, shape (rank,)."""
    summed: NDArray[np.float64] = values.sum(axis=0)
    return summed
