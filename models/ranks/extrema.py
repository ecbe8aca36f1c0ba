"""The few ranks to inspect, by criterion: the extrema tool of Lee (2009).

By every criterion some rank is first, so that alone is no finding. A rank *stands out* as an
outlier if it lies farther from the others than their spread allows, at an error probability of 1 %
per criterion, and far enough to matter. The spread is that of the other ranks without outliers, so
that two slow ranks do not hide each other (Rosner's generalised test).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.kmeans import Clustering
from hindmost.models.ranks.lateness import Lateness

MIN_RANKS = 4
"""With fewer ranks there are no three others; the spread of two is a single difference."""
SURE = 0.01
"""Error probability: how often any of equal ranks stands out by chance."""
COSTS = 0.01
"""Least difference that matters, as a share of the time."""
LONGER = 0.1
"""The same for a single body, which noise makes longer on some rank."""
MAJORITY = 0.5
"""Share of a whole that explains it. A rank that causes so much of the wait time stands out, even
in a single body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme:
    """The first ranks by one criterion, and how many of them are outliers.

    Attributes
    ----------
    criterion : str
    unit : str
    ranks : int64 array, shape (found,)
        The most extreme one first.
    values : float64 array, shape (found,)
    typical : float
        The median of all ranks.
    standing_out : int
        Number of outliers among the first; 0 for fewer than `MIN_RANKS` ranks.
    """

    criterion: str
    unit: str
    ranks: NDArray[np.int64]
    values: NDArray[np.float64]
    typical: float
    standing_out: int = 0

    JSON = "criterion unit typical ranks values standing_out=outliers"

    @property
    def outliers(self) -> list[int]:
        """Those that are outliers."""
        return list(self.ranks[: self.standing_out].tolist())


def extreme(
    criterion: str,
    values: NDArray[np.float64],
    count: int,
    *,
    unit: str = "s",
    least: bool = False,
    matters: float = 0.0,
    skewed: bool = False,
    but_only: NDArray[np.bool_] | None = None,
) -> Extreme:
    """Return the ranks with the largest, or the smallest, values.

    Parameters
    ----------
    values : float64 array, shape (rank,)
    count : int
        Most ranks to return; equal values go to the lower rank.
    matters : float
        Least difference from the others of an outlier.
    skewed : bool
        Values of equal ranks may have an exponential tail, as extremes of noise do.
    but_only : bool array, shape (rank,), optional
        The outliers, if known by other means than the spread.
    """
    signed = -values if least else values
    order = np.argsort(-signed, kind="stable")
    first = order[:count]
    if values.size < MIN_RANKS:
        standing = 0
    elif but_only is None:
        standing = beyond_spread(signed[order], count, matters, skewed=skewed)
    else:
        standing = int(np.append(but_only[first], False).argmin())
    return Extreme(
        criterion=criterion,
        unit=unit,
        ranks=first.astype(np.int64),
        values=np.asarray(values[first], np.float64),
        typical=float(np.median(values)),
        standing_out=standing,
    )


def beyond_spread(
    descending: NDArray[np.float64], most: int, matters: float = 0.0, *, skewed: bool = False
) -> int:
    """Return how many of the largest values are outliers.

    Parameters
    ----------
    descending : float64 array, shape (rank,)
    most : int
        Most outliers; never more than a third.
    matters : float
        Least difference from the mean of the rest.
    skewed : bool
        Allow for an exponential tail.
    """
    from scipy import special  # not on the ranks

    ranks = descending.size
    if ranks < MIN_RANKS:
        return 0
    for standing in range(min(most, max(1, ranks // 3)), 0, -1):
        rest = descending[standing:]
        mean, spread = float(rest.mean()), float(rest.std(ddof=1))
        sure = float(special.stdtrit(rest.size - 1, 1.0 - SURE / ranks))
        if skewed:
            sure *= max(1.0, np.log(ranks / SURE) / -float(special.ndtri(SURE / ranks)))
        allowed = sure * spread * np.sqrt(1.0 + 1.0 / rest.size)
        # Rounding of sums is not a difference.
        least = max(allowed, matters, 1e-9 * abs(mean))
        if float(descending[standing - 1]) - mean > least:
            return standing
    return 0


def more_than_chance(counts: NDArray[np.float64], of: int) -> NDArray[np.bool_]:
    """Tell which ranks are counted more often than by chance, if all are equally likely.

    Parameters
    ----------
    counts : float64 array, shape (rank,)
    of : int
        Sum of the counts.
    """
    from scipy import special  # not on the ranks

    tail = special.bdtrc(counts - 1.0, of, 1.0 / counts.size)
    return np.asarray(tail * counts.size < SURE, np.bool_)


def extrema_of(found: Lateness, clustering: Clustering | None, count: int = 5) -> list[Extreme]:
    """Return the extremes of a run by every criterion.

    Parameters
    ----------
    clustering : Clustering or None
        For the ranks most unlike the rest of their group.
    """
    alone = tells_alone(found)
    often = alone & more_than_chance(found.last.astype(np.float64), found.bodies)
    whole = max(float(found.charged_s.sum()), 1e-300)
    dear = (often | (alone & (found.charged_s >= MAJORITY * whole))) & (
        found.charged_s >= COSTS * found.total_s
    )
    body_s = found.total_s / max(found.bodies, 1)
    made = [
        extreme(
            "most often last", found.last.astype(np.float64), count, unit="bodies", but_only=often
        ),
        extreme("costs the others most", found.charged_s, count, but_only=dear),
        extreme("least waiting", found.waited_s, count, least=True, matters=COSTS * found.total_s),
        extreme(
            "latest single iteration", found.longest_s, count, matters=LONGER * body_s, skewed=True
        ),
        extreme("grows slower", found.drift, count, unit="1", matters=COSTS, skewed=True),
        extreme("least steady", found.deviation_s, count, matters=COSTS * body_s, skewed=True),
    ]
    if clustering is not None:
        made.append(unlike_the_rest(clustering, count))
    return made


def tells_alone(found: Lateness) -> NDArray[np.bool_]:
    """Tell which ranks make a difference: shape (rank,).

    Either time would be saved if the rank were as fast as the next one, or it is one of a few
    outliers by cost. A rank that is last by a negligible time makes no difference.
    """
    matters = COSTS * found.total_s
    order = np.argsort(-found.charged_s, kind="stable")
    few = beyond_spread(found.charged_s[order], found.ranks, matters)
    telling = found.lost_s >= matters
    telling[order[:few]] = True
    return telling


def unlike_the_rest(clustering: Clustering, count: int = 5) -> Extreme:
    """Return the ranks farthest from the centroids of their groups."""
    return extreme(
        "most unlike the rest",
        clustering.distances,
        count,
        unit="1",
        matters=COSTS,
        skewed=True,
    )
