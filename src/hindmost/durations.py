"""Durations as people write them in job scripts: ``02:00:00``, ``5m``, ``1h30m``, ``90s``."""

from __future__ import annotations

import math
import re
from typing import Any

_CLOCK = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)")
_UNITS = re.compile(
    r"(?:(?P<days>\d+(?:\.\d+)?)\s*d)?\s*(?:(?P<hours>\d+(?:\.\d+)?)\s*h)?\s*"
    r"(?:(?P<minutes>\d+(?:\.\d+)?)\s*m(?:in)?)?\s*(?:(?P<seconds>\d+(?:\.\d+)?)\s*s)?"
)
_LENGTHS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
LONGEST_S = 366 * 86400.0
"""Nobody means a longer one."""


def parse_duration(value: Any) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    value : str
        ``[D-]HH:MM:SS``, or numbers with the units d, h, m and s, the largest first. A bare number
        is refused: schedulers take it for minutes, or for seconds.

    Raises
    ------
    ValueError
        It is no duration; the message says what is one.
    """
    if isinstance(value, str) and value.strip():
        text = value.strip()
        found = _CLOCK.fullmatch(text) or _UNITS.fullmatch(text)
        if found and not (":" in text and max(int(found[k]) for k in ("minutes", "seconds")) > 59):
            parts = found.groupdict()
            total = math.fsum(float(parts[name] or 0) * one for name, one in _LENGTHS.items())
            if total <= LONGEST_S:
                return total
            raise ValueError("longer than a year")
    raise ValueError('a duration is "02:00:00", "5m", "1h30m" or "90s", in quotes')


def clock(seconds: float) -> str:
    """Write a duration as ``H:MM:SS``, rounded up to a second."""
    whole = math.ceil(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
