"""Exemplars and outliers of every group of ranks.

As in Lee (2009): one exemplar per cluster, nearest to the centroid, and outliers, farthest from it,
in proportion to the cluster's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.kmeans import Clustering
from hindmost.models.ranks.largest import largest
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions


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
