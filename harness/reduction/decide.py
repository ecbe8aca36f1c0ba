"""Which ranks keep their full records: decided by all together, before anything is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.reduction.together import Communicating
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.contents import RankRun
from hindmost.models.ranks.keeping import BodiesOfRanks, keep

if TYPE_CHECKING:
    from mpi4py import MPI

INTERVALS = 200
"""Of the profiles that every rank keeps, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was decided for this rank.

    Attributes
    ----------
    full : bool
        Whether this rank keeps its full records.
    ranks : tuple of int
        Those that do, ascending.
    profile : float32 array, shape (interval, phase), seconds
        Time of every phase in the bodies of an interval.
    interval_bodies : int32 array, shape (interval,)
        Bodies of an interval, one after the other.
    last : int
        Bodies in which this rank had the most own work.
    waited_s : float
        What the last rank's own work was longer in all bodies.
    account : dict
        How it was decided and what that cost; part of the file's ``spec``.
    """

    full: bool
    ranks: tuple[int, ...]
    profile: NDArray[np.float32]
    interval_bodies: NDArray[np.int32]
    last: int
    waited_s: float
    account: dict[str, Any]

    def explain(self) -> str:
        """Say what was kept and what deciding cost."""
        account = self.account
        return (
            f"full records of {account['kept']} of {account['ranks']} ranks are kept "
            f"({account['groups']} group{'s' if account['groups'] > 1 else ''}), profiles of all; "
            f"decided in {1e3 * account['seconds']:.1f} ms by {account['reductions']} reductions "
            f"of {account['bytes_per_rank']} bytes together a rank"
        )


def decide(
    run: RankRun,
    share: float,
    communicator: MPI.Intracomm,
    *,
    seed: int = 0,
    always: tuple[int, ...] = (),
) -> Kept:
    """Decide which ranks keep their full records; collective.

    Ranks reduce sums, minima and maxima; no rank ever holds the vectors of all. What is gathered
    is one number of every rank: whether it is kept.

    Parameters
    ----------
    share : float
        Of all ranks, above 0 and at most 1.
    always : tuple of int
        Ranks that are kept in any case.

    Raises
    ------
    UsageError
        The ranks did not record the same number of bodies.
    """
    began, cpu = time.perf_counter(), time.process_time()
    together = Communicating(communicator)
    mine = np.array([run.bodies.duration.size], np.int64)
    counts = together.least(np.concatenate([mine, -mine]))
    if counts[0] != -counts[1]:
        raise UsageError(
            f"--keep: the ranks recorded {counts[0]} to {-counts[1]} bodies; a choice needs the "
            "same of all. Run without --keep."
        )
    chosen, meeting = keep(
        of_rank(run, communicator), share, seed=seed, always=always, together=together
    )
    profile, interval_bodies = interval_profile(run)
    full = bool(chosen.kept[0])
    spent = np.array([time.perf_counter() - began, time.process_time() - cpu])
    longest = communicator.allreduce(float(spent[0]), op=_maximum())
    cpu_all = communicator.allreduce(float(spent[1]))
    flags = communicator.allgather(full)
    reasons = communicator.allgather(int(chosen.reasons[0]))
    account = {
        "share": share,
        "ranks": communicator.size,
        "kept": int(sum(flags)),
        "groups": chosen.clustering.k,
        "reasons": {
            name: [rank for rank, reason in enumerate(reasons) if reason == at]
            for at, name in enumerate(chosen.names)
        },
        "seconds": longest,
        "cpu_s": cpu_all,
        "reductions": together.calls,
        "bytes_per_rank": together.sent_bytes,
    }
    return Kept(
        full=full,
        ranks=tuple(rank for rank, flag in enumerate(flags) if flag),
        profile=profile,
        interval_bodies=interval_bodies,
        last=int(meeting.last[0]),
        waited_s=float(meeting.waited_s[0]),
        account=account,
    )


def compile_choice() -> None:
    """Compile what a choice needs, so that no rank waits for a compiler afterwards."""
    bodies = BodiesOfRanks(
        parts={"local": np.arange(12.0).reshape(4, 3)},
        counts={},
        ids=np.arange(3, dtype=np.int64),
        node_of=np.zeros(3, np.int64),
        nodes=1,
    )
    keep(bodies, 0.5)


def of_rank(run: RankRun, communicator: MPI.Intracomm) -> BodiesOfRanks:
    """Return what this rank brings to the choice; collective, for the numbers of the nodes."""
    bodies = run.bodies
    hosts = communicator.allgather(run.host)
    nodes = list(dict.fromkeys(hosts))
    edges = run.incoming
    messages = edges.source.size if edges.messages is None else edges.messages.sum()
    return BodiesOfRanks(
        parts={
            name: bodies.phase_duration[:, [at]].astype(np.float64)
            for at, name in enumerate(bodies.phases)
            if name not in WAITING
        },
        counts={
            "messages": ("count", np.array([float(messages)])),
            "bytes": ("bytes", np.array([float(edges.bytes.sum())])),
        },
        ids=np.array([communicator.rank], np.int64),
        node_of=np.array([nodes.index(run.host)], np.int64),
        nodes=len(nodes),
    )


def interval_profile(
    run: RankRun, intervals: int = INTERVALS
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the profile of this rank, of a bounded size, and the bodies of its intervals.

    An interval is a stretch of bodies, so that intervals of all ranks begin and end with the same
    body and their times add up to those of the run.
    """
    phases = run.bodies.phase_duration
    edges = interval_edges(len(phases), intervals)
    summed = np.add.reduceat(phases.astype(np.float64), edges[:-1], axis=0)
    return summed.astype(np.float32), np.diff(edges).astype(np.int32)


def interval_edges(count: int, intervals: int = INTERVALS) -> NDArray[np.int64]:
    """Return the first bodies of the intervals of so many bodies, and their end."""
    return np.linspace(0, count, min(intervals, count) + 1).astype(np.int64)


def _maximum() -> Any:
    from mpi4py import MPI

    return MPI.MAX
