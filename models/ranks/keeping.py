"""The criteria of a run, and the ranks that it keeps by them; see `selection`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.ranks.choosing_k import cluster_by_silhouette
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.ranks.meeting import Meeting, meet, over_bodies
from hindmost.models.ranks.selection import (
    Criterion,
    Selection,
    ranks_to_keep,
    select,
    unlike_in_windows,
)
from hindmost.models.ranks.together import ALONE, Together, count_of, exact_grid, on_grid
from hindmost.models.ranks.vectors import RankMetrics

WINDOWS = 4
NODE_DEVIATIONS = 4.0
"""How many standard deviations of the other nodes a node is slower that stands out."""
LEAST_NODES = 4
NODE_WEIGHT = 6
"""Its ranks, where one does, are so many times as many as those of another criterion."""
CRITERIA = ("node", "unlike in a phase", "critical", "peaks", "waiting")
"""What counts beside the outliers of k-means, by default all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodiesOfRanks:
    """What the ranks of this process did in every body.

    Attributes
    ----------
    parts : dict of str to float64 array, shape (iteration, rank), seconds
        Own work by kind (the phases without waiting).
    counts : dict of str to (str, float64 array of shape (rank,))
        What is known of a whole rank, with its domain: messages, bytes.
    ids : int64 array, shape (rank,)
        Numbers of the ranks.
    node_of : int64 array, shape (rank,)
    nodes : int
        Of all processes.
    """

    parts: dict[str, NDArray[np.float64]]
    counts: dict[str, tuple[str, NDArray[np.float64]]]
    ids: NDArray[np.int64]
    node_of: NDArray[np.int64]
    nodes: int

    def __post_init__(self) -> None:
        """Refuse a run of nothing."""
        if not self.parts or any(part.shape[0] < 1 for part in self.parts.values()):
            raise DataError("No body was recorded, so there is nothing to choose ranks by.")

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
        columns = [over_bodies(part[rows]) for part in self.parts.values()]
        columns += [values for _, values in self.counts.values()]
        return RankMetrics(
            values=np.stack(columns, axis=1),
            names=(*self.parts, *self.counts),
            units=("s",) * len(self.parts) + ("1",) * len(self.counts),
            domains=("time",) * len(self.parts) + tuple(name for name, _ in self.counts.values()),
        )

    def windows(self, count: int = WINDOWS) -> list[RankMetrics]:
        """Return the vectors in equal windows of the run."""
        edges = np.linspace(0, self.bodies, min(count, self.bodies) + 1).astype(int)
        return [self.metrics(slice(a, b)) for a, b in pairwise(edges)]


def keep(
    bodies: BodiesOfRanks,
    share: float,
    *,
    k: int | None = None,
    seed: int = 0,
    criteria: tuple[str, ...] = CRITERIA,
    always: tuple[int, ...] = (),
    together: Together = ALONE,
) -> tuple[Selection, Meeting]:
    """Choose the ranks that keep their full records; collective.

    Parameters
    ----------
    share : float
        Of all ranks, above 0 and at most 1.
    k : int, optional
        Groups of ranks; by their silhouette if not given.
    criteria : tuple of str
        Of `CRITERIA`; none: the outliers and exemplars of k-means alone.
    always : tuple of int
        Ranks that are kept in any case; they count.
    """
    ids = bodies.ids
    vectors = bodies.metrics().normalised(together)
    count = ranks_to_keep(share, count_of(len(vectors), together))
    if k is None:
        groups = cluster_by_silhouette(vectors, seed=seed, ids=ids, together=together)
    else:
        groups = cluster(vectors, k, seed=seed, ids=ids, together=together)
    meeting = meet(bodies.work, ids=ids, together=together)
    scores = {}
    if "node" in criteria:
        scores["node"] = on_slow_nodes(bodies, together)
    if "unlike in a phase" in criteria:
        scores["unlike in a phase"] = unlike_in_windows(
            bodies.windows(), groups.k, seed=seed, ids=ids, together=together
        )
    if "critical" in criteria:
        scores["critical"] = np.where(meeting.last > 0, meeting.path_s, -np.inf)
    if "peaks" in criteria:
        scores["peaks"] = peaks(bodies.work, meeting.level_s)
    if "waiting" in criteria:
        scores["waiting"] = -meeting.waited_s
    wanted = [
        Criterion(name=name, scores=scores[name], weight=NODE_WEIGHT if name == "node" else 1)
        for name in criteria
    ]
    named = np.isin(ids, always) if always else None
    chosen = select(groups, count, wanted, ids=ids, always=named, together=together)
    return chosen, meeting


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
    return over_bodies(np.maximum(off - high, 0.0))


def on_slow_nodes(bodies: BodiesOfRanks, together: Together = ALONE) -> NDArray[np.float64]:
    """Return the work of ranks whose node stands out as a whole, else -inf: (rank,); collective.

    A node stands out if its mean is above that of the other nodes by `NODE_DEVIATIONS` of their
    standard deviations.
    """
    work = over_bodies(bodies.work)
    longest = float(together.most(np.array([work.max(initial=0.0)]))[0])
    ranks = count_of(work.size, together)
    summed = np.bincount(
        bodies.node_of, on_grid(work, exact_grid(longest, ranks)), minlength=bodies.nodes
    )
    counted = np.bincount(bodies.node_of, minlength=bodies.nodes).astype(np.float64)
    packed = together.total(np.stack([summed, counted]))
    mean = packed[0] / np.maximum(packed[1], 1.0)
    out = np.zeros(bodies.nodes, bool)
    if bodies.nodes >= LEAST_NODES:
        for node in range(bodies.nodes):
            others = np.delete(mean, node)
            spread = max(float(others.std(ddof=1)), 1e-12 * longest)
            out[node] = mean[node] - others.mean() > NODE_DEVIATIONS * spread
    return np.where(out[bodies.node_of], work, -np.inf)
