"""The few ranks that a person should look at, by criterion: the extrema tool of Lee (2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.kmeans import Clustering
from hindmost.models.ranks.lateness import Lateness


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme:
    """The ranks that stand out by one criterion.

    Attributes
    ----------
    criterion : str
    unit : str
    ranks : int64 array, shape (found,)
        The most extreme one first.
    values : float64 array, shape (found,)
    typical : float
        The median of all ranks.
    """

    criterion: str
    unit: str
    ranks: NDArray[np.int64]
    values: NDArray[np.float64]
    typical: float


def extreme(
    criterion: str,
    values: NDArray[np.float64],
    count: int,
    *,
    unit: str = "s",
    least: bool = False,
) -> Extreme:
    """Return the ranks with the most, or the least, of something.

    Parameters
    ----------
    values : float64 array, shape (rank,)
    count : int
        How many, at most; equal values go to the lower rank.
    """
    order = np.argsort(values if least else -values, kind="stable")[:count]
    return Extreme(
        criterion=criterion,
        unit=unit,
        ranks=order.astype(np.int64),
        values=np.asarray(values[order], np.float64),
        typical=float(np.median(values)),
    )


def extrema_of(found: Lateness, clustering: Clustering | None, count: int = 5) -> list[Extreme]:
    """Return the extremes of a run by every criterion.

    Parameters
    ----------
    clustering : Clustering or None
        For the ranks most unlike the rest of their group.
    """
    made = [
        extreme("most often last", found.last.astype(np.float64), count, unit="bodies"),
        extreme("costs the others most", found.charged_s, count),
        extreme("least waiting", found.waited_s, count, least=True),
        extreme("latest single body", found.longest_s, count),
        extreme("grows slower", found.drift, count, unit="1"),
        extreme("least steady", found.deviation_s, count),
    ]
    if clustering is not None:
        made.append(extreme("most unlike the rest", clustering.distances, count, unit="1"))
    return made
