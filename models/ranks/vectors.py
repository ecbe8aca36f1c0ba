"""One vector of metrics per rank, and the paper's normalisation of several domains.

After Lee, "Techniques in Scalable and Effective Performance Analysis" (2009): metrics of one domain
(times, bytes, message counts) keep their proportions, and no domain outweighs another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions
from hindmost.text import choose


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMetrics:
    """The metrics of every rank.

    Attributes
    ----------
    values : float64 array, shape (rank, metric)
    names : tuple of str, one a metric
    units : tuple of str, one a metric
    domains : tuple of str, one a metric
        Metrics of one domain are normalised by the same maximum: ``time``, ``bytes``, ``count``.

    Raises
    ------
    DataError
        Shapes that do not fit, names that come twice, or a value that is not a number.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    units: tuple[str, ...]
    domains: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse metrics that cannot be compared."""
        shape = self.values.shape
        wanted = len(self.names)
        if len(shape) != 2 or shape[1] != wanted or not wanted:
            raise DataError(
                f"Metrics of shape {shape} with {wanted} names; they must be (rank, metric), with "
                "at least one metric."
            )
        if len(self.units) != wanted or len(self.domains) != wanted:
            raise DataError(
                f"{wanted} metrics with {len(self.units)} units and {len(self.domains)} domains; "
                "every metric has one of each."
            )
        if len(set(self.names)) < wanted:
            raise DataError("Two metrics have the same name; rename one.")
        bad = np.argwhere(~np.isfinite(self.values))
        if bad.size:
            rank, metric = bad[0]
            raise DataError(
                f"The metric '{self.names[metric]}' of rank {rank} is not a number; measure it on "
                "every rank, or leave it out."
            )

    @property
    def ranks(self) -> int:
        """Ranks that this process holds."""
        return int(self.values.shape[0])

    def column(self, name: str) -> NDArray[np.float64]:
        """Return one metric of all ranks: float64, shape (rank,)."""
        if name not in self.names:
            raise DataError(f"No metric '{name}'; {choose(self.names)}.")
        return self.values[:, self.names.index(name)]

    def normalised(self, reductions: Reductions = ONE_PROCESS) -> NDArray[np.float64]:
        """Return (m - min_m) / max_d: float64, shape (rank, metric); collective.

        min_m is the least value of a metric and max_d the greatest of its domain, over all ranks.
        A domain that is nothing everywhere stays nothing.
        """
        metrics = len(self.names)
        least = np.full(metrics, np.inf)
        most = np.zeros(metrics)
        if self.ranks:
            least, most = self.values.min(axis=0), np.abs(self.values).max(axis=0)
        least, most = reductions.least(least), reductions.most(most)
        of_domain = {
            domain: max(float(most[m]) for m in range(metrics) if self.domains[m] == domain)
            for domain in self.domains
        }
        largest = np.array([of_domain[domain] for domain in self.domains])
        scale = 1.0 / np.maximum(largest, np.finfo(np.float64).tiny)
        result: NDArray[np.float64] = (self.values - least) * scale
        return result
