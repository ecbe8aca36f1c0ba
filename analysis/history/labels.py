"""What observations are called, and what a method is told of them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.history.records import NightlySeries
from hindmost.errors import UsageError

SECONDS_A_DAY = 86400.0
BETWEEN = ("days", "commits")
"""Where changes may be asked to lie."""


def date_of(time: float) -> str:
    """Return the day of a time (seconds since 1970, UTC), as ``2020-02-26``."""
    return moment(time).strftime("%Y-%m-%d")


def moment(time: float) -> datetime:
    """Return a time (seconds since 1970) as a date and time, UTC."""
    return datetime.fromtimestamp(time, UTC)


def date_labels(times: NDArray[np.float64]) -> tuple[str, ...]:
    """Return what observations are called: their dates, with the time where a day has several.

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


def observed(series: NightlySeries, only_between: str | None) -> dict[str, Any]:
    """Return what `hindmost.models.changepoint.detect` takes beside values.

    Parameters
    ----------
    series : NightlySeries
    only_between : {"days", "commits"} or None
        Where changes may lie.

    Raises
    ------
    UsageError
        Changes are to lie between something else.
    """
    told: dict[str, Any] = {"times": series.times / SECONDS_A_DAY}
    if only_between is None:
        return told
    if only_between not in BETWEEN:
        raise UsageError(
            f"Changes cannot be kept between {only_between!r}: choose {' or '.join(BETWEEN)}."
        )
    if only_between == "days":
        return told | {"days": days_of(series.times)}
    return told | {"commits": list(series.commits)}
