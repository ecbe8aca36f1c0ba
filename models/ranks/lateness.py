"""Who is hindmost: which rank comes last in every body, how often, and what that costs the others.

In a body the rank with the most own work lets all others wait (several that have as much share what
the others wait, and none is the last one). What they wait is charged to it:
``charged``, the sum over the others of the last rank's work less theirs, which over all bodies is
all waiting of the run. What it costs by itself is ``lost``: by how much the body would end earlier
if this rank (or all ranks of its node) were as quick as the last of the rest. A slow node loses
much, though none of its ranks does: the others of the node are as late.

Where reductions overlap with work (pipelined solvers), a rank that is last in one body may catch up
in the next, so both are upper limits there; `critical` walks from event to event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """What every rank and node costs the others.

    Attributes
    ----------
    bodies : int
    total_s : float
        Time of all bodies, each as long as the most work in it.
    last : int64 array, shape (rank,)
        Bodies in which the rank was the last one.
    charged_s, lost_s : float64 array, shape (rank,), rank-seconds and seconds
        See the description of this module.
    waited_s : float64 array, shape (rank,), seconds
        What the rank waited for others.
    work_s, deviation_s : float64 array, shape (rank,), seconds
        Mean and standard deviation over bodies of the own work.
    longest_s : float64 array, shape (rank,), seconds
        The most work in one body.
    longest_body : int64 array, shape (rank,)
        Which body that was.
    drift : float64 array, shape (rank,)
        Change of the work from the first to the last body by a straight line, relative to the mean.
    nodes : tuple of str
    node_of : int64 array, shape (rank,)
    node_last : int64 array, shape (node,)
    node_charged_s, node_lost_s : float64 array, shape (node,)
    """

    bodies: int
    total_s: float
    last: NDArray[np.int64]
    charged_s: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    waited_s: NDArray[np.float64]
    work_s: NDArray[np.float64]
    deviation_s: NDArray[np.float64]
    longest_s: NDArray[np.float64]
    longest_body: NDArray[np.int64]
    drift: NDArray[np.float64]
    nodes: tuple[str, ...]
    node_of: NDArray[np.int64]
    node_last: NDArray[np.int64]
    node_charged_s: NDArray[np.float64]
    node_lost_s: NDArray[np.float64]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.last.size)

    @property
    def chance(self) -> float:
        """How likely it is that some rank is last so often by chance alone, at most 1.

        Bonferroni's bound on a binomial law: every rank is last in 1 of P bodies.
        """
        from scipy import stats  # not on the ranks

        tail = stats.binom.sf(int(self.last.max()) - 1, self.bodies, 1.0 / self.ranks)
        return float(min(1.0, tail * self.ranks))

    @property
    def waiting_share(self) -> float:
        """Share of the time of all ranks that is spent waiting for the last one."""
        return float(self.waited_s.sum() / (self.total_s * self.ranks)) if self.total_s else 0.0


class Sweep:
    """Bodies that are gone through block by block, once, however many there are.

    Parameters
    ----------
    hosts : sequence of str, one a rank
    bodies : int
        Of the whole run, for the drift.
    """

    def __init__(self, hosts: list[str], bodies: int) -> None:
        ranks = len(hosts)
        if not ranks or bodies < 1:
            raise DataError(f"{bodies} bodies on {ranks} ranks; there must be some of each.")
        self._nodes = tuple(dict.fromkeys(hosts))
        places = {name: at for at, name in enumerate(self._nodes)}
        self._node_of = np.array([places[host] for host in hosts], np.int64)
        self._bodies, self._done = bodies, 0
        self._total = np.zeros(1)
        self._last = np.zeros(ranks, np.int64)
        self._longest_body = np.zeros(ranks, np.int64)
        self._sums = np.zeros((7, ranks))
        self._shift = np.zeros(ranks)
        self._node_last = np.zeros(len(self._nodes), np.int64)
        self._node_sums = np.zeros((2, len(self._nodes)))

    def add(self, work: NDArray[np.floating[Any]]) -> None:
        """Go through the next bodies.

        Parameters
        ----------
        work : float array, shape (iteration, rank), seconds
            Own work; waiting not included.

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
        bad = compiled(sweep)(
            work,
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
                f"The work of body {bad} is not a number on some rank; the run is damaged or "
                "incomplete."
            )
        self._done += len(work)

    def result(self) -> Lateness:
        """Return what the bodies so far come to."""
        done = max(self._done, 1)
        charged, lost, waited, summed, squares, tilted, longest = self._sums
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


def lateness(work: NDArray[np.floating[Any]], hosts: list[str]) -> Lateness:
    """Return who is hindmost in a run that lies in memory.

    Parameters
    ----------
    work : float array, shape (iteration, rank), seconds
    hosts : list of str, one a rank
    """
    gone_through = Sweep(hosts, len(work))
    gone_through.add(work)
    return gone_through.result()


def sweep(
    work: NDArray[np.float64],
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

    Where several ranks come last at once, none of them is the last one, and each causes its part of
    the waiting; the same of nodes.
    """
    ranks = work.shape[1]
    for row in range(work.shape[0]):
        most, second, other_node = -np.inf, -np.inf, -np.inf
        who, ties = -1, 0
        summed = 0.0
        for rank in range(ranks):
            value = float(work[row, rank])
            summed += value
            if value > most:
                most, second, who, ties = value, most, rank, 0
            elif value == most:
                second, ties = value, ties + 1
            elif value > second:
                second = value
        if not np.isfinite(summed):
            return done + row
        node = node_of[who]
        centred = done + row - middle
        for rank in range(ranks):
            value = float(work[row, rank])
            if node_of[rank] != node and value > other_node:
                other_node = value
            off = value - shift[rank]
            sums[2, rank] += most - value
            sums[3, rank] += off
            sums[4, rank] += off * off
            sums[5, rank] += centred * off
            if value > sums[6, rank]:
                sums[6, rank] = value
                longest_body[rank] = done + row
        total[0] += most
        charged = most * ranks - summed
        if ties == 0:
            last[who] += 1
            sums[0, who] += charged
            node_last[node] += 1
            node_sums[0, node] += charged
        else:
            for rank in range(ranks):
                if work[row, rank] == most:
                    sums[0, rank] += charged / (ties + 1)
                    node_sums[0, node_of[rank]] += charged / (ties + 1)
            if other_node < most:
                node_last[node] += 1
        if ranks > 1:
            sums[1, who] += most - second
        if other_node > -np.inf:
            node_sums[1, node] += most - other_node
    return -1
