"""Units of metrics, and whether smaller values are better."""

from __future__ import annotations

import re

IN_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
"""Units of time, as tools write them."""

_OTHER_UNIT = re.compile(
    r"%|percent|[kmgtp]?i?(?:b|bit|byte|flop|op|hz|j|w|pa|m|g)s?|k?wh|joules?|watts?|celsius|°?c|k|v|a"
    r"|counts?|calls?|messages?|iterations?|(?:degrees of freedom|dofs?|cells?|elements?|points?)",
    re.IGNORECASE,
)
"""Units of other quantities, without what they are divided by."""

_RATE = re.compile(
    r"per[\s-]?(?:s|sec|second|min|minute|hour|day)\b|/\s?(?:s|sec|second|minute|hour|hr|day)\b"
    r"|/\s?(?:min|h|d)\]"  # in a unit; in a name it may be the end of a call path
    r"|throughput|bandwidth|flops|speed-?up|\bspeed\b|\bfps\b|\b[kmg]?hz\b|efficiency"
    r"|\b(?:[kmgt]?dofs?|mlups?|ops|iops|[tqr]ps|[kmgt]?teps|sypd|score|fom|figure of merit)\b"
    r"|\bhit[\s-]?(?:rate|ratio)\b",
    re.IGNORECASE,
)
"""Names and units of metrics that should be large."""
_TIME_PER = re.compile(
    r"\b(?:s|sec|seconds?|ms|min|minutes?|h|hours?|time)\s?(?:/|\bper\b)", re.IGNORECASE
)
"""Times of one unit of work, such as ``s/day``: they should be small, unlike ``ns/day``."""


def unit_of(text: str | None) -> str:
    """Write a unit as experiments do: ``s`` for all names of the second."""
    text = (text or "").strip()
    return "s" if IN_SECONDS.get(text.lower()) == 1.0 else text


def is_unit(text: str) -> bool:
    """Tell whether a text is a unit, as opposed to another remark in parentheses.

    ``s``, ``MB/s``, ``GFLOP/s`` and ``bytes`` are; ``mean`` and ``rank 0`` are not.
    """
    parts = [part.strip() for part in re.split(r"/|\bper\b|\*", text)]
    return all(
        part.lower() in IN_SECONDS or _OTHER_UNIT.fullmatch(part) is not None for part in parts
    )


def plain_unit(text: str) -> tuple[str, float]:
    """Return the unit of a series, and the factor for values in the file's unit.

    Every time becomes seconds, so that a benchmark whose unit is changed from one night to the next
    stays one series.
    """
    text = text.strip()
    factor = IN_SECONDS.get(text.lower())
    return ("s", factor) if factor is not None else (text, 1.0)


def smaller_is_better(timer: str, unit: str) -> bool:
    """Tell from name and unit whether a metric should be small (times) or large (rates)."""
    if unit == "s":
        return True
    name = f"{timer} [{unit}]".replace("_", " ")
    return _TIME_PER.search(name) is not None or _RATE.search(name) is None
