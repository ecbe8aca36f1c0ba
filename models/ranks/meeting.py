"""Who is last in every body, where every process holds the columns of its own ranks only.

What `lateness` says of a run that lies in one place, found by two reductions of one number a body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.together import ALONE, Together, count_of, exact_grid, on_grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """What the bodies of the ranks of this process come to beside those of all others.

    Attributes
    ----------
    last : int64 array, shape (rank,)
        Bodies in which the rank was the last one.
    lost_s : float64 array, shape (rank,), seconds
        What bodies would be shorter if the rank were as quick as the last of the others.
    waited_s : float64 array, shape (rank,), seconds
    path_s : float64 array, shape (rank,), seconds
        Own work in the bodies in which it was last: its part of the critical path.
    level_s : float64 array, shape (iteration,), seconds
        Mean work over all ranks.
    """

    last: NDArray[np.int64]
    lost_s: NDArray[np.float64]
    waited_s: NDArray[np.float64]
    path_s: NDArray[np.float64]
    level_s: NDArray[np.float64]


def meet(
    work: NDArray[np.float64],
    *,
    ids: NDArray[np.int64] | None = None,
    together: Together = ALONE,
) -> Meeting:
    """Find who is last in every body; collective.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
        Of the ranks of this process, waiting not included.
    """
    ranks = work.shape[1]
    ids = np.arange(ranks, dtype=np.int64) if ids is None else ids
    most = together.most(work.max(axis=1, initial=-np.inf))
    nobody = np.iinfo(np.int64).max
    mine = np.where(work == most[:, None], ids[None, :], nobody)
    who = together.least(mine.min(axis=1, initial=nobody))
    is_last = ids[None, :] == who[:, None]
    second = together.most(np.where(is_last, -np.inf, work).max(axis=1, initial=-np.inf))
    margin = np.where(np.isfinite(second), most - second, 0.0)
    count = count_of(ranks, together)
    grid = exact_grid(float(np.abs(most).max(initial=0.0)), count)
    level = together.total(on_grid(work, grid).sum(axis=1)) / count
    return Meeting(
        last=is_last.sum(axis=0),
        lost_s=over_bodies(is_last * margin[:, None]),
        waited_s=over_bodies(most[:, None] - work),
        path_s=over_bodies(is_last * work),
        level_s=level,
    )


def over_bodies(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over bodies, of every rank in the same order however many ranks are here: (rank,)."""
    summed: NDArray[np.float64] = np.ascontiguousarray(values.T).sum(axis=1)
    return summed
