"""A table of a study file, read key by key; what nobody asked for is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from hindmost.durations import parse_duration
from hindmost.jobs.study.document import Document, choices, named
from hindmost.jobs.study.positions import KeyPath

Scalar = str | int | float | bool


class Section:
    """A table.

    Parameters
    ----------
    document : Document
    path : KeyPath
        Of the table; where the document has none, it reads as an empty one.
    """

    def __init__(self, document: Document, path: KeyPath) -> None:
        self.document = document
        self.path = path
        value: Any = document.data
        for part in path:
            value = value.get(part, {}) if isinstance(value, dict) else value[part]
        if not isinstance(value, dict):
            document.refuse_value(path, f"it has to be a table: [{named(path)}].")
        self.table: dict[str, Any] = value

    def __contains__(self, key: str) -> bool:
        """Tell whether the table has a key."""
        return key in self.table

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are not known."""
        known = list(known)
        for key in self.table:
            if key not in known:
                where = named(self.path) or "a study"
                self.document.refuse(
                    (*self.path, key),
                    f"'{key}' is no key of {where}: {choices(key, known)}.",
                    key=True,
                )

    def refuse(self, key: str, why: str, *inside: int | str) -> NoReturn:
        """Raise a DataError about the value of a key, or about a part of it."""
        path = (*self.path, key, *inside)
        if key in self.table:
            self.document.refuse_value(path, why)
        self.document.refuse(path, f"{named(path)} is missing: {why}")

    def text(self, key: str, default: str = "", *, lines: int = 1) -> str:
        """Return a text; of one line, since lines of scripts are made of it."""
        value = self.table.get(key, default)
        if not isinstance(value, str):
            self.refuse(key, f'it has to be a text: {key} = "...".')
        if len(value.splitlines()) > lines or not all(c.isprintable() or c == "\t" for c in value):
            self.refuse(key, "it has to be one line that can be printed.")
        return value

    def choice(self, key: str, allowed: Iterable[str], default: str) -> str:
        """Return one of the names that are allowed."""
        allowed = list(allowed)
        value = self.text(key, default)
        if value not in allowed:
            self.refuse(key, f"{choices(value, allowed)}.")
        return value

    def count(self, key: str, default: int, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return a whole number; 1e6 is one as well."""
        value = self.table.get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(key, "it has to be a whole number.")
        if not least <= value <= most:
            self.refuse(key, f"it has to be at least {least}, and at most {most}.")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.table.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, "it has to be true or false, without quotes.")
        return value

    def duration_s(self, key: str, default: str, *, positive: bool = True) -> float:
        """Return a duration in seconds."""
        value = self.table.get(key, default)
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.refuse(key, f"{error}.")
        if positive and seconds <= 0:
            self.refuse(key, "it has to be longer than nothing.")
        return seconds

    def words(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts; numbers in it are taken as they are written."""
        values = self.table.get(key, list(default))
        if not isinstance(values, list):
            self.refuse(key, 'it has to be a list of texts: ["...", "..."].')
        found = []
        for number, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self.refuse(key, "it has to be a text.", number)
            word = str(plain(value))
            if not all(each.isprintable() or each == "\t" for each in word):
                self.refuse(key, "it has to be one line that can be printed.", number)
            found.append(word)
        return tuple(found)

    def texts(self, key: str) -> dict[str, str]:
        """Return a table of texts."""
        values = self.table.get(key, {})
        if not isinstance(values, dict):
            self.refuse(key, 'it has to be a table of texts: {NAME = "..."}.')
        for name, value in values.items():
            if not isinstance(value, str) or not all(each.isprintable() for each in value):
                self.refuse(key, "it has to be a text of one line.", name)
        return dict(values)


def plain(value: Scalar) -> Scalar:
    """Return a whole number as an integer, so that 1e6 and 1000000 are one."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value
