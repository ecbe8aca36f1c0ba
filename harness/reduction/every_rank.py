"""What is kept of every rank, whether or not it keeps full records: a few numbers each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.runfile.contents import RankRun
from hindmost.models.ranks.distributed_lateness import DistributedLateness
from hindmost.models.ranks.histogram import empty_histogram
from hindmost.models.ranks.reductions import Reductions

BINS = 200
"""Of the histogram of own work, from the least to the most of all bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryRank:
    """What is of one rank in the file; each is a variable of that name after ``every_``.

    Attributes
    ----------
    solve_time : float, seconds
    last : int
        Bodies in which this rank was the last one.
    waited, charged, lost, transfer, transfer_charged : float
        See `hindmost.models.ranks.lateness.Lateness`; transfers are None where they are not known.
    deviation, longest : float, seconds
        Of its own work: the standard deviation over bodies, and the most in one.
    longest_body : int
    drift : float
        Change of the own work from the first to the last body by a line, over the mean.
    host : str
    """

    solve_time: float
    last: int
    waited: float
    charged: float
    lost: float
    transfer: float | None
    transfer_charged: float | None
    deviation: float
    longest: float
    longest_body: int
    drift: float
    host: str


def of_rank(
    run: RankRun,
    work: NDArray[np.float64],
    transfer: NDArray[np.float64] | None,
    meeting: DistributedLateness,
) -> EveryRank:
    """Return what is kept of this rank.

    Parameters
    ----------
    work : float64 array, shape (iteration,), seconds
        Own work.
    transfer : float64 array, shape (iteration, 1), seconds, or None
        Slow transfers.
    meeting : DistributedLateness
        Of this rank alone.
    """
    steps = np.arange(work.size) - (work.size - 1) / 2.0
    slope = float((steps * work).sum() / max(float((steps * steps).sum()), 1e-300))
    mean = float(work.mean())
    return EveryRank(
        solve_time=run.bodies.solve_time_s,
        last=int(meeting.last[0]),
        waited=float(meeting.waited_s[0]),
        charged=float(meeting.charged_s[0]),
        lost=float(meeting.lost_s[0]),
        transfer=None if transfer is None else float(transfer.sum()),
        transfer_charged=None if transfer is None else float(meeting.transfer_charged_s[0]),
        deviation=float(work.std()),
        longest=float(work.max()),
        longest_body=int(work.argmax()),
        drift=slope * (work.size - 1) / mean if mean > 0.0 else 0.0,
        host=run.host,
    )


def variables(every: list[EveryRank]) -> dict[str, Any]:
    """Return the variables of a file that are known, by name, each of every rank."""
    return {
        f"every_{field.name}": [getattr(each, field.name) for each in every]
        for field in fields(EveryRank)
        if getattr(every[0], field.name) is not None
    }


def histogram_of_all(work: NDArray[np.float64], reductions: Reductions) -> dict[str, NDArray[Any]]:
    """Count the own work of the bodies of all ranks; collective.

    Returns
    -------
    dict of str to array, shape (bin,)
        ``work_bin_from``, seconds, where bins begin; the first holds what is below the second, and
        the last is what lies above. ``work_bin_count``.
    """
    least = float(reductions.least(np.array([work.min()]))[0])
    most = float(reductions.most(np.array([work.max()]))[0])
    low = max(least, 1e-9)
    found = empty_histogram(low, max(most, low * 1.001), BINS).with_more(work, reductions)
    return {
        "work_bin_from": np.concatenate([[0.0], found.edges]),
        "work_bin_count": np.concatenate([[found.below], found.counts, [found.above]]),
    }


def times_of_intervals(
    run: RankRun, edges: NDArray[np.int64], reductions: Reductions
) -> dict[str, NDArray[np.float64]]:
    """Return when intervals of bodies begin, and how long their cycles last; collective.

    Returns
    -------
    dict of str to float64 array, shape (interval,), seconds
        ``interval_start``: when the first rank begins the interval, on the common clock.
        ``interval_run_time``: of the restart cycles that begin in the interval, from the begin of
        the first rank to the end of the last; no less than the longest that a rank spent in them.
    """
    bodies = run.bodies
    end = bodies.start + bodies.duration
    begins = np.flatnonzero(bodies.position == 0)
    if not begins.size or begins[0] != 0:
        begins = np.append(0, begins)
    lasts = np.append(begins[1:], end.size) - 1
    first = reductions.least(np.concatenate([bodies.start[edges[:-1]], bodies.start[begins]]))
    spent = np.add.reduceat(bodies.duration, begins)
    ended, longest = reductions.most(np.stack([end[lasts], spent]))
    span = np.maximum(ended - first[edges.size - 1 :], longest)
    interval = np.searchsorted(edges, begins, side="right") - 1
    return {
        "interval_start": first[: edges.size - 1],
        "interval_run_time": np.bincount(interval, span, minlength=edges.size - 1),
    }
