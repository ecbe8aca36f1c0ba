"""The sample that a law is fitted to: all values if there are few, narrow bins if there are many.

A bin keeps the count, the mean and the variance of its values. The mean of a smooth function g over
all values then equals, to fourth order in the width of the bin, the mean of g at two points: one
standard deviation to the left and right of the bin's mean. Bins are narrow (about 1/10,000 of the
interquartile range around the median), so that a law's likelihood agrees with that of all values to
1e-9 per value, unless the law is narrower than a bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError

EXACT = 65_536
"""Up to this number, all values are kept; of more, as many bins."""
PIECE = 1 << 20
"""Values that are binned at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Values, or bins of values, in ascending order.

    Attributes
    ----------
    point : float64 array, shape (bin,)
        The value, or the mean of the values of a bin.
    count : float64 array, shape (bin,)
        Number of values.
    variance : float64 array, shape (bin,)
        Of the values of a bin; 0 for a single value.
    smallest, largest : float
        Of all values.
    """

    point: NDArray[np.float64]
    count: NDArray[np.float64]
    variance: NDArray[np.float64]
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: NDArray[np.float64] | Sample) -> Sample:
        """Make a sample of an array of any shape; a sample is returned unchanged.

        Raises
        ------
        DataError
            No values, or one that is infinite or NaN.
        """
        if isinstance(values, Sample):
            return values
        return cls.from_blocks([np.asarray(values, dtype=np.float64)])

    @classmethod
    def from_blocks(cls, blocks: Iterable[NDArray[np.float64]]) -> Sample:
        """Make a sample of blocks, each of which is read once, in order.

        Parameters
        ----------
        blocks : iterable of float64 arrays, any shapes
            A block is requested after the one before was processed.

        Raises
        ------
        DataError
            No values, or one that is infinite or NaN.
        """
        sample, waiting = None, list[NDArray[np.float64]]()
        for block in blocks:
            waiting.append(np.array(block, np.float64).ravel())  # its memory may be reused
            if sum(each.size for each in waiting) >= PIECE:
                sample, waiting = with_values(sample, waiting), []
        return with_values(sample, waiting)

    @property
    def size(self) -> int:
        """Number of values."""
        return round(float(self.count.sum()))

    @property
    def mean(self) -> float:
        """Mean of all values."""
        return float(np.average(self.point, weights=self.count))

    @property
    def std(self) -> float:
        """Standard deviation of all values, divided by their number."""
        square = (self.point - self.mean) ** 2 + self.variance
        return float(np.sqrt(np.average(square, weights=self.count)))

    @property
    def smallest_gap(self) -> float:
        """Smallest difference between two neighbouring points; 0 if all are equal."""
        gaps = np.diff(self.point)
        return float(gaps[gaps > 0.0].min(initial=self.largest - self.smallest))

    def quantile(self, share: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles, interpolated between values or between bins."""
        last = np.cumsum(self.count) - 1.0
        middle = last - 0.5 * (self.count - 1.0)
        wanted = np.asarray(share) * last[-1]
        inside: NDArray[np.float64] = np.interp(wanted, middle, self.point)
        return np.clip(inside, self.smallest, self.largest)

    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return points and weights that sum to 1, for means of functions over all values.

        Returns
        -------
        point, weight : float64 arrays, shape (node,)
        """
        weight = self.count / self.count.sum()
        wide = self.variance > 0.0
        if not wide.any():
            return self.point, weight
        deviation = np.sqrt(self.variance[wide])
        point = np.concatenate(
            [self.point[~wide], self.point[wide] - deviation, self.point[wide] + deviation]
        )
        half = 0.5 * weight[wide]
        # A skewed bin at the end may reach beyond it, where a bounded law has density 0.
        inside = np.clip(point, self.smallest, self.largest)
        return inside, np.concatenate([weight[~wide], half, half])

    def coarser(self, bins: int) -> Sample:
        """Return a sample of fewer bins, narrow where values are dense, and in tails.

        Half of the resolution follows the ranks of the values, half the asinh of their distance
        from the median, so that neither a narrow group nor a long tail falls into a single bin.
        """
        if self.point.size <= bins:
            return self
        low, middle, high = self.quantile(np.array([0.25, 0.5, 0.75]))
        unit = (high - low) / 8.0 or self.std or 1.0
        stretched = np.arcsinh((self.point - middle) / unit)
        reach = stretched[-1] - stretched[0] or 1.0
        risen = (np.cumsum(self.count) - 0.5 * self.count) / self.count.sum()
        place = 0.5 * (risen + (stretched - stretched[0]) / reach)
        group = np.minimum((place * bins).astype(np.int64), bins - 1)
        # Count, mean and variance of each group, relative to its first point to keep digits.
        begin = np.flatnonzero(np.diff(group, prepend=-1))
        count = np.add.reduceat(self.count, begin)
        reference = self.point[begin]
        of_point = np.repeat(reference, np.diff(begin, append=self.point.size))
        offset = self.point - of_point
        shift = np.add.reduceat(self.count * offset, begin) / count
        square = np.add.reduceat(self.count * (offset**2 + self.variance), begin) / count
        return Sample(
            point=np.maximum.accumulate(reference + shift),
            count=count,
            variance=np.maximum(square - shift**2, 0.0),
            smallest=self.smallest,
            largest=self.largest,
        )

    def scaled(self, centre: float, unit: float) -> Sample:
        """Return the sample of (value - centre) / unit."""
        return Sample(
            point=(self.point - centre) / unit,
            count=self.count,
            variance=self.variance / unit**2,
            smallest=(self.smallest - centre) / unit,
            largest=(self.largest - centre) / unit,
        )


def with_values(sample: Sample | None, blocks: Sequence[NDArray[np.float64]]) -> Sample:
    """Return a sample with the values of more blocks, in bins if these are many."""
    values = np.concatenate([*blocks, np.empty(0)])
    if sample is not None and values.size == 0:
        return sample
    found = exact_sample(values)
    if sample is not None:
        both = sample, found
        order = np.argsort(np.concatenate([each.point for each in both]), kind="stable")
        found = Sample(
            point=np.concatenate([each.point for each in both])[order],
            count=np.concatenate([each.count for each in both])[order],
            variance=np.concatenate([each.variance for each in both])[order],
            smallest=min(each.smallest for each in both),
            largest=max(each.largest for each in both),
        )
    return found if found.size <= EXACT else found.coarser(EXACT)


def exact_sample(values: NDArray[np.float64]) -> Sample:
    """Keep all values."""
    if values.size == 0:
        raise DataError("There are no values to fit a law to; record an iteration.")
    if not np.isfinite(values).all():
        raise DataError("A value is infinite or NaN; remove such values before fitting a law.")
    point = np.sort(values)
    return Sample(
        point=point,
        count=np.ones(point.size),
        variance=np.zeros(point.size),
        smallest=float(point[0]),
        largest=float(point[-1]),
    )
