"""JSON of an expected shape, with the place of what is not."""

from __future__ import annotations

from typing import Any

from hindmost.errors import DataError

SORTS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
"""How JSON calls what Python reads of it."""


def expect(value: Any, kind: type, where: str) -> Any:
    """Return a value if it is of a kind.

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
        There is no object, it lacks the member, or that is of another kind.
    """
    expect(holder, dict, where)
    if name not in holder:
        there = ", ".join(list(holder)[:8]) or "nothing"
        raise DataError(f"{where} lacks '{name}'; it has: {there}.")
    return holder[name] if kind is None else expect(holder[name], kind, f"{where} {name}")
