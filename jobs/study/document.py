"""A TOML document whose errors name line and column."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from hindmost.errors import DataError, UsageError
from hindmost.jobs.study.positions import KeyPath, Place, Positions, find_positions

SHOWN = 40
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A TOML text that was read.

    Attributes
    ----------
    name : str
        Path of the file as it was given, for messages.
    text : str
        With line ends of one character.
    source : bytes
        As it stands in the file.
    data : dict
    positions : Positions
    """

    name: str
    text: str
    data: dict[str, Any]
    positions: Positions
    source: bytes

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def place(self, path: KeyPath, *, key: bool = False) -> Place:
        """Return where a value stands, or the key; for what is not written, what it is in."""
        table = self.positions.keys if key else self.positions.values
        while path:
            if path in table:
                return table[path]
            path = path[:-1]
        return Place(1, 1, 0)

    def refuse(self, path: KeyPath, why: str, *, key: bool = False) -> NoReturn:
        """Raise a DataError that says where a value, or a key, stands and why it cannot be."""
        place = self.place(path, key=key)
        raise DataError(f"{self.name}:{place.line}:{place.column}: {why}")

    def refuse_value(self, path: KeyPath, why: str) -> NoReturn:
        """Raise a DataError that begins with a value."""
        value: Any = self.data
        for part in path:
            value = value[part]
        self.refuse(path, f"{named(path)} = {shown(value)}: {why}")


def read_document(path: Path) -> Document:
    """Read a TOML file.

    Raises
    ------
    UsageError
        There is no such file, or it cannot be read.
    DataError
        It is not TOML: with line and column.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    try:
        return replace(parse_document(data.decode(), str(path)), source=data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8; TOML has to be.") from error


def parse_document(text: str, name: str) -> Document:
    """Read a TOML text; see `read_document`."""
    source = text.encode()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).rpartition(" (at ")
        if where.startswith("line "):
            line, column = where.removeprefix("line ").rstrip(")").split(", column ")
        else:
            lines = text.rstrip("\n").split("\n")
            line, column = str(len(lines)), str(len(lines[-1]) + 1)
        raise DataError(f"{name}:{line}:{column}: not TOML: {said or error}.") from error
    except RecursionError as error:
        raise DataError(f"{name}: nested too deeply to be meant.") from error
    except ValueError as error:  # more digits than Python reads
        raise DataError(f"{name}: a whole number has too many digits to be meant.") from error
    return Document(name=name, text=text, data=data, positions=find_positions(text), source=source)


def named(path: KeyPath) -> str:
    """Write a path as a person would: ``machine.site-a.setup[0]``."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")


def shown(value: Any) -> str:
    """Write a value as in TOML, not too long."""
    try:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
    except ValueError:  # of more digits than Python writes
        text = hex(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def choices(given: str, allowed: Iterable[str]) -> str:
    """List what may be chosen, and guess what was meant."""
    allowed = list(allowed)
    near = get_close_matches(given, allowed, n=2)
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{guess}choose from: {', '.join(allowed) or 'nothing'}"
