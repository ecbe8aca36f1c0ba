"""A TOML document whose errors name line and column."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.files import read_bytes
from hindmost.parsing import parse_toml
from hindmost.positions import Place, Positions, find_positions
from hindmost.rules import UNKNOWN, KeyPath, RecordError


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
    fault : type of HindmostError
        What is raised where the text is not what it should be.
    """

    name: str
    text: str
    data: dict[str, Any]
    positions: Positions
    source: bytes
    fault: type[HindmostError] = DataError

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
        """Raise an error that says where a value, or a key, stands and why it cannot be."""
        place = self.place(path, key=key)
        raise self.fault(f"{self.name}:{place.line}:{place.column}: {why}")

    @contextmanager
    def errors(self, *path: str | int) -> Iterator[None]:
        """Give the errors of records, whose paths begin below a path, their place in the text."""
        try:
            yield
        except RecordError as error:
            inside = error.below(*path)
            said = str(inside).replace("allowed: an object", "allowed: a table")
            self.refuse(inside.path, said, key=inside.found is UNKNOWN)


def read_document(path: Path, fault: type[HindmostError] = DataError) -> Document:
    """Read a TOML file.

    Raises
    ------
    UsageError
        There is no such file, or it cannot be read.
    HindmostError
        It is not TOML: with line and column. `fault` says which error.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from error
    try:
        return replace(parse_document(data.decode(), str(path), fault), source=data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise fault(f"{path}:{line}: not UTF-8; TOML has to be.") from error


def parse_document(text: str, name: str, fault: type[HindmostError] = DataError) -> Document:
    """Read a TOML text; see `read_document`."""
    source = text.encode()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        data = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        said, at, where = str(error).rpartition(" (at ")
        if not at:  # as a whole: too deep, or a number too long
            raise fault(f"{name}: not TOML: {error}.") from error
        if where.startswith("line "):
            line, column = where.removeprefix("line ").rstrip(")").split(", column ")
        else:
            lines = text.rstrip("\n").split("\n")
            line, column = str(len(lines)), str(len(lines[-1]) + 1)
        raise fault(f"{name}:{line}:{column}: not TOML: {said}.") from error
    return Document(
        name=name, text=text, data=data, positions=find_positions(text), source=source, fault=fault
    )
