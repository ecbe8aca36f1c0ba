"""How many groups of ranks there are: by the silhouette with respect to centroids.

The silhouette of centroids needs only distances from centroids, which every process has of its own
ranks: its cost is that of one more round of k-means, where that of pairs grows with the square of
the ranks. A Bayesian criterion of spherical groups of one variance would see ever more groups in
ranks along a line, as load imbalance leaves them, the more ranks there are. Ranks along a line
still pass for two groups or more here, which costs a choice of ranks nothing but exemplars.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.kmeans import STARTS, Clustering, cluster
from hindmost.models.ranks.together import ALONE, Together

MOST_CLUSTERS = 8
LEAST_SILHOUETTE = 0.6
"""What one group that is cut in pieces does not reach, unless it lies along a line."""


def cluster_by_silhouette(
    vectors: NDArray[np.float64],
    *,
    most: int = MOST_CLUSTERS,
    starts: int = STARTS,
    seed: int = 0,
    ids: NDArray[np.int64] | None = None,
    together: Together = ALONE,
) -> Clustering:
    """Put ranks into as many groups as stand apart best, one if none do; collective.

    Parameters
    ----------
    vectors : float64 array, shape (rank, metric)
        Normalised; see `RankMetrics.normalised`.
    most : int
        Groups at most.
    """
    one = cluster(vectors, 1, starts=1, seed=seed, ids=ids, together=together)
    best = one
    for k in range(2, most + 1):
        tried = cluster(vectors, k, starts=starts, seed=seed, ids=ids, together=together)
        if tried.k < k:
            break
        if tried.silhouette > best.silhouette:
            best = tried
    return best if best.silhouette >= LEAST_SILHOUETTE else one
