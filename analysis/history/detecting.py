"""One pass of a method over a series of a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindmost.analysis.history.dates import SECONDS_A_DAY, days_of
from hindmost.analysis.readers.history import NightlySeries
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import Detection, detect
from hindmost.text import choose

BETWEEN = ("days", "commits")
"""Where changes may be asked to lie."""


def detect_in(
    series: NightlySeries,
    method: str,
    settings: Mapping[str, Any],
    only_between: str | None,
    stop: int | None = None,
    confirmed: Sequence[int] = (),
) -> Detection:
    """Do one pass over a series, or over its first observations.

    Parameters
    ----------
    series : NightlySeries
    method : str
    settings : mapping
        Of the method.
    only_between : {"days", "commits"} or None
        Where changes may lie.
    stop : int, optional
        The first observation that is left out.
    confirmed : sequence of int
        First observations of the changes that were confirmed before.

    Raises
    ------
    UsageError
        There is no such method, setting or place for changes.
    DataError
        The series is invalid, or changes are to lie between commits and it has none.
    """
    check_between(series, only_between)
    nights = days_of(series.times[:stop])
    return detect(
        series.values[:stop],
        times=series.times[:stop] / SECONDS_A_DAY,
        nights=nights,
        confirmed=list(confirmed),
        days=nights if only_between == "days" else None,
        commits=list(series.commits[:stop]) if only_between == "commits" else None,
        smaller_is_better=series.smaller_is_better,
        method=method,
        **settings,
    )


def check_between(series: NightlySeries, only_between: str | None) -> None:
    """Refuse places for changes that do not exist, or that a series does not have."""
    if only_between not in (None, *BETWEEN):
        raise UsageError(f"Changes cannot be kept between {only_between!r}; {choose(BETWEEN)}.")
    if only_between == "commits" and not any(series.commits):
        raise DataError(
            "its results name no commits, and changes are to lie between commits: leave out "
            "--only-between commits, or add the commits to the data."
        )
