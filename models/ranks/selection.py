"""Which ranks keep their full records, where there is room for a share of them only.

The thesis of Lee (2009) keeps the exemplars and outliers of k-means, and suggests to add ranks that
communicate, ranks of the critical path and the phases of a run. Here the exemplars come first; what
is left of the room is shared out evenly over criteria, each of which goes on down its list past
the ranks that are kept already:

- ``outliers``: farthest from the centroids of k-means, in proportion to the clusters;
- ``node``: ranks of a node that is slower as a whole than the other nodes' spread allows, six times
  as many as of the others;
- ``unlike in a phase``: in windows of the run, farthest from their group for their window;
- ``critical``: the most work in bodies in which the rank was last, its part of the critical path;
- ``peaks``: work that comes in bodies now and then, beyond what the rank does in most;
- ``waiting``: those that wait least.

`keeping` puts the criteria of a run together. Every criterion is a score that a rank knows of
itself, so the choice needs no gathering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.exemplars import exemplars, outliers
from hindmost.models.ranks.kmeans import Clustering, cluster
from hindmost.models.ranks.together import ALONE, Together, count_of
from hindmost.models.ranks.top import largest
from hindmost.models.ranks.vectors import RankMetrics

ALWAYS = "always"
"""Why ranks are kept that were named beforehand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A way to tell ranks worth keeping.

    Attributes
    ----------
    name : str
    scores : float64 array, shape (rank,)
        The larger, the sooner kept; minus infinity: not by this criterion.
    weight : int
        Of its share of the room.
    """

    name: str
    scores: NDArray[np.float64]
    weight: int = 1


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
        Why ranks are kept.
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


def select_plain(
    clustering: Clustering,
    count: int,
    *,
    ids: NDArray[np.int64] | None = None,
    together: Together = ALONE,
) -> Selection:
    """Keep the exemplars and outliers of k-means alone, as the thesis does; collective."""
    return select(clustering, count, (), ids=ids, together=together)


def select(
    clustering: Clustering,
    count: int,
    criteria: Sequence[Criterion],
    *,
    ids: NDArray[np.int64] | None = None,
    always: NDArray[np.bool_] | None = None,
    together: Together = ALONE,
) -> Selection:
    """Keep so many ranks; collective.

    Parameters
    ----------
    count : int
        Of all processes; all ranks if there are fewer.
    criteria : sequence of Criterion
        Beside the outliers of the clustering.
    always : bool array, shape (rank,), optional
        Of this process: kept in any case, and first, for the reason `ALWAYS`.
    """
    names = ("exemplar", "outlier", *(each.name for each in criteria))
    kept = np.zeros(clustering.labels.size, bool) if always is None else always
    reasons = np.where(kept, len(names), -1)
    taken = 0 if always is None else count_of(int(kept.sum()), together)
    typical = exemplars(
        clustering, most=min(max(1, count // 4), max(0, count - taken)), ids=ids, together=together
    )
    reasons[typical & ~kept] = 0
    kept = kept | typical
    left = min(count, int(clustering.sizes.sum())) - count_of(int(kept.sum()), together)
    left = max(0, left)
    weights = [1, *(each.weight for each in criteria), 0]
    # the last turn is the outliers' again, for what no criterion has taken
    for at in (*range(1, len(names)), 1):
        weight, later = weights.pop(0), sum(weights)
        quota = -(-left * weight // (weight + later)) if later else left
        if at == 1:
            more = outliers(clustering, quota, but=kept, ids=ids, together=together)
        else:
            scores = np.where(kept, -np.inf, criteria[at - 2].scores)
            more = largest(scores, np.array([quota]), ids=ids, together=together)
        reasons[more] = at
        kept = kept | more
        left -= count_of(int(more.sum()), together)
    if always is not None:
        names = (*names, ALWAYS)
    return Selection(kept=kept, reasons=reasons, names=names, clustering=clustering)


def unlike_in_windows(
    windows: Sequence[RankMetrics],
    k: int,
    *,
    seed: int = 0,
    ids: NDArray[np.int64] | None = None,
    together: Together = ALONE,
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
        groups = cluster(window.normalised(together), k, starts=2, seed=seed, ids=ids,
                         together=together)  # fmt: skip
        typical = np.sqrt(groups.inertia / groups.sizes.sum())
        if typical > 0:
            np.maximum(farthest, groups.distances / typical, out=farthest)
    return farthest
