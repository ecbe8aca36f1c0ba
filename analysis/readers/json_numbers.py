"""Numbers in JSON, with the place of one that is none."""

from __future__ import annotations

import json
import math
from typing import Any

from hindmost.errors import DataError


def load(text: str, where: str, first_line: int = 1) -> Any:
    """Read JSON.

    Raises
    ------
    DataError
        It is not JSON, or an object has a key twice, of which one would be lost.
    """

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(
                f"{where}: the key '{twice}' comes twice in one object; write one, with all values."
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=whole)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}, line {error.lineno + first_line - 1}, column {error.colno}: not JSON "
            f"({error.msg}). The file may have been cut off."
        ) from None
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON that can be read ({error}).") from None


def to_number(value: Any, where: str) -> float:
    """Return a number as a float; null is NaN, what no float can hold is infinite.

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
