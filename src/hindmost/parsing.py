"""JSON and TOML, parsed strictly; `hindmost.records` checks what they hold."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from hindmost.printable import one_line

SHOWN = 40
"""Characters of a value in a message."""
TOO_DEEP = "lists and objects are nested too deep"
PLAIN_NAME = r"\A(?!\.)[^/\x00]{1,255}\Z"
"""Names of files in a folder, and of nothing outside of it."""
LARGEST = 1 << 63
"""Whole numbers beyond it are none of ours, and fit into no array."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        It is not JSON, nested too deep, or an object has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; a key that comes twice would hide a value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise ValueError(f"the key {shown(twice)} comes twice in an object")
    return members


def plain_number(text: str) -> float:
    """Return the number that a text is; ``1_000`` is none, though Python reads it.

    Raises
    ------
    ValueError
    """
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"'{one_line(text[:SHOWN])}' is not a number")


def as_number(text: str) -> float | None:
    """Return the number that a text is, as `plain_number`; None of other text."""
    try:
        return plain_number(text)
    except ValueError:
        return None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raises a ValueError (`tomllib.TOMLDecodeError`) as `parse_json` does."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python's own words name a function of Python
        raise tomllib.TOMLDecodeError("a number has more digits than can be read") from None


def shown(value: Any) -> str:
    """Return a value as JSON and TOML write it, on one short line."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    # More digits than Python writes, keys that JSON lacks, or nested too deep.
    except (ValueError, TypeError, RecursionError):
        text = type(value).__name__
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    return one_line(text)


def is_plain_name(name: str) -> bool:
    """Tell whether a text can be the name of a file in a folder, and of nothing outside of it."""
    return re.fullmatch(PLAIN_NAME, name) is not None
