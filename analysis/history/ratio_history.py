"""The ratio of two paired series over time: where it changes, and what it is since.

The ratio is judged like any other series by the robust method: that of A to B changes where that of
B to A does, give or take a night. Shifts that are too small to be reported for a single series
count as well, down to the lower limit of the noise: disturbances of both sides cancel in the ratio.
Between changes it is the geometric mean of its nights with Student's interval, without outliers if
they are few. A drifting ratio is given at the end of its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.pairing import Pairs
from hindmost.models.changepoint import ChangePoint, Detection, detect
from hindmost.models.changepoint.detection import KNOWN
from hindmost.models.changepoint.robust.noise import FLOOR
from hindmost.models.inference import Ratio, drifting_ratio, paired_ratio


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
        False for outliers, which are left out of the ratios.
    ratios : tuple of Ratio
        Second over first before, between and after the changes; at the end of its line where it
        drifts. The last is the current one.
    begin : int
        The first pair in the current ratio: after a drift that has ended.
    drifts_from : float or None
        The ratio at the begin of the current line; None if it does not drift.
    """

    labels: tuple[str, ...]
    detection: Detection
    plain: NDArray[np.bool_]
    ratios: tuple[Ratio, ...]
    begin: int
    drifts_from: float | None

    @property
    def changes(self) -> tuple[ChangePoint, ...]:
        """Where the ratio changes."""
        return self.detection.changes

    @property
    def since(self) -> str | None:
        """The label of the last change; None if the ratio never changed."""
        return self.labels[self.changes[-1].index] if self.changes else None

    @property
    def confirmed(self) -> Ratio:
        """The last ratio whose change is confirmed; the first one has no change."""
        count = len(self.changes)
        while count and not self.changes[count - 1].confirmed:
            count -= 1
        return self.ratios[count]

    @property
    def drifted_until(self) -> str | None:
        """The last label of an ended drift since the last change, or None."""
        ended = any(trend.stop == self.begin for trend in self.detection.trends)
        return self.labels[self.begin - 1] if ended else None

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
    detection = detect(pairs.second / pairs.first, method="robust", least=FLOOR)
    plain = np.ones(pairs.first.size, np.bool_)
    for run in detection.outliers:
        plain[run.start : run.stop] = False
    ratios: list[Ratio] = []
    begin, came_from = 0, None
    for start, stop in pairwise([0, *(change.index for change in detection.changes), plain.size]):
        drifts = [trend.start for trend in detection.trends if trend.stop == stop]
        ended = [trend.stop for trend in detection.trends]
        begin = max((each for each in (*drifts, *ended) if start < each < stop), default=start)
        left_out = np.count_nonzero(~plain[begin:stop])
        if left_out > max((1.0 - KNOWN) * (stop - begin), 2):  # too many to be outliers
            plain[begin:stop] = True
        places = np.flatnonzero(plain[begin:stop]) + begin
        sides = pairs.first[places], pairs.second[places]
        came_from, ratio = drifting_ratio(*sides) if drifts else (None, paired_ratio(*sides))
        ratios.append(ratio)
    return RatioHistory(
        labels=pairs.labels,
        detection=detection,
        plain=plain,
        ratios=tuple(ratios),
        begin=begin,
        drifts_from=came_from,
    )
