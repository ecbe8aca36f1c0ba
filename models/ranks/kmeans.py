"""k-means over the vectors of ranks, on one process and on many.

The parallel loop of Lee (2009): the root draws initial centroids and broadcasts them; every
process finds the nearest one of each of its ranks and contributes to the sums that move the
centroids, until these hardly move. Initial centroids are drawn far from each other, as k-means++
does (Arthur and Vassilvitskii, 2007), several times; the grouping with the least inertia is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of

STARTS = 5
MAX_ROUNDS = 100
TOLERANCE = 1e-3
"""Relative to the largest normalised value: a start whose centroids move less is done."""
MAX_CLUSTERS = 8
MIN_SILHOUETTE = 0.6
"""Not reached by pieces of a single group, unless it lies along a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """Groups of ranks.

    Attributes
    ----------
    labels : int64 array, shape (rank,)
        Cluster of every rank of this process; cluster 0 is the largest.
    centroids : float64 array, shape (cluster, metric)
    sizes : int64 array, shape (cluster,)
        Ranks of all processes in each; none is empty.
    distances : float64 array, shape (rank,)
        Of every rank of this process from its centroid.
    inertia : float
        Sum of the squared distances of all ranks.
    silhouette : float
        Mean over all ranks of (b - a) / max(a, b), with the distance a from the own centroid and b
        from the next; 0 for one cluster, and for ranks that are alone in theirs.
    """

    labels: NDArray[np.int64]
    centroids: NDArray[np.float64]
    sizes: NDArray[np.int64]
    distances: NDArray[np.float64]
    inertia: float
    silhouette: float

    @property
    def k(self) -> int:
        """Number of clusters."""
        return int(self.sizes.size)


def cluster(
    vectors: NDArray[np.float64],
    k: int,
    *,
    starts: int = STARTS,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    reductions: Reductions = ONE_PROCESS,
) -> Clustering:
    """Divide ranks into k groups; collective.

    Parameters
    ----------
    vectors : float64 array, shape (rank, metric)
        Normalised; see `RankMetrics.normalised`.
    k : int
        Fewer come out where fewer ranks differ.
    tolerance : float
        Of the largest value, by which centroids may still move at the end; 0: until none does.

    Raises
    ------
    UsageError
        k or the number of starts is below 1.
    DataError
        No rank, or a vector that is not finite.
    """
    if k < 1 or starts < 1:
        raise UsageError(f"{k} clusters from {starts} starts; both must be at least 1.")
    count = count_of(len(vectors), reductions)
    bad = reductions.most(np.array([float(not np.isfinite(vectors).all())]))[0]
    if not count or bad:
        raise DataError("No rank to group." if not count else "A rank's vector is not a number.")
    greatest = float(reductions.most(np.array([np.abs(vectors).max(initial=0.0)]))[0])
    firsts = first_centroids(vectors, min(k, count), starts, seed, reductions)
    found = [moved_centroids(vectors, first, tolerance * greatest, reductions) for first in firsts]
    centroids, _ = min(found, key=lambda each: each[1])
    return _finished(vectors, centroids, reductions)


def cluster_by_silhouette(
    vectors: NDArray[np.float64], *, seed: int = 0, reductions: Reductions = ONE_PROCESS
) -> Clustering:
    """Put ranks into as many groups as stand apart best, one if none do; collective.

    The silhouette with respect to centroids needs only distances from centroids, which every
    process has for its own ranks; that of pairs grows with the square of the ranks. A Bayesian
    criterion of spherical groups with one variance would find more groups the more ranks lie along
    a line, as they do with load imbalance. Here such ranks still form two groups or more, which
    costs a choice of ranks only additional exemplars.
    """
    best = one = cluster(vectors, 1, starts=1, seed=seed, reductions=reductions)
    for k in range(2, MAX_CLUSTERS + 1):
        tried = cluster(vectors, k, seed=seed, reductions=reductions)
        if tried.k < k:
            break
        if tried.silhouette > best.silhouette:
            best = tried
    return best if best.silhouette >= MIN_SILHOUETTE else one


def first_centroids(
    vectors: NDArray[np.float64], k: int, starts: int, seed: int, reductions: Reductions
) -> NDArray[np.float64]:
    """Draw k ranks for every start, far from each other: float64, shape (start, k, metric).

    The root does, from the vectors of all ranks: 16 MB of 100,000 ranks with 20 metrics.
    """
    every = reductions.gathered(vectors)
    drawn: NDArray[np.float64] | None = None
    if every is not None:
        random = np.random.default_rng(seed)
        drawn = np.empty((starts, k, every.shape[1]))
        for centroids in drawn:
            centroids[0] = every[random.integers(len(every))]
            squares = np.full(len(every), np.inf)
            for at in range(1, k):
                # A rank is drawn with a probability in proportion to its squared distance from
                # the nearest centroid so far; where none has any, the first is repeated.
                squares = np.minimum(squares, ((every - centroids[at - 1]) ** 2).sum(axis=1))
                below = np.cumsum(squares)
                place = np.searchsorted(below, random.random() * below[-1], side="right")
                centroids[at] = every[place] if below[-1] > 0.0 else centroids[0]
    return reductions.shared(drawn)


def moved_centroids(
    vectors: NDArray[np.float64],
    centroids: NDArray[np.float64],
    tolerance: float,
    reductions: Reductions,
) -> tuple[NDArray[np.float64], float]:
    """Move centroids to the means of their ranks until they hardly move; collective.

    Returns
    -------
    centroids : float64 array, shape (cluster, metric)
    inertia : float
        Of the last round.
    """
    inertia = np.inf
    for _ in range(MAX_ROUNDS):
        # |x - c|^2 without |x|^2, which is the same for every centroid
        beyond = (centroids**2).sum(axis=1) - 2.0 * (vectors @ centroids.T)
        labels = beyond.argmin(axis=1)
        least = beyond.min(axis=1, initial=np.inf) + (vectors**2).sum(axis=1)
        weights = [*vectors.T, np.ones(len(vectors)), least]
        mine = [np.bincount(labels, weight, len(centroids)) for weight in weights]
        *sums, sizes, squares = reductions.total(np.stack(mine))
        inertia = float(squares.sum())
        means = np.stack(sums, axis=1) / np.maximum(sizes, 1.0)[:, None]
        moved = np.where(sizes[:, None] > 0.0, means, centroids)
        step = float(np.abs(moved - centroids).max())
        centroids = moved
        if step <= tolerance:
            break
    return centroids, inertia


def _finished(
    vectors: NDArray[np.float64], centroids: NDArray[np.float64], reductions: Reductions
) -> Clustering:
    """Order the clusters by size without empty ones, and compute how well they are separated."""
    distances = _distances(vectors, centroids)
    mine = np.bincount(distances.argmin(axis=1), minlength=len(centroids))
    total = reductions.total(mine)
    order = sorted(np.flatnonzero(total), key=lambda each: (-total[each], tuple(centroids[each])))
    distances = distances[:, order]
    labels = distances.argmin(axis=1)
    rows = np.arange(len(vectors))
    own = distances[rows, labels]
    apart = np.zeros(len(vectors))
    if len(order) > 1:
        distances[rows, labels] = np.inf
        other = distances.min(axis=1)
        several = (total[order] > 1)[labels]
        np.divide(other - own, other, out=apart, where=several & (other > 0.0))
    inertia, silhouette = reductions.total(np.array([(own**2).sum(), apart.sum()]))
    return Clustering(
        labels=labels,
        centroids=centroids[order],
        sizes=total[order],
        distances=own,
        inertia=float(inertia),
        silhouette=float(silhouette / total.sum()),
    )


def _distances(vectors: NDArray[np.float64], centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of ranks from centroids: float64, shape (rank, cluster)."""
    squares = [((vectors - centroid) ** 2).sum(axis=1) for centroid in centroids]
    return np.asarray(np.sqrt(np.stack(squares, axis=1)))
