"""The ranks that a run keeps, by its criteria; see `selection`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.ranks.extrema import MATTERS
from hindmost.models.ranks.kmeans import cluster_by_silhouette
from hindmost.models.ranks.lateness import Lateness, lateness
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of
from hindmost.models.ranks.selection import (
    Selection,
    SelectionCriterion,
    ranks_to_keep,
    select,
    unlike_in_windows,
)
from hindmost.models.ranks.vectors import RankMetrics

WINDOWS = 4
HALO = "halo"
"""Name of the time in halo exchanges."""
NODE_DEVIATIONS = 4.0
"""Standard deviations of the other nodes by which an outlier node is slower."""
LEAST_NODES = 4
NODE_WEIGHT = 6
"""Number of ranks kept of such a node, relative to other criteria."""
CRITERIA = ("node", "unlike in a phase", "critical", "transfers", "peaks", "waiting")
"""Criteria besides the outliers of k-means; all by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodiesOfRanks:
    """The bodies of the ranks of this process.

    Attributes
    ----------
    parts : dict of str to float64 array, shape (iteration, rank), seconds
        Own work by kind (the phases without waiting).
    not_work : dict of str to float64 array, shape (iteration, rank), seconds
        All other time by kind: in halo exchanges, waiting, in unclassified MPI calls.
    transfer : float64 array, shape (iteration, rank), seconds, or None
        Time in slow transfers; None if unknown, on all processes or on none.
    counts : dict of str to (str, float64 array of shape (rank,))
        Counts of a rank in the whole run, with their domain: messages, bytes.
    ids : int64 array, shape (rank,)
        Numbers of the ranks.
    node_of : int64 array, shape (rank,)
    nodes : int
        Of all processes.
    """

    parts: dict[str, NDArray[np.float64]]
    not_work: dict[str, NDArray[np.float64]]
    transfer: NDArray[np.float64] | None
    counts: dict[str, tuple[str, NDArray[np.float64]]]
    ids: NDArray[np.int64]
    node_of: NDArray[np.int64]
    nodes: int

    def __post_init__(self) -> None:
        """Refuse a run of nothing."""
        if not self.parts or any(part.shape[0] < 1 for part in self.parts.values()):
            raise DataError("No iteration was recorded, so there is nothing to choose ranks by.")

    @property
    def bodies(self) -> int:
        """Number of bodies."""
        return next(iter(self.parts.values())).shape[0]

    @property
    def work(self) -> NDArray[np.float64]:
        """All own work: float64, shape (iteration, rank), seconds."""
        summed: NDArray[np.float64] = np.sum(list(self.parts.values()), axis=0)
        return summed

    def metrics(self, rows: slice = slice(None)) -> RankMetrics:
        """Return the vector of every rank over some bodies; counts as they are."""
        times = {**self.parts, **self.not_work}
        columns = [part[rows].sum(axis=0) for part in times.values()]
        columns += [values for _, values in self.counts.values()]
        return RankMetrics(
            values=np.stack(columns, axis=1),
            names=(*times, *self.counts),
            units=("s",) * len(times) + ("1",) * len(self.counts),
            domains=("time",) * len(times) + tuple(name for name, _ in self.counts.values()),
        )

    def windows(self, count: int = WINDOWS) -> list[RankMetrics]:
        """Return the vectors in equal windows of the run."""
        edges = np.linspace(0, self.bodies, min(count, self.bodies) + 1).astype(int)
        return [self.metrics(slice(a, b)) for a, b in pairwise(edges)]


def keep(
    bodies: BodiesOfRanks,
    share: float,
    *,
    seed: int = 0,
    criteria: tuple[str, ...] = CRITERIA,
    always: tuple[int, ...] = (),
    reductions: Reductions = ONE_PROCESS,
) -> tuple[Selection, Lateness]:
    """Choose the ranks that keep their full records; collective.

    Parameters
    ----------
    share : float
        Of all ranks, above 0 and at most 1.
    criteria : tuple of str
        Of `CRITERIA`; none: the outliers and exemplars of k-means alone.
    always : tuple of int
        Ranks that are kept in any case; they count.
    """
    ids = bodies.ids
    vectors = bodies.metrics().normalised(reductions)
    count = ranks_to_keep(share, count_of(len(vectors), reductions))
    groups = cluster_by_silhouette(vectors, seed=seed, reductions=reductions)
    work, hosts = bodies.work, [str(node) for node in bodies.node_of]
    meeting = lateness(work, hosts, bodies.transfer, ids=ids, reductions=reductions)
    scores = {}
    if "node" in criteria:
        scores["node"] = on_slow_nodes(bodies, reductions)
    if "unlike in a phase" in criteria:
        scores["unlike in a phase"] = unlike_in_windows(
            bodies.windows(), groups.k, seed=seed, reductions=reductions
        )
    if "critical" in criteria:
        assert meeting.path_s is not None
        scores["critical"] = np.where(meeting.last > 0, meeting.path_s, -np.inf)
    if "transfers" in criteria:
        scores["transfers"] = in_transfers(bodies, reductions)
    if "peaks" in criteria:
        level = reductions.total(work.sum(axis=1)) / count_of(ids.size, reductions)
        scores["peaks"] = peaks(work, level)
    if "waiting" in criteria:
        scores["waiting"] = -meeting.waited_s
    wanted = [
        SelectionCriterion(
            name=name, scores=scores[name], weight=NODE_WEIGHT if name == "node" else 1
        )
        for name in criteria
        if name != "transfers" or anywhere(scores[name], reductions)  # else its room is the others'
    ]
    named = np.isin(ids, always) if always else None
    chosen = select(groups, count, wanted, ids=ids, always=named, reductions=reductions)
    return chosen, meeting


def anywhere(scores: NDArray[np.float64], reductions: Reductions) -> bool:
    """Tell whether some rank has a score; collective."""
    return bool(reductions.most(np.array([scores.max(initial=-np.inf)]))[0] > -np.inf)


def in_transfers(
    bodies: BodiesOfRanks, reductions: Reductions = ONE_PROCESS
) -> NDArray[np.float64]:
    """Return what slow transfers took each rank, or its time in halos: (rank,), s; collective.

    Ranks that lost nothing by it, or less than a hundredth of their work, are not kept for it.
    """
    if bodies.transfer is not None:
        lost = bodies.transfer.sum(axis=0)
    else:
        lost = bodies.not_work.get(HALO, np.zeros(bodies.work.shape)).sum(axis=0)
        lost = lost - reductions.least(np.array([lost.min(initial=np.inf)]))[0]
    return np.where(lost > MATTERS * bodies.work.sum(axis=0), lost, -np.inf)


def peaks(work: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what ranks do in single bodies beyond what they do in most: (rank,), seconds.

    The sum of what goes beyond the rank's own 90 % quantile, the mean over ranks taken off before,
    so that bodies that are long everywhere do not count.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    level : float64 array, shape (iteration,), seconds
        Mean over all ranks.
    """
    off = work - level[:, None]
    high = np.quantile(off, 0.9, axis=0)
    return np.asarray(np.maximum(off - high, 0.0).sum(axis=0))


def on_slow_nodes(
    bodies: BodiesOfRanks, reductions: Reductions = ONE_PROCESS
) -> NDArray[np.float64]:
    """Return the work of ranks whose node stands out as a whole, else -inf: (rank,); collective.

    A node stands out if its mean is above that of the other nodes by `NODE_DEVIATIONS` of their
    standard deviations.
    """
    work = bodies.work.sum(axis=0)
    longest = float(reductions.most(np.array([work.max(initial=0.0)]))[0])
    summed = np.bincount(bodies.node_of, work, minlength=bodies.nodes)
    counted = np.bincount(bodies.node_of, minlength=bodies.nodes).astype(np.float64)
    packed = reductions.total(np.stack([summed, counted]))
    mean = packed[0] / np.maximum(packed[1], 1.0)
    out = np.zeros(bodies.nodes, bool)
    if bodies.nodes >= LEAST_NODES:
        for node in range(bodies.nodes):
            others = np.delete(mean, node)
            spread = max(float(others.std(ddof=1)), 1e-12 * longest)
            out[node] = mean[node] - others.mean() > NODE_DEVIATIONS * spread
    return np.where(out[bodies.node_of], work, -np.inf)
