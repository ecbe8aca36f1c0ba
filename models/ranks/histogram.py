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
        # Equal bins of the logarithm are found at once; rounding is put right at the edges.
        inside = np.clip(flat, edges[0], edges[-1])
        place = np.log(inside / edges[0]) / np.log(edges[-1] / edges[0]) * self.counts.size
        place = np.minimum(place.astype(np.int64), self.counts.size - 1)
        place -= flat < edges[place]
        place += (flat >= edges[np.minimum(place + 1, edges.size - 1)]) & (flat < edges[-1])
        place[flat > edges[-1]] = self.counts.size
        more = np.bincount(place + 1, minlength=self.counts.size + 2)
        more = reductions.total(more)
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
