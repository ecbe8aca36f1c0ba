"""A TOML document whose errors name the file and the path of the key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.files import read_bytes, user_folder
from hindmost.parsing import parse_toml
from hindmost.records import RecordError


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
    """

    name: str
    text: str
    data: dict[str, Any]
    source: bytes

    @contextmanager
    def errors(self, *path: str | int) -> Iterator[None]:
        """Give the errors of records, whose paths begin below a path, the name of the file."""
        try:
            yield
        except RecordError as error:
            said = str(error.below(*path)).replace("allowed: an object", "allowed: a table")
            raise DataError(f"{self.name}: {said}") from None


def profiles_path() -> Path:
    """Return the path of the file of a user's own machines, which need not exist.

    ``hindmost/machines.toml`` in ``XDG_CONFIG_HOME``, by default ``~/.config``.
    """
    return user_folder("XDG_CONFIG_HOME", ".config") / "hindmost" / "machines.toml"


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
        data = read_bytes(path)
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
        data = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{name}: not TOML: {error}.") from error
    return Document(name=name, text=text, data=data, source=source)
