"""The ratio of two paired series over time: where it changes, and what it is since.

The ratio is judged like any other series by the robust method: that of A to B changes where that of
B to A does, give or take a night. Shifts that are too small to be reported for a single series
count as well: disturbances of both sides cancel in the ratio. Between changes it is the geometric
mean of its nights with Student's interval, without outliers if they are few. A drifting ratio is
given at the end of its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.pairing import Pairs
from hindmost.analysis.history.ratio import (
    Ratio,
    drifting_ratio,
    paired_ratio,
)
from hindmost.models.changepoint import ChangePoint, Detection, detect
from hindmost.models.changepoint.verdicts import KNOWN

LEAST = 0.003
"""Least change of the logarithm of a ratio: the lower limit of the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRegime:
    """Pairs between two changes of the ratio.

    Attributes
    ----------
    start, stop : int
        Pairs; the stop is not in it.
    ratio : Ratio
        Second over first; at the end of its line if it drifts.
    begin : int
        The first pair in the ratio: after a drift that has ended.
    drifts_from : float or None
        The ratio at the begin of its line; None if it does not drift.
    """

    start: int
    stop: int
    ratio: Ratio
    begin: int
    drifts_from: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioHistory:
    """The ratio of two paired series.

    Attributes
    ----------
    labels : tuple of str, one a pair
        Days, or commits.
    detection : Detection
        Of the ratio; the values are second over first.
    plain : bool array, shape (pair,)
        False for outliers, which are left out of the regimes' ratios.
    regimes : tuple of RatioRegime
        At least one; the last is the current one.
    """

    labels: tuple[str, ...]
    detection: Detection
    plain: NDArray[np.bool_]
    regimes: tuple[RatioRegime, ...]

    @property
    def now(self) -> RatioRegime:
        """The regime since the last change."""
        return self.regimes[-1]

    @property
    def changes(self) -> tuple[ChangePoint, ...]:
        """Where the ratio changes."""
        return self.detection.changes

    @property
    def since(self) -> str | None:
        """The label of the last change; None if the ratio never changed."""
        return self.labels[self.now.start] if self.now.start else None

    @property
    def confirmed(self) -> RatioRegime:
        """The last regime whose change is confirmed; the first one has no change."""
        count = len(self.changes)
        while count and not self.changes[count - 1].confirmed:
            count -= 1
        return self.regimes[count]

    @property
    def drifted_until(self) -> str | None:
        """The last label of an ended drift since the last change, or None."""
        ended = any(trend.stop == self.now.begin for trend in self.detection.trends)
        return self.labels[self.now.begin - 1] if ended else None

    def dates(self, change: ChangePoint) -> tuple[str, str]:
        """Return the labels between which a change lies, both included."""
        first, last = change.interval
        return self.labels[first], self.labels[last]


def ratio_history(pairs: Pairs) -> RatioHistory:
    """Find the changes of the ratio of paired series, and the ratio between them.

    Parameters
    ----------
    pairs : Pairs
        By nights or commits, in the order of time.
    """
    detection = detect(pairs.second / pairs.first, method="robust", least=LEAST)
    plain = np.ones(pairs.first.size, np.bool_)
    for run in detection.outliers:
        plain[run.start : run.stop] = False
    bounds = [0, *(change.index for change in detection.changes), pairs.first.size]
    for start, stop in pairwise(bounds):
        begin = begin_of(detection, start, stop)
        left_out = np.count_nonzero(~plain[begin:stop])
        if left_out > max((1.0 - KNOWN) * (stop - begin), 2):  # too many to be outliers
            plain[begin:stop] = True
    return RatioHistory(
        labels=pairs.labels,
        detection=detection,
        plain=plain,
        regimes=tuple(
            regime_of(pairs, plain, detection, start, stop) for start, stop in pairwise(bounds)
        ),
    )


def regime_of(
    pairs: Pairs,
    plain: NDArray[np.bool_],
    detection: Detection,
    start: int,
    stop: int,
) -> RatioRegime:
    """Return the ratio of the pairs between two changes, or the line that it drifts along."""
    drifts = any(each.stop == stop for each in detection.trends)
    begin = begin_of(detection, start, stop)
    places = np.flatnonzero(plain[begin:stop]) + begin
    first, second = pairs.first[places], pairs.second[places]
    if drifts:
        came_from, ratio = drifting_ratio(first, second)
        return RatioRegime(start=start, stop=stop, ratio=ratio, begin=begin, drifts_from=came_from)
    ratio = paired_ratio(first, second)
    return RatioRegime(start=start, stop=stop, ratio=ratio, begin=begin)


def begin_of(detection: Detection, start: int, stop: int) -> int:
    """Return the first pair of the level, or the drift, that a regime ends with."""
    going = [each.start for each in detection.trends if each.stop == stop]
    ended = [each.stop for each in detection.trends]
    inside = [each for each in (*going, *ended) if start < each < stop]
    return max(inside, default=start)
