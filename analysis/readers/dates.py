"""Points in time as files write them, in seconds since 1970, UTC.

A date without an offset counts as UTC: such files seldom say where they were written, and a history
depends only on the order of its nights.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from hindmost.errors import DataError

LAST_S = 7258118400.0
"""The year 2200, after which no date is right."""

SHOULD_BE = "a date is written as 2021-01-24, 2021-01-24T05:34:11Z or in seconds since 1970"

_WRITTEN = re.compile(
    r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:[T_-]?(\d{2})(\d{2})(\d{2})(Z)?)?")
_IN_NAME = re.compile(
    r"(?<!\d)((?:19|20|21)\d{2})([-_.]?)([01]\d)\2([0-3]\d)"
    r"(?:[T_.-]*([0-2]\d)([-:_.]?)([0-5]\d)\6([0-5]\d)Z?)?(?!\d)"
)
_LARGEST = ((1e11, 1.0), (1e14, 1e-3), (1e17, 1e-6), (1e20, 1e-9))
"""Counts since 1970 up to which the unit is seconds, milliseconds, microseconds, nanoseconds."""


def seconds_since_1970(value: Any, where: str) -> float:
    """Return a point in time: a text or a number.

    Parameters
    ----------
    value : text or number
        ISO 8601, also with dots or slashes for hyphens, also compact as 20210124 (eight digits
        are a day); or a count of seconds since 1970, of milliseconds, microseconds or nanoseconds
        if it is that large.

    Raises
    ------
    DataError
        It is not a date, or one before 1970 or after 2200.
    """
    found = None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        found = _parsed(value.strip() if isinstance(value, str) else value)
    if found is None or not 0.0 <= found < LAST_S:
        raise DataError(f"{where}: {str(value)[:40]!r} is not a date; {SHOULD_BE}.")
    return found


@lru_cache(maxsize=1 << 14, typed=True)
def _parsed(value: str | float) -> float | None:
    """Return a point in time; None if the value is not one."""
    try:
        text = str(value)
        match = _COMPACT.fullmatch(text)
        if match is not None and 1970 <= int(match[1]) < 2200:
            year, month, day, hour, minute, second, _ = match.groups()
            return _of(year, month, day, hour, minute, second, "", "")
        match = _WRITTEN.fullmatch(text)
        if match is not None:
            year, _, month, day, hour, minute, second, fraction, offset = match.groups()
            return _of(year, month, day, hour, minute, second, fraction, offset)
        return _counted(float(value))
    except (ValueError, OverflowError):
        return None


def _of(
    year: str,
    month: str,
    day: str,
    hour: str | None,
    minute: str | None,
    second: str | None,
    fraction: str | None,
    offset: str | None,
) -> float:
    """Return a point in time of its parts."""
    zone: timezone = UTC
    if offset and offset[0] in "+-":
        minutes = 60 * int(offset[1:3]) + int(offset[3:].lstrip(":") or 0)
        zone = timezone(timedelta(minutes=minutes if offset[0] == "+" else -minutes))
    parts = [int(part or 0) for part in (year, month, day, hour, minute, second)]
    whole = datetime(*parts, tzinfo=zone).timestamp()  # type: ignore[arg-type,misc]
    return whole + float(f"0.{fraction or 0}")


def _counted(count: float) -> float | None:
    """Return a point in time of a count since 1970, whose size shows its unit."""
    return next((count * unit for largest, unit in _LARGEST if 0.0 <= count < largest), None)


def date_in_name(name: str) -> float | None:
    """Return the point in time in a file's name, as of ``ctest-20210124.json``; None without."""
    for match in _IN_NAME.finditer(name):
        year, _, month, day, hour, _, minute, second = match.groups()
        try:
            return _of(year, month, day, hour, minute, second, "", "")
        except ValueError:
            continue
    return None


def without_date(name: str) -> str:
    """Return a file's name without dates and their separators."""
    rest = _IN_NAME.sub("", name)
    return re.sub(r"([-_. ])[-_. ]+", r"\1", rest).strip("-_. ") or name
