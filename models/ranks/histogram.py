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
from hindmost.models.compiled import compiled
from hindmost.models.ranks.reductions import ONE_PROCESS, Reductions

BINS = 40
MANY = 100_000
"""Values from which on they are counted by a compiled loop."""
SHIFT = 44
"""Bits of a number that do not lead to its bin: there are 256 leads to every factor of two."""


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

    @property
    def total(self) -> int:
        """All that was counted."""
        return int(self.counts.sum()) + self.below + self.above

    def to_json(self) -> dict[str, Any]:
        """Return edges and counts as JSON."""
        return {
            "edges_s": self.edges.tolist(),
            "counts": self.counts.tolist(),
            "below": self.below,
            "above": self.above,
        }

    def with_more(
        self, durations: NDArray[np.floating[Any]], reductions: Reductions = ONE_PROCESS
    ) -> Histogram:
        """Return the histogram with more durations counted in; collective.

        Parameters
        ----------
        durations : float array of any shape, seconds
        """
        flat = np.asarray(durations, np.float64).ravel()
        more = counts_between(flat, self.edges)
        # The last bin holds its upper edge as well.
        at_end = int(np.count_nonzero(flat == self.edges[-1]))
        more[-1] -= at_end
        more[-2] += at_end
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


def counts_between(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the values below the first edge, from each edge up to the next, and from the last on.

    Parameters
    ----------
    values : float64 array, shape (value,)
    edges : float64 array, shape (edge,)
        Above zero, ascending.

    Returns
    -------
    int64 array, shape (edge + 1,)
    """
    if values.size < MANY:
        place = np.searchsorted(edges, values, side="right")
        return np.bincount(place, minlength=edges.size + 1).astype(np.int64)
    # The leading bits of a number above zero ascend with it, and lead to its bin or just before.
    keys = np.arange((edges[0].view(np.int64) >> SHIFT), (edges[-1].view(np.int64) >> SHIFT) + 1)
    first = np.searchsorted(edges, (keys << SHIFT).view(np.float64), side="right")
    counts = np.zeros(edges.size + 1, np.int64)
    compiled(count_by_bits)(np.ascontiguousarray(values), edges, first, int(keys[0]), counts)
    return counts


def count_by_bits(
    values: NDArray[np.float64],
    edges: NDArray[np.float64],
    first: NDArray[np.int64],
    least: int,
    counts: NDArray[np.int64],
) -> None:
    """Count values between edges; ``first`` has the bin where values with the same bits begin."""
    bits = values.view(np.int64)
    last = edges.size
    for at in range(values.size):
        value = values[at]
        if value < edges[0]:
            counts[0] += 1
        elif not value < edges[last - 1]:
            counts[last] += 1
        else:
            place = first[(bits[at] >> SHIFT) - least]
            while not value < edges[place]:
                place += 1
            counts[place] += 1
