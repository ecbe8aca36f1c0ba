"""Dates of observations as labels, and when the next result is due, by the past of its case.

Labels are days in UTC, with the time where a day has several runs. Results mostly come by the week:
every night, or on weekdays. After a result on a Friday the next one is due when it mostly came
after earlier Fridays, plus as much as it was late in the past. Results that come without such an
order are due at no time; they are silent after the last days.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.history import History

SECONDS_A_DAY = 86400.0


def date_of(time: float) -> str:
    """Return the day of a time (seconds since 1970, UTC), as ``2020-02-26``."""
    return moment(time).strftime("%Y-%m-%d")


def moment(time: float) -> datetime:
    """Return a time (seconds since 1970) as a date and time, UTC."""
    return datetime.fromtimestamp(time, UTC)


def date_labels(times: NDArray[np.float64]) -> tuple[str, ...]:
    """Return the labels of observations: their dates, with the time where a day has several.

    Parameters
    ----------
    times : float64 array, shape (observation,), seconds
        Since 1970, UTC.
    """
    instants = np.floor(times).astype("datetime64[s]")
    days = days_of(times)
    runs = Counter(days)
    if len(runs) == len(days):
        return tuple(days)
    exact = np.datetime_as_string(instants, unit="s").tolist()
    return tuple(day if runs[day] == 1 else second for day, second in zip(days, exact, strict=True))


def days_of(times: NDArray[np.float64]) -> list[str]:
    """Return the days of times (seconds since 1970, UTC), as ``2020-02-26``."""
    instants = np.floor(times).astype("datetime64[s]")
    days: list[str] = np.datetime_as_string(instants, unit="D").tolist()
    return days


def newest(history: History, now: float = math.inf) -> float:
    """Return the time of the newest night, failed or not: seconds since 1970, UTC.

    Parameters
    ----------
    history : History
    now : float
        Nights more than a day after it are dated wrongly, unless all are: one of them would push
        all that happened recently out of the last days.
    """
    failed = [failure.time for failure in history.failures]
    times = np.concatenate([*(each.times for each in history.series), failed])
    before = times[times <= now + SECONDS_A_DAY]
    return float((before if before.size else times).max())


NIGHTS, FEWEST = 29, 6
"""The last nights of which the order is learnt, and the fewest that show one."""
MISSING = 0.1
"""Share of the nights that may be missing in an order."""


def next_due(times: NDArray[np.float64]) -> float:
    """Return when a result is overdue: seconds since 1970; infinite if they come in no order.

    Parameters
    ----------
    times : float64 array, shape (result,), seconds
        Since 1970, UTC; in any order.
    """
    times = np.sort(times)
    days = np.floor(times / SECONDS_A_DAY)
    nights = times[np.append(days[1:] > days[:-1], True)][-NIGHTS:]  # the last result of each
    if nights.size < FEWEST:
        return np.inf
    gaps = np.diff(nights)
    weekdays = np.floor(nights / SECONDS_A_DAY) % 7.0
    by_weekday = {
        day: float(np.median(same if (same := gaps[weekdays[:-1] == day]).size > 1 else gaps))
        for day in weekdays
    }
    delays = gaps - np.array([by_weekday[day] for day in weekdays[:-1]])
    # More than half a day late is a missing result, and the next.
    missing = delays > 0.5 * SECONDS_A_DAY
    if missing.mean() > MISSING:
        return np.inf
    latest = max(float(delays[~missing].max()), 0.0)
    return float(nights[-1]) + by_weekday[weekdays[-1]] + latest
