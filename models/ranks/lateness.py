"""Stragglers: which rank is last in every body (iteration), how often, and at what cost.

In a body the rank with the most own work makes all others wait (if several ranks have the most,
none of them is the last one). If the time that slow transfers of halos took is known, a rank
arrives later by that time: a rank behind a slow link is last without more work. The wait time of a
body is the sum over all ranks of the last rank's arrival minus theirs. The time that all ranks wait
for the last rank alone, after the next one has arrived, is charged to it. The rest is charged to
the ranks that arrive later than the mean, in proportion to the square of their delay: ``charged``.
So a rank that leads by a negligible time is not charged for wait time that others cause as well.
``lost`` is what a rank costs alone: how much earlier the body would end if this rank (or all ranks
of its node) were as fast as the last of the others. A slow node may lose much although none of its
ranks does, because the other ranks of the node are as late.

If reductions overlap with work (pipelined solvers), a rank that is last in one body may catch up in
the next, so both are upper limits there; the critical path of a replay has what delayed the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """What every rank and node costs the others: stragglers and load imbalance.

    Attributes
    ----------
    bodies : int
    total_s : float
        Time of all bodies, each as long as the last rank needs without waiting.
    last : int64 array, shape (rank,)
        Bodies in which the rank was the last one.
    charged_s, lost_s : float64 array, shape (rank,), rank-seconds and seconds
        See the description of this module.
    waited_s : float64 array, shape (rank,), seconds
        Wait time of the rank.
    transfer_s : float64 array, shape (rank,), seconds
        Time of the rank in slow transfers.
    transfer_charged_s : float64 array, shape (rank,), rank-seconds
        The part of ``charged_s`` that is due to the rank's slow transfers.
    work_s, deviation_s : float64 array, shape (rank,), seconds
        Mean and standard deviation over bodies of the own work.
    longest_s : float64 array, shape (rank,), seconds
        Most work in one body.
    longest_body : int64 array, shape (rank,)
        The body with the most work.
    drift : float64 array, shape (rank,)
        Change of the work from the first to the last body by a straight line, relative to the mean.
    nodes : tuple of str
    node_of : int64 array, shape (rank,)
    node_last : int64 array, shape (node,)
    node_charged_s, node_lost_s : float64 array, shape (node,)
        What a node loses is None if unknown.
    """

    bodies: int
    total_s: float
    last: NDArray[np.int64]
    charged_s: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    waited_s: NDArray[np.float64]
    transfer_s: NDArray[np.float64]
    transfer_charged_s: NDArray[np.float64]
    work_s: NDArray[np.float64]
    deviation_s: NDArray[np.float64]
    longest_s: NDArray[np.float64]
    longest_body: NDArray[np.int64]
    drift: NDArray[np.float64]
    nodes: tuple[str, ...]
    node_of: NDArray[np.int64]
    node_last: NDArray[np.int64]
    node_charged_s: NDArray[np.float64]
    node_lost_s: NDArray[np.float64] | None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.last.size)

    @property
    def chance(self) -> float:
        """Probability that any rank is last this often by chance.

        Bonferroni's bound on a binomial law: every rank is last in 1 of P bodies.
        """
        from scipy import special  # not on the ranks

        tail = special.bdtrc(int(self.last.max()) - 1, self.bodies, 1.0 / self.ranks)
        return float(min(1.0, tail * self.ranks))

    @property
    def waiting_share(self) -> float:
        """Share of the time of all ranks that is wait time for the last one."""
        return float(self.waited_s.sum() / (self.total_s * self.ranks)) if self.total_s else 0.0

    def to_json(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        """Return what every rank and node costs as JSON.

        Parameters
        ----------
        numbers : int64 array, shape (rank,)
            By which the ranks are called.
        """
        lost = self.node_lost_s
        return {
            "difference_share": self.waiting_share,
            "by_chance": self.chance,
            "rank": numbers.tolist(),
            "last": self.last.tolist(),
            "charged_s": self.charged_s.tolist(),
            "lost_s": self.lost_s.tolist(),
            "transfer_s": self.transfer_s.tolist(),
            "transfer_charged_s": self.transfer_charged_s.tolist(),
            "nodes": {
                name: {
                    "last": int(self.node_last[at]),
                    "charged_s": float(self.node_charged_s[at]),
                    "lost_s": None if lost is None else float(lost[at]),
                }
                for at, name in enumerate(self.nodes)
            },
        }


class LatenessSum:
    """`Lateness` of a run, summed block by block.

    Parameters
    ----------
    hosts : sequence of str, one a rank
    bodies : int
        Of the whole run, for the drift.
    """

    def __init__(self, hosts: list[str], bodies: int) -> None:
        ranks = len(hosts)
        if not ranks or bodies < 1:
            raise DataError(f"{bodies} iterations on {ranks} ranks; there must be some of each.")
        self._nodes = tuple(dict.fromkeys(hosts))
        places = {name: at for at, name in enumerate(self._nodes)}
        self._node_of = np.array([places[host] for host in hosts], np.int64)
        self._bodies, self._done = bodies, 0
        self._total = np.zeros(1)
        self._last = np.zeros(ranks, np.int64)
        self._longest_body = np.zeros(ranks, np.int64)
        self._sums = np.zeros((9, ranks))
        self._shift = np.zeros(ranks)
        self._node_last = np.zeros(len(self._nodes), np.int64)
        self._node_sums = np.zeros((2, len(self._nodes)))

    def add(
        self, work: NDArray[np.floating[Any]], transfer: NDArray[np.float64] | None = None
    ) -> None:
        """Add the next bodies.

        Parameters
        ----------
        work : float array, shape (iteration, rank), seconds
            Own work, without waiting.
        transfer : float64 array, shape (iteration, rank), seconds, optional
            Time in slow transfers; 0 if not given.

        Raises
        ------
        DataError
            Another number of ranks, or work that is not a number.
        """
        if work.shape[1:] != self._last.shape:
            raise DataError(f"Work of shape {work.shape} on {self._last.size} ranks.")
        if not len(work):
            return
        if not self._done:
            self._shift[:] = work[0]
        bad = sweep(
            work,
            np.zeros(work.shape) if transfer is None else transfer,
            self._node_of,
            self._done,
            (self._bodies - 1) / 2.0,
            self._shift,
            self._total,
            self._last,
            self._longest_body,
            self._sums,
            self._node_last,
            self._node_sums,
        )
        if bad >= 0:
            raise DataError(
                f"The work of iteration {bad} is not a number on some rank; the run is damaged or "
                "incomplete."
            )
        self._done += len(work)

    def result(self) -> Lateness:
        """Return the lateness of the bodies so far."""
        done = max(self._done, 1)
        charged, lost, waited, summed, squares, tilted, longest, transfer, by_transfer = self._sums
        mean = self._shift + summed / done
        variance = np.maximum(squares / done - (summed / done) ** 2, 0.0)
        # the slope of a line through all bodies, times the steps from the first to the last
        spread = done * (done * done - 1.0) / 12.0
        middle = (self._bodies - 1) / 2.0 - (done - 1) / 2.0
        change = (tilted + middle * summed) * (done - 1) / spread if spread else np.zeros_like(mean)
        return Lateness(
            bodies=self._done,
            total_s=float(self._total[0]),
            last=self._last.copy(),
            charged_s=charged.copy(),
            lost_s=lost.copy(),
            waited_s=waited.copy(),
            transfer_s=transfer.copy(),
            transfer_charged_s=by_transfer.copy(),
            work_s=mean,
            deviation_s=np.sqrt(variance),
            longest_s=longest.copy(),
            longest_body=self._longest_body.copy(),
            drift=np.divide(change, mean, out=np.zeros_like(mean), where=mean > 0),
            nodes=self._nodes,
            node_of=self._node_of,
            node_last=self._node_last.copy(),
            node_charged_s=self._node_sums[0].copy(),
            node_lost_s=self._node_sums[1].copy(),
        )


def lateness(
    work: NDArray[np.floating[Any]],
    hosts: list[str],
    transfer: NDArray[np.float64] | None = None,
) -> Lateness:
    """Return the stragglers of a run in memory.

    Parameters
    ----------
    work : float array, shape (iteration, rank), seconds
    hosts : list of str, one a rank
    transfer : float64 array, shape (iteration, rank), seconds, optional
        Time in slow transfers.
    """
    gone_through = LatenessSum(hosts, len(work))
    gone_through.add(work, transfer)
    return gone_through.result()


@declared(
    "(f8[:,::1], f8[:,::1], i8[::1], i8, f8, f8[::1], f8[::1], i8[::1], i8[::1], f8[:,::1], "
    "i8[::1], f8[:,::1])"
)
def sweep(
    work: NDArray[np.float64],
    transfer: NDArray[np.float64],
    node_of: NDArray[np.int64],
    done: int,
    middle: float,
    shift: NDArray[np.float64],
    total: NDArray[np.float64],
    last: NDArray[np.int64],
    longest_body: NDArray[np.int64],
    sums: NDArray[np.float64],
    node_last: NDArray[np.int64],
    node_sums: NDArray[np.float64],
) -> int:
    """Add bodies to the sums; return the first body that is not a number, or -1.

    A rank arrives after its work and its slow transfers. If several ranks arrive last together,
    none of them is the last one; the same applies to nodes.
    """
    ranks = work.shape[1]
    for row in range(work.shape[0]):
        # The last rank, the next one, and whether several arrive last together.
        most, second, other_node = -np.inf, -np.inf, -np.inf
        who, ties = -1, 0
        summed = 0.0
        for rank in range(ranks):
            value = float(work[row, rank]) + transfer[row, rank]
            summed += value
            if value > most:
                most, second, who, ties = value, most, rank, 0
            elif value == most:
                second, ties = value, ties + 1
            elif value > second:
                second = value
        if not np.isfinite(summed):
            return done + row
        # Wait time, moments and drift of every rank; the last rank of any other node.
        node = node_of[who]
        centred = done + row - middle
        for rank in range(ranks):
            value = float(work[row, rank])
            come = value + transfer[row, rank]
            if node_of[rank] != node and come > other_node:
                other_node = come
            off = value - shift[rank]
            sums[2, rank] += most - come
            sums[7, rank] += transfer[row, rank]
            sums[3, rank] += off
            sums[4, rank] += off * off
            sums[5, rank] += centred * off
            if value > sums[6, rank]:
                sums[6, rank] = value
                longest_body[rank] = done + row
        total[0] += most
        # The last rank alone is charged for the time after the next one has arrived ...
        lead = most - second if ranks > 1 else 0.0
        mean = (summed - lead) / ranks
        above = 0.0
        for rank in range(ranks):
            come = min(float(work[row, rank]) + transfer[row, rank], most - lead)
            above += max(come - mean, 0.0) ** 2
        sums[0, who] += lead * (ranks - 1)
        sums[8, who] += min(lead, transfer[row, who]) * (ranks - 1)
        node_sums[0, node] += lead * (ranks - 1)
        # ... and all ranks later than the mean for the rest, by the square of their delay.
        if above > 0.0:
            rate = ((most - lead) * ranks - (summed - lead)) / above
            for rank in range(ranks):
                excess = min(float(work[row, rank]) + transfer[row, rank], most - lead) - mean
                if excess > 0.0:
                    slow = transfer[row, rank] - (lead if rank == who else 0.0)
                    sums[0, rank] += rate * excess * excess
                    sums[8, rank] += rate * excess * min(excess, max(slow, 0.0))
                    node_sums[0, node_of[rank]] += rate * excess * excess
        # What would be saved if the rank, or its node, were as fast as the next.
        if ties == 0:
            last[who] += 1
        if ties == 0 or other_node < most:
            node_last[node] += 1
        if ranks > 1:
            sums[1, who] += most - second
        if other_node > -np.inf:
            node_sums[1, node] += most - other_node
    return -1
