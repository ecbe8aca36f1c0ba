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

Every process may have only its own ranks: a few numbers a body are then reduced over all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of
from hindmost.models.simulation.blocks import slabs


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
    path_s : float64 array, shape (rank,), seconds, or None
        Own work and slow transfers in the bodies in which it was last: its part of the critical
        path; None if unknown.
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
    path_s: NDArray[np.float64] | None = None
    margin_s: NDArray[np.float64] | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.last.size)

    def chance_of(self, rank: int) -> float:
        """Return a bound on the probability that any of equal ranks costs this much, alone.

        Each rank is last in 1 of P bodies, whatever that costs (Chernoff's bound on the sum of what
        it costs, Bonferroni's for all ranks). Where single bodies are not known, all that have a
        last rank cost as much.
        """
        margin_s, p = self.margin_s, 1.0 / self.ranks
        if margin_s is None:
            number = int(self.last.sum())
            margin_s = np.full(number, float(self.lost_s.sum()) / max(number, 1))
        margin_s = margin_s[margin_s > 0.0]
        if not margin_s.size or self.lost_s[rank] <= p * margin_s.sum():
            return 1.0
        tilts = np.geomspace(1e-3, 1e2, 100) / margin_s.max()
        logs = [np.log1p(p * np.expm1(tilt * margin_s)).sum() for tilt in tilts]
        least = float((np.array(logs) - tilts * self.lost_s[rank]).min())
        return float(min(1.0, self.ranks * np.exp(min(least, 0.0))))

    @property
    def waiting_share(self) -> float:
        """Share of the time of all ranks that is wait time for the last one."""
        return float(self.waited_s.sum() / (self.total_s * self.ranks)) if self.total_s else 0.0


class LatenessSum:
    """`Lateness` of a run, summed block by block.

    Parameters
    ----------
    hosts : sequence of str, one a rank of this process
    bodies : int
        Of the whole run, for the drift.
    ids : int64 array, shape (rank,), optional
        Numbers of the ranks of this process; from 0 if not given.
    reductions : Reductions
        Over all processes; what nodes cost is found by one process that holds all ranks.
    """

    def __init__(
        self,
        hosts: list[str],
        bodies: int,
        *,
        ids: NDArray[np.int64] | None = None,
        reductions: Reductions = ONE_PROCESS,
    ) -> None:
        ranks = len(hosts)
        self._count = count_of(ranks, reductions)
        if not self._count or bodies < 1:
            raise DataError(f"{bodies} iterations on {ranks} ranks; there must be some of each.")
        self._nodes = tuple(dict.fromkeys(hosts))
        places = {name: at for at, name in enumerate(self._nodes)}
        self._node_of = np.array([places[host] for host in hosts], np.int64)
        self._ids = np.arange(ranks, dtype=np.int64) if ids is None else ids
        self._reductions = reductions
        self._bodies, self._done, self._total_s = bodies, 0, 0.0
        self._last = np.zeros(ranks, np.int64)
        self._longest_body = np.zeros(ranks, np.int64)
        self._charged, self._lost, self._waited, self._path = np.zeros((4, ranks))
        self._transfer, self._by_transfer, self._longest = np.zeros((3, ranks))
        # Of the work less that of the first body: sum, sum of squares, and times the body.
        self._shift, self._sum, self._squares, self._tilted = np.zeros((4, ranks))
        self._node_last = np.zeros(len(self._nodes), np.int64)
        self._node_charged, self._node_lost = np.zeros((2, len(self._nodes)))
        self._margins = [np.empty(0)]

    def add(
        self, work: NDArray[np.floating[Any]], transfer: NDArray[np.float64] | None = None
    ) -> None:
        """Add the next bodies; collective.

        Parameters
        ----------
        work : float array, shape (iteration, rank), seconds
            Own work, without waiting.
        transfer : float64 array, shape (iteration, rank), seconds, optional
            Time in slow transfers; 0 if not given. On all processes or on none.

        Raises
        ------
        DataError
            Another number of ranks, or work that is not a number.
        """
        if work.shape[1:] != self._last.shape:
            raise DataError(f"Work of shape {work.shape} on {self._last.size} ranks.")
        if not self._done and len(work):
            self._shift = np.asarray(work[0], np.float64)
        parts: Iterable[slice] = [slice(None)]
        if self._reductions is ONE_PROCESS:  # else all processes look at as many bodies at once
            parts = slabs(len(work), self._last.size)
        for part in parts:
            own = np.asarray(work[part], np.float64)
            slow = None if transfer is None else transfer[part]
            self._add_moments(own)
            self._add_waits(own if slow is None else own + slow, slow)
            self._done += len(own)

    def _add_moments(self, work: NDArray[np.float64]) -> None:
        """Add what is known of every rank by itself."""
        bad = np.flatnonzero(~np.isfinite(work).all(axis=1))
        if bad.size:
            raise DataError(
                f"The work of iteration {self._done + bad[0]} is not a number on some rank; the "
                "run is damaged or incomplete."
            )
        off = work - self._shift
        centred = self._done + np.arange(len(work)) - (self._bodies - 1) / 2.0
        self._sum += off.sum(axis=0)
        self._squares += np.einsum("br,br->r", off, off)
        self._tilted += centred @ off
        body = work.argmax(axis=0)
        most = work[body, np.arange(body.size)]
        longer = most > self._longest
        self._longest[longer] = most[longer]
        self._longest_body[longer] = self._done + body[longer]

    def _add_waits(self, come: NDArray[np.float64], transfer: NDArray[np.float64] | None) -> None:
        """Add who waited for whom, of when ranks arrive: shape (iteration, rank), seconds."""
        reductions, ids, count = self._reductions, self._ids, self._count
        # The last rank, and the next one. If several arrive last together, none is the last one.
        most = reductions.most(come.max(axis=1, initial=-np.inf))
        at_last = come == most[:, None]
        nobody = np.iinfo(np.int64).max
        who = np.where(at_last, ids, nobody).min(axis=1, initial=nobody)
        first_last = ids == reductions.least(who)[:, None]
        second = reductions.most(np.where(first_last, -np.inf, come).max(axis=1, initial=-np.inf))
        margin = np.where(np.isfinite(second), most - second, 0.0)
        sums = np.stack([come.sum(axis=1), at_last.sum(axis=1)])
        came, together = reductions.total(sums)
        alone = (together == 1.0)[:, None] & at_last
        # The wait for the last rank alone is charged to it, the rest to ranks later than the mean.
        lead = first_last * margin[:, None]
        excess = np.maximum(come - lead - ((came - margin) / count)[:, None], 0.0)
        square = excess * excess
        above = reductions.total(square.sum(axis=1))
        waiting = (most - margin) * count - (came - margin)
        rate = np.divide(waiting, above, out=np.zeros_like(waiting), where=above > 0.0)[:, None]
        charged = (lead * (count - 1) + rate * square).sum(axis=0)
        self._margins.append(np.where(together == 1.0, margin, 0.0))
        self._total_s += float(most.sum())
        self._last += alone.sum(axis=0)
        self._charged += charged
        self._lost += (alone * margin[:, None]).sum(axis=0)
        self._waited += (most[:, None] - come).sum(axis=0)
        self._path += (alone * come).sum(axis=0)
        if transfer is not None:
            slow_rest = np.minimum(excess, np.maximum(transfer - lead, 0.0))
            self._transfer += transfer.sum(axis=0)
            self._by_transfer += np.minimum(lead, transfer).sum(axis=0) * (count - 1)
            self._by_transfer += (rate * excess * slow_rest).sum(axis=0)
        if reductions is ONE_PROCESS:
            self._add_nodes(come, most, first_last.argmax(axis=1), charged)

    def _add_nodes(
        self,
        come: NDArray[np.float64],
        most: NDArray[np.float64],
        who: NDArray[np.intp],
        charged: NDArray[np.float64],
    ) -> None:
        """Add what nodes cost each other; a node is the last one if no other is as late."""
        node, nodes = self._node_of[who], len(self._nodes)
        elsewhere = np.where(self._node_of == node[:, None], -np.inf, come).max(axis=1)
        self._node_last += np.bincount(node[elsewhere < most], minlength=nodes)
        saved = np.where(np.isfinite(elsewhere), most - elsewhere, 0.0)
        self._node_lost += np.bincount(node, saved, nodes)
        self._node_charged += np.bincount(self._node_of, charged, nodes)

    def result(self) -> Lateness:
        """Return the lateness of the bodies so far."""
        done = max(self._done, 1)
        mean = self._shift + self._sum / done
        variance = np.maximum(self._squares / done - (self._sum / done) ** 2, 0.0)
        # the slope of a line through all bodies, times the steps from the first to the last
        spread = done * (done * done - 1.0) / 12.0
        middle = (self._bodies - 1) / 2.0 - (done - 1) / 2.0
        tilted = self._tilted + middle * self._sum
        change = tilted * (done - 1) / spread if spread else np.zeros_like(mean)
        return Lateness(
            bodies=self._done,
            total_s=self._total_s,
            last=self._last.copy(),
            charged_s=self._charged.copy(),
            lost_s=self._lost.copy(),
            waited_s=self._waited.copy(),
            transfer_s=self._transfer.copy(),
            transfer_charged_s=self._by_transfer.copy(),
            work_s=mean,
            deviation_s=np.sqrt(variance),
            longest_s=self._longest.copy(),
            longest_body=self._longest_body.copy(),
            drift=np.divide(change, mean, out=np.zeros_like(mean), where=mean > 0),
            nodes=self._nodes,
            node_of=self._node_of,
            node_last=self._node_last.copy(),
            node_charged_s=self._node_charged.copy(),
            node_lost_s=self._node_lost.copy(),
            path_s=self._path.copy(),
            margin_s=np.concatenate(self._margins),
        )


def lateness(
    work: NDArray[np.floating[Any]],
    hosts: list[str],
    transfer: NDArray[np.float64] | None = None,
    *,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> Lateness:
    """Return the stragglers of a run in memory; collective.

    Parameters
    ----------
    work : float array, shape (iteration, rank), seconds
    hosts : list of str, one a rank
    transfer : float64 array, shape (iteration, rank), seconds, optional
        Time in slow transfers.
    ids, reductions
        See `LatenessSum`.
    """
    gone_through = LatenessSum(hosts, len(work), ids=ids, reductions=reductions)
    gone_through.add(work, transfer)
    return gone_through.result()
