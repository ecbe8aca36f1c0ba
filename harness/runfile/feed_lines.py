"""The lines of a live feed: the fields of each kind, and checks of lines that were read.

A feed is read while it is written, possibly from a full disk, and it may come from someone else.
Lines that are invalid, or have impossible values, are skipped and never shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from hindmost.parsing import check_depth
from hindmost.printable import one_line

Check = Callable[[Any, Mapping[str, Any]], bool]
"""A check of a value, given the feed's head."""

SCHEMA = "hindmost-live"
VERSION = 1
LARGEST = 1 << 63
MOST_RANKS = 1 << 31
LEAST_PHASES = 3
"""Halo, wait and post come first."""


def number(value: Any, head: Mapping[str, Any]) -> bool:
    """Tell whether a value is a finite number of moderate size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST < value < LARGEST and math.isfinite(value)


def natural(value: Any, head: Mapping[str, Any]) -> bool:
    """Tell whether a value is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST


def some(value: Any, head: Mapping[str, Any]) -> bool:
    """Tell whether a value is a number of ranks, hosts or columns: 1 or more."""
    return natural(value, head) and 1 <= value <= MOST_RANKS


def word(value: Any, head: Mapping[str, Any]) -> bool:
    """Tell whether a value is text."""
    return isinstance(value, str)


def each(check: Check, *, of: str = "", least: int = 0) -> Check:
    """Return the check of a list; its length may be given by a list or number of the head."""

    def checked(value: Any, head: Mapping[str, Any]) -> bool:
        if not isinstance(value, list) or len(value) < least:
            return False
        if of:
            wanted = head[of]
            if len(value) != (wanted if isinstance(wanted, int) else len(wanted)):
                return False
        return all(check(entry, head) for entry in value)

    return checked


def place(of: str) -> Check:
    """Return the check of an index into a list of the head."""
    return lambda value, head: natural(value, head) and value < len(head[of])


def extreme(value: Any, head: Mapping[str, Any]) -> bool:
    """Tell whether a value is a rank and its extreme value."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    return natural(value[0], head) and value[0] < head["ranks"] and number(value[1], head)


LINES: dict[str, dict[str, Check]] = {
    "head": {
        "schema": word,
        "workload": word,
        "ranks": some,
        "columns": some,
        "runs": some,
        "phases": each(word, least=LEAST_PHASES),
        "metrics": each(word, least=1),
        "began_utc": word,
        "host": word,
        "hosts": some,
        "extrema": each(word, least=1),
        "periods_s": each(number, least=1),
    },
    "solve": {"solver": word, "number": natural, "iterations": natural},
    "frame": {
        "t_ns": natural,
        "iteration": natural,
        "window_ns": natural,
        "phase_ns": each(number, of="phases"),
        "first_bin": natural,
        "bins": each(natural),
        "extrema": each(extreme, of="extrema"),
        "period": place("periods_s"),
        "metric": place("metrics"),
        "heat": each(number, of="columns"),
        "late": natural,
        "cost_ns": natural,
    },
    "done": {"number": natural},
    "end": {"status": word},
}
"""The kinds of lines, and their required fields."""
MAY: dict[str, Check] = {"done": natural, "file": word, "failure": word, "stopped": word}
"""Optional fields of lines."""


def parsed(text: bytes, head: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Return a line of a feed, None if it is invalid.

    Parameters
    ----------
    text : bytes
    head : mapping or None
        The feed's first line; while it is unknown (None), only the names of fields are checked.
    """
    try:
        line = json.loads(text, parse_constant=refuse)
        check_depth(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or line.get("kind") not in tuple(LINES):
        return None
    fields = LINES[line["kind"]]
    if not fields.keys() <= line.keys() and line["kind"] != "head":
        return None
    if line["kind"] != "frame":
        line = {name: cleaned(value) for name, value in line.items()}
    if line["kind"] == "head":
        head = line
        if line.get("schema") != SCHEMA or line.get("version") != VERSION:
            return line  # the reader reports it
    if head is None:
        return line
    whole = all(name in line and check(line[name], head) for name, check in fields.items())
    more = all(check(line[name], head) for name, check in MAY.items() if name in line)
    return line if whole and more else None


def cleaned(value: Any) -> Any:
    """Return a value of a line that is safe to show."""
    if isinstance(value, str):
        return one_line(value)
    return [cleaned(entry) for entry in value] if isinstance(value, list) else value


def refuse(said: str) -> float:
    """Refuse the constants that Python accepts in addition to JSON."""
    raise ValueError(f"{said} is not a JSON number")
