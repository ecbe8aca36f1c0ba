"""Which ranks keep their full records: a collective decision, before anything is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.reduction.transfers import slow_transfers
from hindmost.harness.runfile.bodies import NOT_WORK
from hindmost.harness.runfile.contents import Edges, RankRun
from hindmost.harness.runfile.writer import Blocks, RunsSeen, runs_of
from hindmost.harness.solo import of_all
from hindmost.models.ranks.histogram import empty_histogram
from hindmost.models.ranks.lateness import Lateness
from hindmost.models.ranks.reductions import ONE_PROCESS, OneProcess, Reductions
from hindmost.models.ranks.selection import BodiesOfRanks, keep
from hindmost.text import counted

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")
INTERVALS = 200
"""Of the profiles that every rank keeps, at most."""
BINS = 200
"""Of the histogram of own work, from the least to the most of all bodies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was decided for the ranks of this process.

    Attributes
    ----------
    full : bool array, shape (rank,)
        Whether each keeps full records.
    ranks : tuple of int
        Those of all processes that do, ascending.
    every : tuple of dict of str to float, int, str or array
        What is kept of each rank in any case, by variable of the file; see `of_rank`.
    shared : dict of str to array
        Variables about all ranks together.
    account : dict
        The decision and its cost; part of the file's ``spec``.
    """

    full: NDArray[np.bool_]
    ranks: tuple[int, ...]
    every: tuple[dict[str, Any], ...]
    shared: dict[str, NDArray[Any]]
    account: dict[str, Any]

    def explain(self) -> str:
        """Say what was kept and how much the decision cost."""
        account = self.account
        return (
            f"full records kept of {account['kept']} of {account['ranks']} ranks "
            f"({counted(account['groups'], 'group')}), profiles of all; decided in "
            f"{1000.0 * account['seconds']:.1f} ms by {account['reductions']} reductions of "
            f"{account['bytes_per_rank']} bytes in all per rank"
        )


def decide(blocks: Blocks, share: float, communicator: Any) -> Kept:
    """Decide which ranks keep their full records; collective.

    Processes reduce sums, minima and maxima. What the root gathers is a vector of every rank, from
    which it draws the first centroids, and scores. Of a run with cycles rank 0 is kept: it has the
    predictions and the blocks.

    Parameters
    ----------
    share : float
        Of all ranks, above 0 and at most 1.

    Raises
    ------
    UsageError
        The ranks did not record the same number of bodies.
    """
    began, cpu = time.perf_counter(), time.process_time()
    seen = RunsSeen.of(blocks)
    counts = sorted({bodies for bodies, _ in of_all(communicator, seen.sizes)})
    if len(counts) > 1:
        raise UsageError(
            f"--keep: the ranks recorded {counts[0]} to {counts[-1]} iterations; --keep needs the "
            "same number on all. Run without --keep."
        )
    reductions = reductions_over(communicator)
    transfer = slow_transfers(blocks, seen, communicator, reductions)
    bodies = bodies_of_ranks(blocks, seen, communicator, transfer)
    chosen, meeting = keep(
        bodies,
        share,
        always=(0,) if seen.first.cycles is not None else (),
        reductions=reductions,
    )
    edges = interval_edges(counts[0])
    shared = histogram_of_all(bodies.work, reductions)
    shared |= times_of_intervals(blocks, edges, reductions)
    shared["interval_bodies"] = np.diff(edges).astype(np.int32)
    spent = np.array([time.perf_counter() - began, time.process_time() - cpu])
    longest, cpu_all = float(reductions.most(spent)[0]), float(reductions.total(spent)[1])
    reasons = of_all(communicator, chosen.reasons.tolist())
    ranks = tuple(np.flatnonzero(of_all(communicator, chosen.kept.tolist())).tolist())
    account = {
        "share": share,
        "ranks": len(reasons),
        "kept": len(ranks),
        "groups": chosen.clustering.k,
        "reasons": {
            name: [rank for rank, reason in enumerate(reasons) if reason == at]
            for at, name in enumerate(chosen.names)
        },
        "seconds": longest,
        "cpu_s": cpu_all,
        "reductions": reductions.calls,
        "bytes_per_rank": reductions.sent_bytes,
    }
    return Kept(
        full=chosen.kept,
        ranks=ranks,
        every=tuple(
            of_rank(run, at, meeting, edges, transfers=bodies.transfer is not None)
            for at, run in enumerate(runs_of(blocks))
        ),
        shared=shared,
        account=account,
    )


def bodies_of_ranks(
    blocks: Blocks, seen: RunsSeen, communicator: Any, transfer: NDArray[np.float64] | None
) -> BodiesOfRanks:
    """Return what the ranks of this process bring to the choice; collective."""
    phases = np.stack([run.bodies.phase_duration for run in runs_of(blocks)], axis=1)
    times = {
        name: phases[:, :, at].astype(np.float64)
        for at, name in enumerate(seen.first.bodies.phases)
    }
    hosts = [values["host"] for values in seen.values]
    nodes = list(dict.fromkeys(of_all(communicator, hosts)))
    first = sum(communicator.allgather(len(hosts))[: communicator.rank])
    return BodiesOfRanks(
        parts={name: time for name, time in times.items() if name not in NOT_WORK},
        not_work={name: time for name, time in times.items() if name in NOT_WORK},
        transfer=transfer,
        counts={
            "messages": ("count", np.array([messages_of(edges) for edges in seen.edges])),
            "bytes": ("bytes", np.array([float(edges.bytes.sum()) for edges in seen.edges])),
        },
        ids=first + np.arange(len(hosts)),
        node_of=np.array([nodes.index(host) for host in hosts], np.int64),
        nodes=len(nodes),
    )


def messages_of(edges: Edges) -> float:
    """Return how many messages an iteration has."""
    return float(edges.source.size if edges.messages is None else edges.messages.sum())


def interval_edges(count: int) -> NDArray[np.int64]:
    """Return the first iterations of the intervals, and the end.

    An interval is a stretch of bodies, so that intervals of all ranks begin and end with the same
    body and their times add up to those of the run.
    """
    return np.linspace(0, count, min(INTERVALS, count) + 1).astype(np.int64)


def of_rank(
    run: RankRun, at: int, late: Lateness, edges: NDArray[np.int64], *, transfers: bool
) -> dict[str, Any]:
    """Return what is kept of a rank, by variable of the file.

    Parameters
    ----------
    at : int
        Its place in this process.
    late : Lateness
        Of the ranks of this process.
    edges : int64 array, shape (interval + 1,)
    transfers : bool
        Whether slow transfers are known.
    """
    phases = run.bodies.phase_duration.astype(np.float64)
    profile = np.add.reduceat(phases, edges[:-1], axis=0)
    kept = {
        "profile_phase": profile.astype(np.float32),
        "every_solve_time": run.bodies.solve_time_s,
        "every_last": int(late.last[at]),
        "every_waited": float(late.waited_s[at]),
        "every_charged": float(late.charged_s[at]),
        "every_lost": float(late.lost_s[at]),
        "every_deviation": float(late.deviation_s[at]),
        "every_longest": float(late.longest_s[at]),
        "every_longest_body": int(late.longest_body[at]),
        "every_drift": float(late.drift[at]),
        "every_host": run.host,
    }
    if transfers:
        kept["every_transfer"] = float(late.transfer_s[at])
        kept["every_transfer_charged"] = float(late.transfer_charged_s[at])
    return kept


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
    blocks: Blocks, edges: NDArray[np.int64], reductions: Reductions
) -> dict[str, NDArray[np.float64]]:
    """Return when intervals of bodies begin, and how long their cycles last; collective.

    Returns
    -------
    dict of str to float64 array, shape (interval,), seconds
        ``interval_start``: when the first rank begins the interval, on the common clock.
        ``interval_run_time``: of the restart cycles that begin in the interval, from the begin of
        the first rank to the end of the last; no less than the longest that a rank spent in them.
    """
    firsts, lasts = [], []
    for bodies in (run.bodies for run in runs_of(blocks)):
        end = bodies.start + bodies.duration
        begins = np.flatnonzero(bodies.position == 0)
        if not begins.size or begins[0] != 0:
            begins = np.append(0, begins)
        last = np.append(begins[1:], end.size) - 1
        firsts.append(np.concatenate([bodies.start[edges[:-1]], bodies.start[begins]]))
        lasts.append(np.stack([end[last], np.add.reduceat(bodies.duration, begins)]))
    first = reductions.least(np.min(firsts, axis=0))
    ended, longest = reductions.most(np.max(lasts, axis=0))
    span = np.maximum(ended - first[edges.size - 1 :], longest)
    interval = np.searchsorted(edges, begins, side="right") - 1
    return {
        "interval_start": first[: edges.size - 1],
        "interval_run_time": np.bincount(interval, span, minlength=edges.size - 1),
    }


def reductions_over(communicator: Any) -> RankReductions | OneProcess:
    """Return the reductions of the processes that share the ranks of a run."""
    return ONE_PROCESS if communicator.size == 1 else RankReductions(communicator)


class RankReductions:
    """`hindmost.models.ranks.reductions.Reductions` over MPI; counts what it costs.

    Attributes
    ----------
    calls, sent_bytes : int
        Reductions and gathers, and the bytes that this process brought to them.
    """

    def __init__(self, communicator: MPI.Intracomm) -> None:
        from mpi4py import MPI

        self._communicator = communicator
        self._sum, self._min, self._max = MPI.SUM, MPI.MIN, MPI.MAX
        self.calls = 0
        self.sent_bytes = 0

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over ranks."""
        return self._reduced(values, self._sum)

    def least(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the minimum over ranks."""
        return self._reduced(values, self._min)

    def most(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum over ranks."""
        return self._reduced(values, self._max)

    def gathered(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return the rows of all ranks on rank 0."""
        self.calls += 1
        self.sent_bytes += rows.nbytes
        every = self._communicator.gather(rows)
        return None if every is None else np.concatenate(every)

    def shared(self, value: T | None) -> T:
        """Return on all ranks what rank 0 passes."""
        found: T = self._communicator.bcast(value)
        return found

    def _reduced(self, values: NDArray[Any], operation: Any) -> NDArray[Any]:
        mine = np.ascontiguousarray(values)
        result = np.empty_like(mine)
        self._communicator.Allreduce(mine, result, op=operation)
        self.calls += 1
        self.sent_bytes += mine.nbytes
        return result
