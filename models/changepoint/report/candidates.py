"""The p-values of the report's algorithms: of every candidate, at the moment of each detection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.changepoint.observations import CheckedSeries
from hindmost.models.changepoint.report.method import (
    ALPHA,
    CONFIRMATIONS,
    FEWEST,
    LARGEST_STEPS,
    WINDOW,
    check_settings,
    rules_of,
)
from hindmost.models.changepoint.report.variants import VARIANTS


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


def candidate_p_values(
    series: CheckedSeries,
    *,
    algorithm: int = 3,
    variant: str = "published",
    alpha: float = ALPHA,
    k: int = LARGEST_STEPS,
) -> list[CandidatePValues]:
    """Return the p-values of all candidates at each detection, and at the end of the series.

    Parameters
    ----------
    series : CheckedSeries
    algorithm, variant, alpha, k
        As for `detect_as_report`; algorithm 1 has one moment, the end.

    Raises
    ------
    UsageError
        A setting is out of range.
    DataError
        The series is too short for a test.
    """
    check_settings(algorithm, variant, "student", alpha, k, CONFIRMATIONS, WINDOW, 0.95)
    if series.size < FEWEST:
        raise DataError(
            f"There are {series.size} observations, and a test needs at least {FEWEST}."
        )
    from hindmost.models.changepoint.report import loops

    robust = algorithm == 3
    rules = rules_of(VARIANTS[variant], trims=robust)
    window = VARIANTS[variant].extra + WINDOW if robust else series.size
    if algorithm == 1:
        statistic = np.empty(series.size)
        loops.run_single(series.logs, series.may_change, alpha, k, rules, False, statistic)
        places = [int(statistic.argmax())] if statistic.max() > 0.0 else []
        seen = [series.size - 1] * len(places)
    else:
        votes = CONFIRMATIONS if robust else 1
        places, seen, _ = loops.several(
            series.logs, series.may_change, alpha, k, votes, window, rules, False
        )
    moments: list[tuple[int, int, int | None]] = []
    begin = 0
    for place, last in zip(places, seen, strict=True):
        moments.append((max(begin, last + 1 - window), last, place))
        begin = place
    if algorithm != 1 or not places:
        moments.append((max(begin, series.size - window), series.size - 1, None))
    return [
        CandidatePValues(first=first, p_values=p_values(series, first, last, rules), change=change)
        for first, last, change in moments
        if last > first
    ]


def p_values(
    series: CheckedSeries,
    first: int,
    last: int,
    rules: tuple[bool, int, int, bool, bool, int],
) -> NDArray[np.float64]:
    """Return the p-value of every candidate in a window, both ends included."""
    from hindmost.models.changepoint.report import loops

    found = np.ones(last + 1 - first)
    loops.candidate_p(series.logs[first : last + 1], rules, False, found)
    return found[1:]
