"""Histograms of activities over all ranks, with bins for what lies outside.

As in Lee (2009): bins are durations, and the activities of all ranks are counted into them, so that
a thousand ranks take no more room than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions

BINS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts by duration.

    Attributes
    ----------
    edges : float64 array, shape (bin + 1,), seconds
    counts : int64 array, shape (bin,)
        A bin holds its lower edge; the last one its upper edge as well.
    below, above : int
        Of what is shorter than the first edge, and longer than the last.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    below: int
    above: int

    JSON = "edges_s=edges counts below above"

    @property
    def total(self) -> int:
        """All that was counted."""
        return int(self.counts.sum()) + self.below + self.above

    def with_more(
        self, durations: NDArray[np.floating[Any]], reductions: Reductions = ONE_PROCESS
    ) -> Histogram:
        """Return the histogram with more durations counted in; collective.

        Parameters
        ----------
        durations : float array of any shape, seconds
        """
        flat, edges = np.asarray(durations, np.float64).ravel(), self.edges
        inside, _ = np.histogram(flat, edges)
        ends = np.count_nonzero(flat < edges[0]), np.count_nonzero(flat > edges[-1])
        more = reductions.total(np.array([ends[0], *inside, ends[1]], np.int64))
        return Histogram(
            edges=self.edges,
            counts=self.counts + more[1:-1],
            below=self.below + int(more[0]),
            above=self.above + int(more[-1]),
        )


def empty_histogram(low_s: float, high_s: float, bins: int = BINS) -> Histogram:
    """Return a histogram without counts, its bins alike on a logarithmic scale.

    Raises
    ------
    UsageError
        Bounds that are not positive and ascending, or no bin.
    """
    if not 0.0 < low_s < high_s or bins < 1:
        raise UsageError(
            f"{bins} bins from {low_s:g} s to {high_s:g} s; at least one bin is wanted, and bounds "
            "above zero that ascend."
        )
    edges = np.geomspace(low_s, high_s, bins + 1)
    edges[0], edges[-1] = low_s, high_s
    return Histogram(edges=edges, counts=np.zeros(bins, np.int64), below=0, above=0)
