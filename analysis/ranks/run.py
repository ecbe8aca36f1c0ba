"""A run file gone through once: who is hindmost, groups of ranks, profiles, the critical path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs import solve_rows
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.critical import CriticalPath, PathSum
from hindmost.models.ranks.histogram import Histogram, empty_histogram
from hindmost.models.ranks.keeping import BodiesOfRanks
from hindmost.models.ranks.lateness import Lateness, Sweep
from hindmost.models.ranks.profile import Profile, ProfileSum, Slopes
from hindmost.models.ranks.vectors import RankMetrics

BINS = 200
"""Of the histogram: some 2 to 3 % of a body each."""
MOST_TO_CHOOSE_FROM = 1 << 27
"""Bodies of all ranks up to which a choice of ranks is made from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksOfRun:
    """What the ranks of a run did.

    Attributes
    ----------
    lateness : Lateness
    metrics : RankMetrics
        Own time by phase, messages and bytes, of the whole run.
    waiting_s : float64 array, shape (rank,), seconds
        As recorded: in halos and reductions.
    of_run, of_body : Profile
    slopes : Slopes
    path : CriticalPath
    histogram : Histogram
        Of the own work of bodies.
    numbers : int64 array, shape (rank,)
        Of the ranks that the columns are of: all, but for a run that kept some.
    ranks : int
        Ranks of the run.
    """

    lateness: Lateness
    metrics: RankMetrics
    waiting_s: NDArray[np.float64]
    of_run: Profile
    of_body: Profile
    slopes: Slopes
    path: CriticalPath
    histogram: Histogram
    numbers: NDArray[np.int64]
    ranks: int


def look_at_run(run: Run, intervals: int = 200) -> RanksOfRun:
    """Go through a run file once, block by block.

    Parameters
    ----------
    intervals : int
        Of the time profiles.

    Raises
    ------
    DataError
        Times that cannot be, or a run without bodies or whose bodies take no time.
    """
    run.verify_outline()
    columns = run.columns
    body = run.summary["body_s"]
    if not (run.bodies and run.solve_time_s > 0.0 and body["quantile_99"] > 0.0):
        raise DataError(
            f"{run.path}: its bodies take no time, so nothing can be said of its ranks."
        )
    sweep = Sweep(run.hosts, run.bodies)
    profile = ProfileSum(columns, run.solve_time_s, intervals)
    inside = edges_between(run)
    # Where events were recorded, a completion is of the oldest post: nothing stays pending.
    path = PathSum(columns, *inside, lag=0 if run.has("event_kind") else run.header.lag)
    middle = body["median"] or body["quantile_99"]
    histogram = empty_histogram(0.1 * middle, 10.0 * body["quantile_99"], BINS)
    phases = np.zeros((len(run.phases), columns))
    for rows in run.blocks():
        parts, duration = run.variable("phase_duration", rows), run.variable("duration", rows)
        start = run.variable("start", rows)
        run.verify_bodies(start, duration, parts)
        work = run.own_work(parts)
        phases += parts.sum(axis=0, dtype=np.float64).T
        sweep.add(work)
        profile.add(start, work, duration)
        path.add(solve_rows(run, rows, work))
        histogram = histogram.with_more(work)
    waiting = sum(phases[run.phases.index(name)] for name in WAITING)
    return RanksOfRun(
        lateness=sweep.result(),
        metrics=metrics_of(run, phases),
        waiting_s=np.asarray(waiting, np.float64),
        of_run=profile.of_run,
        of_body=profile.of_body,
        slopes=profile.slopes(),
        path=path.result(),
        histogram=histogram,
        numbers=run.kept_ranks,
        ranks=run.header.ranks,
    )


def metrics_of(run: Run, phases: NDArray[np.float64]) -> RankMetrics:
    """Return the vectors of a run from the times of its phases, shape (phase, rank), seconds."""
    own = [at for at, name in enumerate(run.phases) if name not in WAITING]
    sent = messages_sent(run)
    return RankMetrics(
        values=np.concatenate([phases[own], sent]).T,
        names=(*(run.phases[at] for at in own), "messages", "bytes"),
        units=("s",) * len(own) + ("1", "byte"),
        domains=("time",) * len(own) + ("count", "bytes"),
    )


def messages_sent(run: Run) -> NDArray[np.float64]:
    """Return messages and bytes that every rank sends in one exchange: (2, rank)."""
    edges, kept = run.edges, run.kept_ranks
    messages = np.ones(edges.source.size) if edges.messages is None else edges.messages
    counts = np.bincount(edges.source, messages, minlength=run.header.ranks)
    sizes = np.bincount(edges.source, edges.bytes, minlength=run.header.ranks)
    both: NDArray[np.float64] = np.stack([counts[kept], sizes[kept]]).astype(np.float64)
    return both


def edges_between(run: Run) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the halos between the ranks that the file has columns of, as places of columns."""
    edges, kept = run.edges, run.kept_ranks
    place = np.full(run.header.ranks, -1, np.int32)
    place[kept] = np.arange(kept.size)
    both = (place[edges.source] >= 0) & (place[edges.target] >= 0)
    return place[edges.source[both]], place[edges.target[both]]


def bodies_of(run: Run) -> BodiesOfRanks:
    """Return what a choice of ranks is made from.

    Raises
    ------
    UsageError
        The run is too large to be held at once, or kept some ranks only.
    """
    if run.reduced:
        raise UsageError(
            f"{run.path} has full records of {run.columns} of {run.header.ranks} ranks: the choice "
            "was made when it ran. Leave --keep out."
        )
    if run.bodies * run.columns > MOST_TO_CHOOSE_FROM:
        raise UsageError(
            f"{run.path} has {run.bodies * run.columns:,} bodies; a choice is made of up to "
            f"{MOST_TO_CHOOSE_FROM:,}. Choose while it runs: hindmost run --keep."
        )
    sent = messages_sent(run)
    nodes = list(dict.fromkeys(run.hosts))
    return BodiesOfRanks(
        parts={name: run.phase(name) for name in run.phases if name not in WAITING},
        counts={"messages": ("count", sent[0]), "bytes": ("bytes", sent[1])},
        ids=np.arange(run.columns, dtype=np.int64),
        node_of=np.array([nodes.index(host) for host in run.hosts], np.int64),
        nodes=len(nodes),
    )
