"""How numbers are written for people, and how durations and shares are read from them.

Messages, tables, pages and scripts all write counts, times, percents, choices and clocks with the
functions of this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from hindmost.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR_1 = 0.02
"""Ratios as near to 1 have three decimals."""
HUGE = 1e6
"""From here on percents have an exponent."""
MAX_PLAIN = 1e12
"""From here on numbers without a scaled unit have an exponent."""
MUCH = 10.0
"""Relative changes from here on, 1000 %, are written as factors."""
SECONDS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
LONGER = (("d", 86400.0), ("h", 3600.0))
MANY_S = 1e4
"""Times from here on are written in hours or days."""
BYTES = (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
BYTES_PER_S = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
MAX_CHOICES = 20
"""Alternatives that are listed; the rest are counted."""
LONG_S = 90.0
"""A duration from here on is written as a clock shows it."""


# Counts and choices.


def plural(count: int, noun: str) -> str:
    """Return the form of a noun that goes with a count; it knows bodies, and series."""
    if count == 1 or noun.endswith("series"):
        return noun
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y$", noun) else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Write how many there are of something: ``1 run``, ``2,000 bodies``, ``3 series``."""
    return f"{count:,} {plural(count, noun)}"


def as_long_as(ratio: float, other: str) -> str:
    """Write how a time compares with another's: ``1.25 times the time of A``, ``as long as A``."""
    return (
        f"as long as {other}" if f"{ratio:.3g}" == "1" else f"{ratio:.3g} times the time of {other}"
    )


def named_ranks(ranks: Iterable[int], size: int, most: int = 4) -> str:
    """Name ranks: ``rank 1``, ``all ranks``, ``ranks 0, 2``, ``ranks 0, 1, 2, 3 and 60 others``."""
    numbers = sorted(ranks)
    if len(numbers) == size > 1:
        return "all ranks"
    others = f" and {counted(len(numbers) - most, 'other')}" if len(numbers) > most else ""
    return f"{plural(len(numbers), 'rank')} {', '.join(map(str, numbers[:most]))}{others}"


def by_number(text: object) -> list[tuple[int, str]]:
    """Return a key that sorts texts by the numbers in them: ``p2`` before ``p16``."""
    parts = re.split(r"(\d+)", str(text))
    # By their digits, as a number may be too long for an integer.
    numbers = [part.lstrip("0") if part.isdecimal() else None for part in parts]
    return [
        (-1, part) if number is None else (len(number), number)
        for part, number in zip(parts, numbers, strict=True)
        if part
    ]


def first_of(texts: Sequence[str], joint: str = ", ", most: int = 4) -> str:
    """Write the first texts, and how many others there are: ``a; b; c; d; and 3 others``."""
    left = len(texts) - most
    return joint.join([*texts[:most], *([f"and {counted(left, 'other')}"] if left > 0 else [])])


def either(choices: Iterable[object]) -> str:
    """Write alternatives: ``a, b or c``; ``nothing`` if there are none."""
    names = [str(choice) for choice in choices]
    left = len(names) - MAX_CHOICES
    *first, last = (*names[:MAX_CHOICES], f"{left} more") if left > 0 else names or ["nothing"]
    return f"{', '.join(first)} or {last}" if first else last


def choose(choices: Iterable[object], given: object = "") -> str:
    """Ask for one of several choices, and guess which one a misspelt word means.

    Examples
    --------
    >>> choose(("cg", "gmres")), choose(("cg", "gmres"), "gmers")
    ('choose cg or gmres', 'did you mean gmres? choose cg or gmres')
    """
    names = [str(choice) for choice in choices]
    near = get_close_matches(given, names, n=2) if isinstance(given, str) else []
    return f"{f'did you mean {either(near)}? ' if near else ''}choose {either(names)}"


def capital(words: str) -> str:
    """Begin a sentence with a capital."""
    return words[:1].upper() + words[1:]


def small(words: str) -> str:
    """Continue a sentence."""
    return words[:1].lower() + words[1:]


# Values with units.


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time on an axis: its sign, and how many of it make a second."""

    sign: str
    per_second: float


UNITS = (Unit("s", 1.0), Unit("ms", 1e3), Unit("µs", 1e6))
"""Of axes, which show more letters than every terminal does."""


def unit_for(times: NDArray[np.float64]) -> Unit:
    """Return the largest unit in which the median of times is at least 1; µs if there is none.

    Parameters
    ----------
    times : float64 array, any shape, seconds
    """
    from numpy import median  # not for verbs that draw nothing

    middle = float(median(times))
    return next((unit for unit in UNITS if middle * unit.per_second >= 1.0), UNITS[-1])


def with_unit(value: float, units: tuple[tuple[str, float], ...], zeros: str = "#") -> str:
    """Write a value in three significant digits, in the first unit of which there is one or more.

    Parameters
    ----------
    units : tuple of (str, float)
        Sign and size of every unit, the largest first.
    zeros : str
        ``#`` writes 1.50 as a measured value, and the empty text 1.5 as an exact one.
    """
    return " ".join(_number_and_unit(value, units, zeros))


def _number_and_unit(
    value: float, units: tuple[tuple[str, float], ...], zeros: str = "#"
) -> tuple[str, str]:
    """Return a value and its unit as `with_unit` writes them."""
    if not math.isfinite(value):
        return f"{value:g}", units[0][0]
    # What is rounded to 1000 of a unit is written as 1 of the next one.
    sign, size = next((unit for unit in units if abs(value) >= 0.9995 * unit[1]), units[-1])
    scaled = value / size
    # No digit after the point, and none lost before it.
    return f"{scaled:.0f}" if abs(scaled) >= 99.95 else f"{scaled:{zeros}.3g}", sign


def seconds(value_s: float) -> str:
    """Write a time: ``15.5 ms``, ``7.82 h``."""
    return " ".join(_seconds(value_s))


def _seconds(value_s: float) -> tuple[str, str]:
    """Return the number and the unit of a time."""
    if MANY_S <= abs(value_s) < math.inf:
        return _number_and_unit(value_s, LONGER)
    return ("0", "s") if value_s == 0.0 else _number_and_unit(value_s, SECONDS)


def seconds_range(low_s: float, high_s: float) -> str:
    """Write a range of times: ``1.20 to 3.00 ms``; one time if its ends read the same."""
    low, high = _seconds(low_s), _seconds(high_s)
    if low == high:
        return " ".join(high)
    return f"{low[0] if low[1] == high[1] else ' '.join(low)} to {' '.join(high)}"


def unbroken(text: str) -> str:
    r"""Return a text in which no line breaks between a number and its unit, by wider spaces.

    Examples
    --------
    >>> unbroken("load 5.1 % in 3 runs of 2 s")
    'load 5.1\\xa0% in 3 runs of 2\\xa0s'
    """
    return re.sub(r"(?<=\d) (?=%|[munµ]?s\b|[hd]\b|[KMGT]?i?B\b|[kMG]B/s)", "\u00a0", text)


def byte_count(count: float) -> str:
    """Write a number of bytes: ``8 B``, ``1.5 MiB``."""
    return with_unit(count, BYTES, "")


def bandwidth(bytes_per_s: float) -> str:
    """Write a bandwidth: ``1.25 GB/s``."""
    return with_unit(bytes_per_s, BYTES_PER_S)


def quantity(value: float, unit: str) -> str:
    """Write a value with its unit: a time as `seconds` does, anything else as `number` does."""
    return seconds(value) if unit == "s" else f"{number(value)} {unit}".rstrip()


def number(value: float) -> str:
    """Write a number in four significant digits: ``0.5``, ``23,990``, ``1.235e+15``."""
    short = f"{value:.4g}"
    return f"{float(short):,.0f}" if 1e4 <= abs(float(short)) < MAX_PLAIN else short


# Percents.


def percent(share: float, decimals: int | None = 1) -> str:
    """Write a share in percent: ``12.3 %``; a huge one in three digits: ``1.23e+06 %``.

    Parameters
    ----------
    share : float
        Part of a whole: 1 is 100 %.
    decimals : int or None
        Digits after the point; None for those that the number has, as for a level of 97.5 %.
    """
    return f"{_percent(share, decimals, '')} %"


def percent_range(low: float, high: float, decimals: int | None = 1) -> str:
    """Write a range of shares in percent: ``12 to 15 %``; one if its ends read the same."""
    first, last = (_percent(share, decimals, "") for share in (low, high))
    return f"{last} %" if first == last else f"{first} to {last} %"


def signed_percent(
    share: float, interval: tuple[float, float] | None = None, decimals: int = 1
) -> str:
    """Write a relative change: ``+12.3 %``, or ``+12.3 % (+10.1 to +14.0 %)`` with its interval.

    One of over 1000 % is a factor: ``x17.6``.
    """
    if MUCH <= share < math.inf:
        ends = " to ".join(f"x{factor(1.0 + end)}" for end in interval or ())
        return f"x{factor(1.0 + share)}{f' ({ends})' if ends else ''}"
    ends = " to ".join(_percent(end, decimals, "+") for end in interval or ())
    return f"{_percent(share, decimals, '+')} %{f' ({ends} %)' if ends else ''}"


def difference(share: float) -> str:
    """Write by how much values differ: ``34 %``, or ``a factor of 17.6`` from 1000 % on."""
    return f"a factor of {factor(1.0 + share)}" if MUCH <= share < math.inf else percent(share, 0)


def factor(ratio: float) -> str:
    """Write how many times as much: ``1.17``, ``8,260``; in three decimals within 2 % of 1."""
    if 99.95 <= ratio < HUGE:
        return f"{ratio:,.0f}"
    if round(abs(ratio - 1.0), 4) <= NEAR_1:
        return f"{ratio:.3f}"
    return f"{ratio:{'.3g' if ratio >= HUGE else '#.3g'}}"


def _percent(share: float, decimals: int | None, sign: str) -> str:
    """Return the number of a percent."""
    value = 100.0 * share
    if decimals is None:
        return f"{value:{sign}g}"
    return f"{value:{sign}.3g}" if abs(value) >= HUGE else f"{value:{sign}.{decimals}f}"


def probability(share: float) -> str:
    """Write a probability in percent and two digits; only a certain one is ``100 %``."""
    value = 100.0 * share
    if value < 0.01:
        return "below 0.01 %"
    if value >= 9.5:
        return "above 99 %" if 99.0 < value < 100.0 else f"{value:.0f} %"
    return f"{value:.2g} %"


MIN_P = 1e-15
"""Below it only rounding tells one p-value from another, and none is zero."""


def p_words(p_value: float, digits: int = 2) -> str:
    """Write a p-value as ``p = 0.0021``, or ``p < 1e-15``.

    Parameters
    ----------
    p_value : float
    digits : int
        Significant ones.
    """
    number = p_number(p_value, digits)
    return f"p {number}" if p_value < MIN_P else f"p = {number}"


def p_number(p_value: float, digits: int = 2) -> str:
    """Write a p-value where a heading says what it is: ``0.0021``, or ``< 1e-15``."""
    return f"< {MIN_P:g}" if p_value < MIN_P else f"{p_value:.{digits}g}"


def read_share(text: str, option: str) -> float:
    """Return a share that is written as ``5%`` or ``0.05``.

    Parameters
    ----------
    option : str
        The option it was given by, for messages.

    Raises
    ------
    UsageError
        It is not above 0 and at most 1.
    """
    share = _read_number(text)
    if not 0.0 < share <= 1.0:
        raise UsageError(f"{option} {text}: write a share above 0 and up to 1, such as 5% or 0.05.")
    return share


def read_increase(text: str, option: str) -> float:
    """Return a relative increase, 0 or more; written and refused as by `read_share`.

    From 1 on it needs its ``%``: who writes 15 seldom means 1500 %.
    """
    share = _read_number(text)
    if not 0.0 <= share < math.inf:
        raise UsageError(f"{option} {text}: write a share of 0 or more, such as 5% or 0.05.")
    if share >= 1.0 and "%" not in text:
        raise UsageError(
            f"{option} {text}: this is {percent(share, None)}; if that is meant, write "
            f"{100.0 * share:g}%, else {text}% or {share / 100.0:g}."
        )
    return share


def _read_number(text: str) -> float:
    """Return a number or a percent; NaN for anything else."""
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return math.nan


# Durations.

_CLOCK = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)")
_WITH_UNITS = re.compile(
    r"(?:(?P<days>\d+(?:\.\d+)?)\s*d)?\s*(?:(?P<hours>\d+(?:\.\d+)?)\s*h)?\s*"
    r"(?:(?P<minutes>\d+(?:\.\d+)?)\s*m(?:in)?)?\s*(?:(?P<seconds>\d+(?:\.\d+)?)\s*s)?"
)
_LENGTHS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}


def clock(value_s: float, *, hour_digits: int = 1) -> str:
    """Write a duration as ``H:MM:SS``, rounded up to a second."""
    whole = math.ceil(value_s)
    return f"{whole // 3600:0{hour_digits}d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def duration(value_s: float) -> str:
    """Write a duration as `seconds` does where it is short, and as a `clock` from 90 s on."""
    return seconds(value_s) if value_s < LONG_S else clock(value_s)


def parse_duration(value: Any) -> float:
    """Return a duration in seconds.

    Parameters
    ----------
    value : str
        ``[D-]HH:MM:SS``, or numbers with the units d, h, m and s, the largest first. A bare number
        is refused: some schedulers read it as minutes, others as seconds.

    Raises
    ------
    ValueError
        It is not a duration; the message says what is one.
    """
    if isinstance(value, str) and value.strip():
        text = value.strip()
        found = _CLOCK.fullmatch(text) or _WITH_UNITS.fullmatch(text)
        if found and not (":" in text and max(int(found[k]) for k in ("minutes", "seconds")) > 59):
            parts = found.groupdict()
            return math.fsum(float(parts[name] or 0) * one for name, one in _LENGTHS.items())
    raise ValueError('a duration is "02:00:00", "5m", "1h30m" or "90s", in quotes')
