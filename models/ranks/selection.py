"""Which ranks keep their full records, if only a share of them can.

The thesis of Lee (2009) keeps the exemplars and outliers of k-means, and suggests adding ranks that
communicate, ranks of the critical path and the phases of a run. Here exemplars come first. The
remaining places are divided evenly among criteria, each of which continues down its list past the
ranks that are kept already:

- ``outliers``: farthest from the centroids of k-means, in proportion to the clusters;
- ``node``: ranks of a node that is an outlier among the nodes by its total work, six times as many
  as by other criteria;
- ``unlike in a phase``: in windows of the run, farthest from their group for their window;
- ``critical``: the most work in bodies in which the rank was last, its part of the critical path;
- ``peaks``: occasional bodies with more work than the rank has in most;
- ``waiting``: the least wait time.

Every criterion is a score that a rank computes itself; the root sorts the scores of all and says
which ranks are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.extrema import MIN_RANKS
from hindmost.models.ranks.kmeans import Clustering, cluster, cluster_by_silhouette
from hindmost.models.ranks.lateness import Lateness, lateness
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of
from hindmost.models.ranks.vectors import RankMetrics

NODE_DEVIATIONS = 4.0
"""Standard deviations of the other nodes by which an outlier node is slower."""
NODE_WEIGHT = 6
"""Number of ranks kept of such a node, relative to other criteria."""
CRITERIA = ("node", "unlike in a phase", "critical", "peaks", "waiting")
"""Criteria besides the outliers of k-means; all by default."""
ALWAYS = "always"
"""Reason of ranks that are kept in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Ranks that are kept.

    Attributes
    ----------
    kept : bool array, shape (rank,)
        Of this process.
    reasons : int64 array, shape (rank,)
        Place in ``names``; -1 for those that are not kept.
    names : tuple of str
        Reasons to keep ranks.
    clustering : Clustering
    """

    kept: NDArray[np.bool_]
    reasons: NDArray[np.int64]
    names: tuple[str, ...]
    clustering: Clustering


def ranks_to_keep(share: float, ranks: int) -> int:
    """Return how many ranks a share is: at least one; raise a UsageError for no share."""
    if not 0.0 < share <= 1.0:
        raise UsageError(f"A share of {share:g} of the ranks; it must be above 0 and at most 1.")
    return max(1, round(share * ranks))


def select(
    clustering: Clustering,
    count: int,
    scores: Mapping[str, NDArray[np.float64]],
    *,
    ids: NDArray[np.int64] | None = None,
    always: NDArray[np.bool_] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> Selection:
    """Choose a number of ranks to keep; collective.

    Parameters
    ----------
    count : int
        Of all processes; all ranks if there are fewer.
    scores : mapping of str to float64 array, shape (rank,)
        By criterion, in addition to the outliers of the clustering. Larger scores are kept first;
        minus infinity never.
    always : bool array, shape (rank,), optional
        Of this process: kept in any case, and first, for the reason `ALWAYS`.
    """
    names = ("exemplar", "outlier", *scores)
    kept = np.zeros(clustering.labels.size, bool) if always is None else always
    reasons = np.where(kept, len(names), -1)
    taken = 0 if always is None else count_of(int(kept.sum()), reductions)
    typical = exemplars(
        clustering,
        most=min(max(1, count // 4), max(0, count - taken)),
        ids=ids,
        reductions=reductions,
    )
    reasons[typical & ~kept] = 0
    kept = kept | typical
    left = min(count, int(clustering.sizes.sum())) - count_of(int(kept.sum()), reductions)
    left = max(0, left)
    weights = [1, *(NODE_WEIGHT if name == "node" else 1 for name in scores), 0]
    # the last turn is the outliers' again, for what no criterion has taken
    for at in (*range(1, len(names)), 1):
        weight, later = weights.pop(0), sum(weights)
        quota = -(-left * weight // (weight + later)) if later else left
        if at == 1:
            more = outliers(clustering, quota, but=kept, ids=ids, reductions=reductions)
        else:
            free = np.where(kept, -np.inf, scores[names[at]])
            more = largest(free, np.array([quota]), ids=ids, reductions=reductions)
        reasons[more] = at
        kept = kept | more
        left -= count_of(int(more.sum()), reductions)
    if always is not None:
        names = (*names, ALWAYS)
    return Selection(kept=kept, reasons=reasons, names=names, clustering=clustering)


def unlike_in_windows(
    windows: Sequence[RankMetrics],
    k: int,
    *,
    seed: int = 0,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.float64]:
    """Return how far ranks are from their group in the window where they are farthest; collective.

    Distances are over the root mean square of the distances in the window.

    Parameters
    ----------
    windows : sequence of RankMetrics
        The same ranks in one window of the run after the other.
    k : int
        Groups in every window.

    Returns
    -------
    float64 array, shape (rank,)
    """
    farthest = np.zeros(windows[0].ranks)
    for window in windows:
        vectors = window.normalised(reductions)
        groups = cluster(vectors, k, starts=2, seed=seed, reductions=reductions)
        typical = np.sqrt(groups.inertia / groups.sizes.sum())
        if typical > 0:
            np.maximum(farthest, groups.distances / typical, out=farthest)
    return farthest


def exemplars(
    clustering: Clustering,
    *,
    most: int | None = None,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.bool_]:
    """Return which ranks of this process are nearest to the centroid of their cluster; collective.

    Parameters
    ----------
    most : int, optional
        Most clusters to give an exemplar, the largest first.

    Returns
    -------
    bool array, shape (rank,)
    """
    quota = np.ones(clustering.k, np.int64)
    quota[clustering.k if most is None else most :] = 0
    return largest(
        -clustering.distances, quota, groups=clustering.labels, ids=ids, reductions=reductions
    )


def outliers(
    clustering: Clustering,
    count: int,
    *,
    but: NDArray[np.bool_] | None = None,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.bool_]:
    """Return which ranks of this process are farthest from their centroids; collective.

    Parameters
    ----------
    count : int
        Of all clusters together, in proportion to their sizes.
    but : bool array, shape (rank,), optional
        Ranks that are kept already, and not counted.

    Returns
    -------
    bool array, shape (rank,)
    """
    scores = clustering.distances.copy()
    free = clustering.sizes.copy()
    if but is not None:
        scores[but] = -np.inf
        taken = np.bincount(clustering.labels[but], minlength=clustering.k).astype(np.int64)
        free -= reductions.total(taken)
    quota = in_proportion(count, clustering.sizes, free)
    return largest(scores, quota, groups=clustering.labels, ids=ids, reductions=reductions)


def in_proportion(
    count: int, sizes: NDArray[np.int64], free: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Share a count out over clusters by their sizes, by largest remainders, at most what is free.

    Returns
    -------
    int64 array, shape (cluster,)
    """
    quota = np.zeros(sizes.size, np.int64)
    left = min(count, int(free.sum()))
    while left > 0:
        open_ = quota < free
        exact = left * np.where(open_, sizes, 0) / sizes[open_].sum()
        more = np.floor(exact).astype(np.int64)
        order = np.argsort(more - exact, kind="stable")
        more[order[open_[order]][: left - int(more.sum())]] += 1
        more = np.minimum(more, free - quota)
        quota += more
        left -= int(more.sum())
    return quota


def largest(
    scores: NDArray[np.float64],
    quota: NDArray[np.int64],
    *,
    groups: NDArray[np.int64] | None = None,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> NDArray[np.bool_]:
    """Return which ranks of this process are among the largest of their group; collective.

    The root sorts them all: 2.4 MB of 100,000 ranks.

    Parameters
    ----------
    scores : float64 array, shape (rank,)
        Minus infinity: never.
    quota : int64 array, shape (group,)
        Most ranks of every group.
    groups : int64 array, shape (rank,), optional
        All in group 0 if not given.
    ids : int64 array, shape (rank,), optional
        Numbers of the ranks, which settle ties; from 0 if not given.

    Returns
    -------
    bool array, shape (rank,)
    """
    groups = np.zeros(scores.size, np.int64) if groups is None else groups
    ids = np.arange(scores.size, dtype=np.int64) if ids is None else ids
    every = reductions.gathered(np.stack([scores, groups, ids], axis=1))
    chosen: NDArray[np.float64] | None = None
    if every is not None:
        every = every[every[:, 0] > -np.inf]
        order = np.lexsort((every[:, 2], -every[:, 0], every[:, 1]))
        _, group, number = every[order].T
        place = np.arange(group.size) - np.searchsorted(group, group)
        chosen = number[place < quota[group.astype(np.int64)]]
    return np.isin(ids, reductions.shared(chosen))


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

    def windows(self, count: int = 4) -> list[RankMetrics]:
        """Return the vectors in equal windows of the run."""
        bodies = len(next(iter(self.parts.values())))
        edges = np.linspace(0, bodies, min(count, bodies) + 1).astype(int)
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
    assert meeting.path_s is not None
    level = reductions.total(work.sum(axis=1)) / count_of(ids.size, reductions)
    scores = {
        "node": on_slow_nodes(bodies, reductions),
        "unlike in a phase": unlike_in_windows(
            bodies.windows(), groups.k, seed=seed, reductions=reductions
        ),
        "critical": np.where(meeting.last > 0, meeting.path_s, -np.inf),
        "peaks": peaks(work, level),
        "waiting": -meeting.waited_s,
    }
    scores = {name: scores[name] for name in criteria}
    named = np.isin(ids, always) if always else None
    chosen = select(groups, count, scores, ids=ids, always=named, reductions=reductions)
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
    if bodies.nodes >= MIN_RANKS:
        for node in range(bodies.nodes):
            others = np.delete(mean, node)
            spread = max(float(others.std(ddof=1)), 1e-12 * longest)
            out[node] = mean[node] - others.mean() > NODE_DEVIATIONS * spread
    return np.where(out[bodies.node_of], work, -np.inf)
