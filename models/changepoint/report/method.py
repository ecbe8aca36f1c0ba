"""Algorithms 1, 2 and 3 of the report on the Albany Land-Ice code, and the p-values behind them.

Kyle Shan, Performance Variation of the Albany Land-Ice Code (2020), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import CheckedSeries, check_probability
from hindmost.models.changepoint.robust.method import LEVEL, described
from hindmost.models.changepoint.robust.segments import segments_between

ALPHA = 0.005
LARGEST_STEPS = 10
CONFIRMATIONS = 3
WINDOW = 30
FEWEST = 3


def detect_as_report(
    series: CheckedSeries,
    *,
    algorithm: int = 3,
    alpha: float = ALPHA,
    k: int = LARGEST_STEPS,
    confirmations: int = CONFIRMATIONS,
    window: int = WINDOW,
    level: float = LEVEL,
) -> Detection:
    """Find changes by algorithm 1, 2 or 3 of the report.

    Parameters
    ----------
    series : CheckedSeries
    algorithm : int
        1 looks for one change in the whole series, 2 for several, night by night, and 3 for several
        among outliers.
    alpha : float
        Before it is divided by ``k``, the number of tests.
    k : int
        Largest first differences that are candidates.
    confirmations : int
        m of algorithm 3: consecutive detections that make a change.
    window : int
        w of algorithm 3: observations to look back.
    level : float
        Of the intervals.

    Returns
    -------
    Detection
        All places that the algorithm marks. It tests a place within its window; levels, intervals
        and p-values are an addition to the report: those of the robust method for these places.

    Raises
    ------
    UsageError
        A setting is out of range.
    """
    check_settings(algorithm, alpha, k, confirmations, window)
    check_probability("level", level)
    times = tuple(series.times.tolist())
    if series.size < FEWEST:
        return Detection(method="report", observations=series.size, times=times, too_short=FEWEST)
    places, _ = search(series, algorithm, alpha, k, confirmations, window)
    segments, noise = segments_between(series.logs, places)
    found = list(pairwise(segments))
    seen = [confirmations] * len(found)
    detection = described(series, segments, noise, found, seen, level, confirmations)
    return replace(detection, method="report")


def search(
    series: CheckedSeries, algorithm: int, alpha: float, k: int, confirmations: int, window: int
) -> tuple[list[int], list[int]]:
    """Return the places of changes, and the observations that detected them."""
    from hindmost.models.changepoint.report import loops

    # alpha is divided by the number of tests (Bonferroni), and by 2 for both sides of the law.
    freedom = np.maximum(np.arange(series.size), 1)
    critical = special.stdtrit(freedom, 1.0 - 0.5 * alpha / k)
    if algorithm == 1:
        statistic = np.empty(series.size)
        loops.run_single(series.logs, critical, k, False, statistic)
        places = [int(np.argmax(statistic))] if statistic.max() > 0.0 else []
        return places, [series.size - 1] * len(places)
    robust = algorithm == 3
    votes, last = (confirmations, window) if robust else (1, series.size)
    places, seen = loops.several(series.logs, critical, k, votes, last, robust)
    return places, seen


def check_settings(algorithm: int, alpha: float, k: int, confirmations: int, window: int) -> None:
    """Refuse settings that are out of range."""
    if algorithm not in (1, 2, 3):
        raise UsageError(f"The report has no algorithm {algorithm}: choose 1, 2 or 3.")
    check_probability("alpha", alpha)
    for name, count in (("k", k), ("confirmations", confirmations)):
        if count < 1:
            raise UsageError(f"{name} = {count} must be 1 or more.")
    if window < FEWEST:
        raise UsageError(f"window = {window}: a test needs at least {FEWEST} observations.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePValues:
    """The tests of one moment.

    Attributes
    ----------
    first : int
        The first observation in the window.
    p_values : float64 array, shape (candidate,)
        Of a change that begins at observations ``first + 1``, ``first + 2``, ...
    change : int or None
        Where the change was detected; None for the last moment, if nothing was.
    """

    first: int
    p_values: NDArray[np.float64]
    change: int | None

    @property
    def places(self) -> NDArray[np.int64]:
        """The observations at which a change may begin: int64 array, shape (candidate,)."""
        return np.arange(self.first + 1, self.first + 1 + self.p_values.size)


def candidate_p_values(series: CheckedSeries, *, algorithm: int = 3) -> list[CandidatePValues]:
    """Return the p-values of all candidates at each detection, and at the end of the series.

    Parameters
    ----------
    series : CheckedSeries
    algorithm : int
        As for `detect_as_report`; algorithm 1 has one moment, the end.

    Raises
    ------
    UsageError
        There is no such algorithm.
    DataError
        The series is too short for a test.
    """
    check_settings(algorithm, ALPHA, LARGEST_STEPS, CONFIRMATIONS, WINDOW)
    if series.size < FEWEST:
        raise DataError(
            f"There are {series.size} observations, and a test needs at least {FEWEST}."
        )
    from hindmost.models.changepoint.report import loops

    places, seen = search(series, algorithm, ALPHA, LARGEST_STEPS, CONFIRMATIONS, WINDOW)
    window = WINDOW if algorithm == 3 else series.size
    moments: list[tuple[int, int, int | None]] = []
    begin = 0
    for place, last in zip(places, seen, strict=True):
        moments.append((max(begin, last + 1 - window), last, place))
        begin = place
    if algorithm != 1 or not places:
        moments.append((max(begin, series.size - window), series.size - 1, None))
    found = []
    for first, last, change in moments:
        if last > first:
            t = loops.statistics(series.logs[first : last + 1], algorithm == 3)[1:]
            p_values = 2.0 * special.stdtr(max(last - first - 1, 1), -t)
            found.append(CandidatePValues(first=first, p_values=p_values, change=change))
    return found
