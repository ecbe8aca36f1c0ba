"""k-means over the vectors of ranks, from several starts, equal on one process and on many.

Initial centroids are drawn as k-means++ does (Arthur and Vassilvitskii, 2007), by a race: every
rank draws an exponential time from a hash of its number, divided by its squared distance, and the
first one wins; no process need know the vectors of another. Lloyd's iteration follows, of all
starts at once, until centroids hardly move. What is summed lies on a grid on which sums are exact:
labels and centroids are the same to the bit, however the ranks are spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.kmeans_loops import assign, inertia, nearest_so_far, race, reassign
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions, count_of, exact_grid, on_grid

STARTS = 5
MOST_ROUNDS = 100
TOLERANCE = 1e-3
"""Relative to the largest normalised value: a start whose centroids move less is done."""


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
    rounds : int
        Of the start that came out best.
    silhouette : float
        Mean over all ranks of (b - a) / max(a, b), with the distance a from the own centroid and b
        from the next; 0 for one cluster, and for ranks that are alone in theirs.
    """

    labels: NDArray[np.int64]
    centroids: NDArray[np.float64]
    sizes: NDArray[np.int64]
    distances: NDArray[np.float64]
    inertia: float
    rounds: int
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
    ids: NDArray[np.int64] | None = None,
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
    ids : int64 array, shape (rank,), optional
        Numbers of the ranks of this process; from 0 if not given.

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
    ids = np.arange(len(vectors), dtype=np.int64) if ids is None else ids
    greatest = float(reductions.most(np.array([np.abs(vectors).max(initial=0.0)]))[0])
    points = np.ascontiguousarray(on_grid(vectors, exact_grid(greatest, count)))
    square = exact_grid(4.0 * greatest**2 * points.shape[1], count)
    k = min(k, count)
    centroids = first_centroids(points, ids, k, starts, seed, reductions)
    state = _State.new(points, centroids)
    rounds = np.zeros(starts, np.int64)
    active = np.arange(starts)
    while active.size:
        packed = np.concatenate([state.sums[active].ravel(), state.sizes[active].ravel()])
        packed = reductions.total(packed)
        sums = packed[: active.size * k * points.shape[1]].reshape(active.size, k, -1)
        sizes = packed[sums.size :].reshape(active.size, k)
        rounds[active] += 1
        moved = sums / np.maximum(sizes, 1.0)[:, :, None]
        moved = np.where(sizes[:, :, None] > 0, moved, centroids[active])
        step = np.abs(moved - centroids[active]).max(axis=(1, 2))
        changed = (step > tolerance * greatest) & (rounds[active] < MOST_ROUNDS)
        for start, towards in zip(active[changed], moved[changed], strict=True):
            state.follow(points, start, centroids[start], towards)
            centroids[start] = towards
        active = active[changed]
    spread = np.zeros(starts)
    inertia(points, centroids, state.labels, square, spread)
    spread = reductions.total(spread)
    best = int(np.argmin(spread))
    return _finished(points, centroids[best], int(rounds[best]), float(spread[best]), reductions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Where every start is, on this process.

    Points whose centroid is surely still the nearest, by the bounds of Hamerly (2010), are not
    looked at again.

    Attributes
    ----------
    labels : int64 array, shape (start, rank)
    above, below : float64 array, shape (start, rank)
        Bounds on the distance from the own centroid, and from any other.
    sums : float64 array, shape (start, cluster, metric)
    sizes : float64 array, shape (start, cluster)
    """

    labels: NDArray[np.int64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]
    sums: NDArray[np.float64]
    sizes: NDArray[np.float64]

    @classmethod
    def new(cls, points: NDArray[np.float64], centroids: NDArray[np.float64]) -> _State:
        """Give every point its nearest centroid, of each start."""
        starts, k, metrics = centroids.shape
        shape = (starts, len(points))
        state = cls(
            labels=np.zeros(shape, np.int64),
            above=np.zeros(shape),
            below=np.zeros(shape),
            sums=np.zeros((starts, k, metrics)),
            sizes=np.zeros((starts, k)),
        )
        across = np.ascontiguousarray(centroids.reshape(starts * k, metrics).T)
        assign(points, across, state.labels, state.above, state.below, state.sums, state.sizes)
        return state

    def follow(
        self,
        points: NDArray[np.float64],
        start: int,
        before: NDArray[np.float64],
        after: NDArray[np.float64],
    ) -> None:
        """Give points their nearest centroids after these have moved."""
        moves = np.sqrt(((after - before) ** 2).sum(axis=1))
        reassign(
            points,
            np.ascontiguousarray(after.T),
            moves,
            self.labels[start],
            self.above[start],
            self.below[start],
            self.sums[start],
            self.sizes[start],
        )


def first_centroids(
    points: NDArray[np.float64],
    ids: NDArray[np.int64],
    k: int,
    starts: int,
    seed: int,
    reductions: Reductions,
) -> NDArray[np.float64]:
    """Draw k ranks for every start, far from each other: float64, shape (start, k, metric)."""
    centroids = np.zeros((starts, k, points.shape[1]))
    near = np.ones((starts, len(points)))
    nobody = np.iinfo(np.int64).max
    for at in range(k):
        times = np.full((starts, len(points)), np.inf)
        race(near, ids, seed, at, times)
        first = reductions.least(times.min(axis=1, initial=np.inf))
        winner = np.where((times == first[:, None]) & np.isfinite(times), ids[None, :], nobody).min(
            axis=1, initial=nobody
        )
        winner = reductions.least(winner)
        vectors = np.zeros((starts, points.shape[1]))
        for start in range(starts):
            vectors[start] = points[ids == winner[start]].sum(axis=0)
        vectors = reductions.total(vectors)
        vectors = np.where((winner < nobody)[:, None], vectors, centroids[:, 0])
        centroids[:, at] = vectors
        nearest_so_far(points, vectors, at == 0, near)
    return centroids


def _finished(
    points: NDArray[np.float64],
    centroids: NDArray[np.float64],
    rounds: int,
    inertia: float,
    reductions: Reductions,
) -> Clustering:
    """Order the clusters by size without empty ones, and compute how well they are separated."""
    state = _State.new(points, centroids[None])
    total = reductions.total(state.sizes[0]).astype(np.int64)
    order = sorted(np.flatnonzero(total), key=lambda each: (-total[each], tuple(centroids[each])))
    place = np.zeros(len(centroids), np.int64)
    place[order] = np.arange(len(order))
    centroids, mine = centroids[order], place[state.labels[0]]
    squares = np.zeros((len(points), len(centroids)))
    for metric in range(points.shape[1]):  # in one order, however many ranks are here
        squares += (points[:, metric, None] - centroids[None, :, metric]) ** 2
    distances = np.sqrt(squares)
    own = distances[np.arange(len(points)), mine]
    silhouette = 0.0
    if len(order) > 1:
        distances[np.arange(len(points)), mine] = np.inf
        other = distances.min(axis=1)
        several = (total[order] > 1)[mine]
        apart = np.divide(other - own, other, out=np.zeros_like(own), where=several & (other > 0))
        summed = reductions.total(np.array([on_grid(apart, 2.0**-30).sum()]))
        silhouette = float(summed[0] / total.sum())
    return Clustering(
        labels=mine,
        centroids=centroids,
        sizes=total[order],
        distances=own,
        inertia=inertia,
        rounds=rounds,
        silhouette=silhouette,
    )
