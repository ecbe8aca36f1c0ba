"""The number of groups of ranks, by the silhouette with respect to centroids.

The silhouette of centroids needs only distances from centroids, which every process has for its own
ranks. It costs one more round of k-means, while the silhouette of pairs grows with the square of
the ranks. A Bayesian criterion of spherical groups with one variance would find more groups the
more ranks lie along a line, as they do with load imbalance. Here such ranks still form two groups
or more, which costs a choice of ranks only additional exemplars.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.kmeans import STARTS, Clustering, cluster
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions

MOST_CLUSTERS = 8
LEAST_SILHOUETTE = 0.6
"""Not reached by pieces of a single group, unless it lies along a line."""


def cluster_by_silhouette(
    vectors: NDArray[np.float64],
    *,
    most: int = MOST_CLUSTERS,
    starts: int = STARTS,
    seed: int = 0,
    ids: NDArray[np.int64] | None = None,
    reductions: Reductions = ONE_PROCESS,
) -> Clustering:
    """Put ranks into as many groups as stand apart best, one if none do; collective.

    Parameters
    ----------
    vectors : float64 array, shape (rank, metric)
        Normalised; see `RankMetrics.normalised`.
    most : int
        Groups at most.
    """
    one = cluster(vectors, 1, starts=1, seed=seed, ids=ids, reductions=reductions)
    best = one
    for k in range(2, most + 1):
        tried = cluster(vectors, k, starts=starts, seed=seed, ids=ids, reductions=reductions)
        if tried.k < k:
            break
        if tried.silhouette > best.silhouette:
            best = tried
    return best if best.silhouette >= LEAST_SILHOUETTE else one
