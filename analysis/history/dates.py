"""Dates of observations, as labels: days in UTC, with the time where a day has several runs."""

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
