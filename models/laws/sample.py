"""The sample that a law is fitted to: all values if there are few, narrow bins if there are many.

A bin keeps the count, the mean and the variance of its values. The mean of a smooth function g over
all values then equals, to fourth order in the width of the bin, the mean of g at two points: one
standard deviation to the left and right of the bin's mean. Bins are narrow (1/65,536 of the
interquartile range around the median, 1/4096 of the distance from it further out), so that a law's
likelihood agrees with that of all values to 1e-9 per value, unless the law is narrower than a bin.

Let d be the distance from the median in units of a floor. The leading bits of 1 + d are the number
of the bin: bins are equally wide up to d = 1, and double their width with every octave beyond.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError

EXACT = 65_536
"""Up to this number, all values are kept."""
BITS = 12
"""Leading bits of the mantissa: 4096 bins per octave."""
OCTAVES = 40
"""Values 2^40 floors away and beyond share the last bin of their side."""
SHIFT = 52 - BITS
ORIGIN = 1023 << BITS
"""Leading bits of 1.0."""
LAST = (OCTAVES << BITS) - 1
PIECE = 1 << 18
"""Values that are binned at once."""
FLOOR = 1.0 / 16.0
"""Distance from the median, in interquartile ranges, up to which all bins are equally wide."""


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
        flat = np.asarray(values, dtype=np.float64).ravel(order="K")
        if flat.size <= EXACT:
            return exact_sample(flat)
        # An odd stride visits all ranks if their number is a power of two.
        return binned_sample([flat], flat[:: flat.size // EXACT | 1])

    @classmethod
    def from_blocks(cls, blocks: Iterable[NDArray[np.float64]]) -> Sample:
        """Make a sample of blocks, each of which is read once, in order.

        Parameters
        ----------
        blocks : iterable of float64 arrays, any shapes
            A block is requested after the one before was processed. Median and spread of the
            first 65,536 values decide where bins are narrow.

        Raises
        ------
        DataError
            No values, or one that is infinite or NaN.
        """
        first: list[NDArray[np.float64]] = []
        size = 0
        stream = iter(blocks)
        for block in stream:
            # A copy, because the producer may reuse its array.
            first.append(np.array(block, dtype=np.float64).ravel())
            size += first[-1].size
            if size > EXACT:
                break
        else:
            return exact_sample(np.concatenate([*first, np.empty(0)]))

        def all_blocks() -> Iterable[NDArray[np.float64]]:
            yield from first
            first.clear()
            for block in stream:
                yield np.asarray(block, dtype=np.float64).ravel(order="K")

        return binned_sample(all_blocks(), np.concatenate(first)[: 4 * EXACT])

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
            point=reference + shift,
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


def exact_sample(values: NDArray[np.float64]) -> Sample:
    """Keep all values."""
    if values.size == 0:
        raise DataError("There are no values to fit a law to; record an iteration.")
    refuse_what_is_no_number(values)
    point = np.sort(values)
    return Sample(
        point=point,
        count=np.ones(point.size),
        variance=np.zeros(point.size),
        smallest=float(point[0]),
        largest=float(point[-1]),
    )


def binned_sample(blocks: Iterable[NDArray[np.float64]], some: NDArray[np.float64]) -> Sample:
    """Bin all blocks, around the median of some of their values."""
    refuse_what_is_no_number(some)
    low, centre, high = (float(value) for value in np.quantile(some, (0.25, 0.5, 0.75)))
    floor = FLOOR * (high - low or float(some.std())) or 1e-9 * abs(centre) or 1e-9
    # Number, sum and sum of squares of the distances from the inner edge of each bin, in floors.
    # Bins ascend: those below the centre come first.
    count, sums, squares = np.zeros((3, 2 * OCTAVES << BITS))
    smallest, largest = np.inf, -np.inf
    for block in blocks:
        for piece in np.array_split(block, max(1, block.size // PIECE)):
            smallest = min(smallest, float(piece.min(initial=np.inf)))
            largest = max(largest, float(piece.max(initial=-np.inf)))
            distance = (piece - centre) / floor
            stretched = np.abs(distance) + 1.0
            side = np.minimum((stretched.view(np.int64) >> SHIFT) - ORIGIN, LAST)
            inside = stretched - inner_edges(side) - 1.0
            place = np.where(distance >= 0.0, LAST + 1 + side, LAST - side)
            count += np.bincount(place, minlength=count.size)
            sums += np.bincount(place, inside, count.size)
            squares += np.bincount(place, inside * inside, count.size)
    refuse_what_is_no_number(sums)
    # A bin's mean and variance from its sums; its point is the inner edge plus the mean.
    used = np.flatnonzero(count)
    count, inside = count[used], sums[used] / count[used]
    edge = inner_edges(np.where(used > LAST, used - LAST - 1, LAST - used))
    point = centre + floor * np.where(used > LAST, edge + inside, -edge - inside)
    return Sample(
        point=np.maximum.accumulate(point),
        count=count,
        variance=floor**2 * np.maximum(squares[used] / count - inside**2, 0.0),
        smallest=smallest,
        largest=largest,
    )


def inner_edges(side: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance of the inner edges of bins from the centre, in floors, shape (bin,)."""
    return ((side + ORIGIN) << SHIFT).view(np.float64) - 1.0


def refuse_what_is_no_number(values: NDArray[np.float64]) -> None:
    """Refuse infinite values and NaN."""
    if not np.isfinite(values).all():
        raise DataError("A value is infinite or NaN; remove such values before fitting a law.")
