"""JSON and TOML from files of others: parsed within limits, and checked against what is expected.

A `Kind` says what a value should be; its `check` names the path of what is something else.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

MOST_DEPTH = 64
"""Lists and objects inside each other; what reads them may recurse."""
PLAIN_NAME = r"\A(?!\.)[^/\x00]{1,255}\Z"
"""Names of files in a folder, and of nothing outside of it."""
LARGEST = 1 << 63
"""Whole numbers beyond it are none of ours, and fit into no array."""


class DepthError(ValueError):
    """Lists and objects are nested too deep."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        It is not JSON, nested too deep, or an object has a key twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=once_each)
    except RecursionError:
        raise ValueError(too_deep()) from None
    check_depth(value)
    return value


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
    if "_" in text:
        raise ValueError(f"{shown(text)} is not a number")
    return float(text)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raises a ValueError (`tomllib.TOMLDecodeError`) as `parse_json` does."""
    try:
        value = tomllib.loads(text)
        check_depth(value)
    except (RecursionError, DepthError):
        raise tomllib.TOMLDecodeError(too_deep()) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python's own words name a function of Python
        raise tomllib.TOMLDecodeError("a number has more digits than can be read") from None
    return value


def too_deep() -> str:
    """Say that JSON is nested too deep."""
    return f"lists and objects are nested deeper than {MOST_DEPTH}"


def check_depth(value: Any) -> None:
    """Raise a DepthError if a value of JSON is nested too deep."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        level = inner
        if not level:
            return
    raise DepthError(too_deep())


class Kind:
    """What a value of JSON should be: a test, and the words for it."""

    def __init__(self, words: str, holds: Callable[[Any], bool]) -> None:
        self.words = words
        self.holds = holds

    def check(self, value: Any, path: str) -> None:
        """Raise a ValueError with the path of a value that is of another kind."""
        if not self.holds(value):
            raise ValueError(f"{path} is {shown(value)}; it should be {self.words}")


class Members(Kind):
    """An object, some of whose members are of known kinds; it may lack them, and have others."""

    def __init__(self, members: Mapping[str, Kind], *, required: bool = False) -> None:
        super().__init__("an object", lambda value: isinstance(value, dict))
        self.members = members
        self.required = required

    def check(self, value: Any, path: str) -> None:
        """Raise a ValueError with the path of what is of another kind."""
        super().check(value, path)
        for name, kind in self.members.items():
            if name in value:
                kind.check(value[name], f"{path}.{name}")
            elif self.required:
                raise ValueError(f"{path} lacks '{name}'")


class Entries(Kind):
    """A list with entries of one kind."""

    def __init__(self, kind: Kind, length: int | None = None) -> None:
        words = "a list" if length is None else f"a list of {length}"
        super().__init__(words, lambda value: isinstance(value, list))
        self.kind = kind
        self.length = length

    def check(self, value: Any, path: str) -> None:
        """Raise a ValueError with the path of what is of another kind."""
        super().check(value, path)
        if self.length is not None and len(value) != self.length:
            raise ValueError(f"{path} has {len(value)} entries; it should have {self.length}")
        for at, each in enumerate(value):
            self.kind.check(each, f"{path}[{at}]")


class Values(Kind):
    """An object whose members are all of one kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__("an object", lambda value: isinstance(value, dict))
        self.kind = kind

    def check(self, value: Any, path: str) -> None:
        """Raise a ValueError with the path of what is of another kind."""
        super().check(value, path)
        for name, each in value.items():
            self.kind.check(each, f"{path}.{name}")


class Maybe(Kind):
    """A value of a kind, or null."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"{kind.words}, or null", lambda value: True)
        self.kind = kind

    def check(self, value: Any, path: str) -> None:
        """Raise a ValueError with the path of what is of another kind."""
        if value is not None:
            self.kind.check(value, path)


def is_whole(value: Any, least: int = -LARGEST) -> bool:
    """Tell whether a value is a whole number that an array can hold."""
    return type(value) is int and least <= value < LARGEST


def is_number(value: Any, least: float = -math.inf) -> bool:
    """Tell whether a value is a finite number."""
    return (
        (is_whole(value) or type(value) is float) and math.isfinite(value) and bool(value >= least)
    )


TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
LIST = Kind("a list", lambda value: isinstance(value, list))
NUMBER = Kind("a finite number", is_number)
AMOUNT = Kind("a finite number, not below zero", lambda value: is_number(value, 0.0))
COUNT = Kind("a whole number from 0 on", lambda value: is_whole(value, 0))
SOME = Kind("a whole number from 1 on", lambda value: is_whole(value, 1))


def shown(value: Any) -> str:
    """Return a value as it may stand in a message."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more than 4300 digits
        text = type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."


def is_plain_name(name: str) -> bool:
    """Tell whether a text can be the name of a file in a folder, and of nothing outside of it."""
    return re.fullmatch(PLAIN_NAME, name) is not None
