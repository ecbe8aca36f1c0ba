"""JSON values, with the place of an invalid value in messages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.text_files import read_text
from hindmost.errors import DataError
from hindmost.parsing import parse_json

JsonObject = dict[str, Any]

_NOT_FINITE = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w.])([-+]?)(?:(nan(?:\([\w]*\))?|1\.#\w+)|inf(?:inity)?)(?![\w.])',
    re.IGNORECASE,
)
"""A text, or a number that is not finite as C prints it: ``nan``, ``-inf``, ``-nan(ind)``."""


def _as_json(found: re.Match[str]) -> str:
    """Return such a number as Python reads it in JSON, and a text as it is."""
    if found[0].startswith('"'):
        return found[0]
    return "NaN" if found[2] else f"{found[1].strip('+')}Infinity"


SORTS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
"""Names of JSON types, by Python's types."""


def load(text: str, where: str, first_line: int = 1) -> Any:
    """Read JSON.

    Raises
    ------
    DataError
        It is not JSON, or an object has a key twice, of which one would be lost.
    """
    try:
        try:
            return parse_json(text)
        except json.JSONDecodeError:
            # Printed by C: one such number never costs the file.
            return parse_json(_NOT_FINITE.sub(_as_json, text))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}, line {error.lineno + first_line - 1}, column {error.colno}: not JSON "
            f"({error.msg}). The file may have been cut off."
        ) from None
    except ValueError as error:
        place = f"{where}, line {first_line}" if first_line > 1 else where
        raise DataError(f"{place}: not JSON that can be read ({error}).") from None


def read_object(path: Path) -> JsonObject:
    """Read a file that contains one object.

    Raises
    ------
    DataError
        The file cannot be read, is not JSON, or contains something else.
    """
    found: JsonObject = expect(load(read_text(path), str(path)), dict, f"{path}: the document")
    return found


def to_number(value: Any, where: str) -> float:
    """Return a number as a float; null is NaN, a number too large for a float is infinite.

    Raises
    ------
    DataError
        It is not a number.
    """
    if isinstance(value, float):
        return value
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{where}: {json.dumps(value)[:40]} is not a number.")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_numbers(values: Any, where: str) -> list[float]:
    """Return a list of numbers, or a single one, as floats; see `to_number`."""
    if not isinstance(values, list):
        values = [values]
    return [value if type(value) is float else to_number(value, where) for value in values]


def expect(value: Any, kind: type, where: str) -> Any:
    """Return a value if it has the required type.

    Raises
    ------
    DataError
        It is not; the message says where.
    """
    if not isinstance(value, kind):
        raise DataError(f"{where} should be {SORTS[kind]}; it is {str(value)[:40]!r}.")
    return value


def member(holder: Any, name: str, kind: type | None, where: str) -> Any:
    """Return a member of an object, of a kind or of any.

    Raises
    ------
    DataError
        It is not an object, it lacks the member, or the member is of another kind.
    """
    expect(holder, dict, where)
    if name not in holder:
        there = ", ".join(list(holder)[:8]) or "nothing"
        raise DataError(f"{where} lacks '{name}'; it has: {there}.")
    return holder[name] if kind is None else expect(holder[name], kind, f"{where} {name}")


def entries_of(holder: Any, name: str, where: str) -> Iterator[tuple[Any, str]]:
    """Yield the entries of a list that is a member of an object, and their places."""
    for at, entry in enumerate(member(holder, name, list, where)):
        yield entry, f"{where} {name}[{at}]"


def name_in(holder: Any, name: str, where: str) -> str:
    """Return a member of an object that names it.

    Raises
    ------
    DataError
        As by `member`, or it is empty.
    """
    text: str = member(holder, name, str, where)
    if not text.strip():
        raise DataError(f"{where} has an empty '{name}', so its results belong to no case.")
    return text


def inner(data: Any, name: str) -> JsonObject:
    """Return an inner object, empty if there is none."""
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}
