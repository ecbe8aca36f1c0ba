"""Pairing of the observations of two series: by nights, commits or order.

The ratio of two paired series over time: where it changes, and what it is since.

The ratio is judged like any other series by the robust method: that of A to B changes where that of
B to A does, give or take a night. Shifts that are too small to be reported for a single series
count as well, down to the lower limit of the noise: disturbances of both sides cancel in the ratio.
Between changes it is the geometric mean of its nights with Student's interval, without outliers if
they are few. A drifting ratio is given at the end of its line.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.dates import days_of
from hindmost.analysis.readers.history import NightlySeries
from hindmost.models.changepoint import ChangePoint, Detection, detect
from hindmost.models.changepoint.detection import KNOWN
from hindmost.models.changepoint.robust.noise import FLOOR
from hindmost.models.inference import Ratio, drifting_ratio, paired_ratio

FEWEST = 3
"""Least number of pairs for a paired comparison; fewer data on a side are said to be few."""
COVERED = 0.5
"""Least share of the shorter series that must have a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The paired observations of two series.

    Attributes
    ----------
    by : str
        "nights", "commits", "order" or "none".
    first, second : float64 arrays
        Of the same shape (pair,) if they are paired; all observations of each if not.
    labels : tuple of str, one a pair
        The nights or commits; empty if they are paired in order, or not at all.
    """

    by: str
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    labels: tuple[str, ...] = ()


def nights(series: NightlySeries) -> list[Hashable]:
    """Return the day of every observation."""
    return list(days_of(series.times))


def commits(series: NightlySeries) -> list[Hashable]:
    """Return the commits of every observation; None if unknown."""
    return [text or None for text in series.commits]


KEYS: dict[str, Callable[[NightlySeries], list[Hashable]]] = {"nights": nights, "commits": commits}
"""Keys that make two observations a pair, in the order in which they are tried."""


def pair_series(first: NightlySeries, second: NightlySeries) -> Pairs:
    """Pair the observations of two series if possible.

    Several observations of a night or a commit count as one, by the mean of their logarithms.
    Without keys, repetitions are paired in order if the two series alternate.
    """
    for name in KEYS:
        pairs = by_key(means(first, name), means(second, name), name)
        shorter = min(len(set(KEYS[name](each))) for each in (first, second))
        if pairs.first.size >= max(FEWEST, COVERED * shorter):
            return pairs
    by = "order" if take_turns(first, second) else "none"
    return Pairs(by=by, first=first.values, second=second.values)


def by_key(mine: Mapping[Hashable, float], theirs: Mapping[Hashable, float], name: str) -> Pairs:
    """Pair the `means` of two series by nights or commits, in the order of the first."""
    shared = [key for key in mine if key in theirs]
    return Pairs(
        by=name,
        first=np.array([mine[key] for key in shared]),
        second=np.array([theirs[key] for key in shared]),
        labels=tuple(map(str, shared)),
    )


def means(series: NightlySeries, name: str) -> dict[Hashable, float]:
    """Return the geometric mean of every night or commit."""
    values: dict[Hashable, list[float]] = {}
    for key, value in zip(KEYS[name](series), series.values.tolist(), strict=True):
        if key is not None:
            values.setdefault(key, []).append(value)
    return {key: float(np.exp(np.mean(np.log(each)))) for key, each in values.items()}


def take_turns(first: NightlySeries, second: NightlySeries) -> bool:
    """Tell whether the measurements of two series alternate."""
    size = first.times.size
    if size != second.times.size or size < FEWEST:
        return False
    early, late = sorted((first.times, second.times), key=lambda times: float(times[0]))
    return bool(np.all(early < late) and np.all(late[:-1] < early[1:]))


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
