"""Points in time as files write them, in seconds since 1970, UTC.

A date without an offset counts as UTC: such files seldom say where they were written, and a history
depends only on the order of its nights.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from hindmost.errors import DataError

LAST_S = 7258118400.0
"""The year 2200, after which no date is right."""

SHOULD_BE = "a date is written as 2021-01-24, 2021-01-24T05:34:11Z or in seconds since 1970"

_DAY = re.compile(r"(\d{4})([-./])(\d{1,2})\2(\d{1,2})(?!\d)")
_COMPACT = re.compile(r"\d{8}(?:[T_-]?\d{6}Z?)?")
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
    text = str(value)
    try:
        if _DAY.match(text) or _COMPACT.fullmatch(text):
            return _of(text)
        return _counted(float(value))
    except (ValueError, OverflowError):
        return None


def _of(text: str) -> float:
    """Return a point in time that is written in a way of `seconds_since_1970`."""
    day = _DAY.match(text)
    if day is not None:  # ISO 8601 has hyphens, and two digits each
        year, _, month, date = day.groups()
        clock = text[day.end() :].strip().lstrip("T")
        clock = re.sub(r"^\d:", "0\\g<0>", clock).replace(" ", "").replace("UTC", "Z")
        text = f"{year}-{month:0>2}-{date:0>2}{f'T{clock}' if clock else ''}"
    moment = datetime.fromisoformat(text.replace("_", "T"))
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _counted(count: float) -> float | None:
    """Return a point in time of a count since 1970, whose size shows its unit."""
    return next((count * unit for largest, unit in _LARGEST if 0.0 <= count < largest), None)


def date_in_name(name: str) -> float | None:
    """Return the point in time in a file's name, as of ``ctest-20210124.json``; None without."""
    for match in _IN_NAME.finditer(name):
        year, _, month, day, hour, _, minute, second = match.groups()
        try:
            clock = f"T{hour}:{minute}:{second}" if hour else ""
            return _of(f"{year}-{month}-{day}{clock}")
        except ValueError:
            continue
    return None


def without_date(name: str) -> str:
    """Return a file's name without dates and their separators."""
    rest = _IN_NAME.sub("", name)
    return re.sub(r"([-_. ])[-_. ]+", r"\1", rest).strip("-_. ") or name
