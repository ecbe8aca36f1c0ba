"""Changes that a person has noted as known, in a plain TOML file that a repository can keep."""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hindmost.analysis.history.records import SeriesName
from hindmost.errors import DataError

FILE_NAME = "hindmost-acknowledged.toml"
"""What the file is called beside the data."""
VERSION = 1
HEAD = """\
# Changes that are known, one a table; 'hindmost history ack' adds to it, and hands may edit it.
# machine, case and timer may hold * and ?; what is left out stands for all.
"""
ANY = "*"
KEYS = ("machine", "case", "timer", "date", "reason")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Acknowledgement:
    """A change that is known.

    Attributes
    ----------
    date : str
        As ``2020-02-26``: a day of the change's interval of dates.
    machine, case, timer : str
        Names, or patterns with ``*`` and ``?``.
    reason : str
        Why it needs no alarm.
    """

    date: str
    machine: str = ANY
    case: str = ANY
    timer: str = ANY
    reason: str

    def concerns(self, name: SeriesName) -> bool:
        """Tell whether it is about a series."""
        return (
            fits(self.machine, name.machine)
            and fits(self.case, name.case)
            and fits(self.timer, name.timer)
        )

    def covers(self, first: str, last: str) -> bool:
        """Tell whether it is about a change that lies between two dates, both included."""
        return first[:10] <= self.date <= last[:10]


def fits(pattern: str, name: str) -> bool:
    """Tell whether a name is meant; one that holds signs of a pattern also means itself."""
    return pattern == name or fnmatchcase(name, pattern)


def read_acknowledgements(path: Path) -> tuple[Acknowledgement, ...]:
    """Read a file of known changes.

    Raises
    ------
    DataError
        It cannot be read, is no TOML, or an entry lacks or misnames something.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} is no TOML: {error}.") from error
    version = record.pop("version", VERSION)
    if version != VERSION:
        raise DataError(
            f"{path} has version {version!r}, and this hindmost reads {VERSION}: use a newer one."
        )
    known = record.pop("known", [])
    if record or not isinstance(known, list) or not all(isinstance(each, dict) for each in known):
        raise DataError(
            f"{path} holds more than tables [[known]]"
            f"{': ' + ', '.join(record) if record else ''}; see 'hindmost history --help'."
        )
    return tuple(checked(each, f"{path}, entry {number}") for number, each in enumerate(known, 1))


def checked(entry: dict[str, Any], where: str) -> Acknowledgement:
    """Check an entry.

    Raises
    ------
    DataError
        It lacks or misnames something.
    """
    unknown = sorted(set(entry) - set(KEYS))
    if unknown:
        raise DataError(f"{where} has a key {unknown[0]!r}: choose among {', '.join(KEYS)}.")
    if isinstance(entry.get("date"), date):
        entry = {**entry, "date": entry["date"].isoformat()[:10]}
    missing = [key for key in ("date", "reason") if not entry.get(key)]
    if missing:
        raise DataError(f"{where} has no {missing[0]}: say when it was and why it is known.")
    for key, value in entry.items():
        if not isinstance(value, str):
            raise DataError(f"{where}: {key} = {value!r} must be text.")
    try:
        date.fromisoformat(entry["date"])
    except ValueError as error:
        raise DataError(
            f"{where}: {entry['date']!r} is no date: write it as 2020-02-26."
        ) from error
    return Acknowledgement(**entry)


def add_acknowledgement(path: Path, new: Acknowledgement) -> tuple[Acknowledgement, ...]:
    """Add an entry to a file, which is made if there is none; one of the same change is replaced.

    Comments that were added by hand at its top stay.

    Returns
    -------
    tuple of Acknowledgement
        All that the file holds now, in the order of date, machine, case and timer.

    Raises
    ------
    DataError
        The file that is there cannot be read, or it cannot be written.
    """
    old = read_acknowledgements(path) if path.exists() else ()
    head = comments_of(path.read_text(encoding="utf-8")) if path.exists() else HEAD
    same = [each for each in old if place(each) != place(new)]
    everything = tuple(sorted([*same, new]))
    replace_file(path, head + to_toml(everything))
    return everything


def place(entry: Acknowledgement) -> tuple[str, ...]:
    """Return all of an entry but its reason."""
    return (entry.date, entry.machine, entry.case, entry.timer)


def comments_of(text: str) -> str:
    """Return the lines at the top of a file that are comments."""
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.startswith("#"):
            break
        lines.append(line)
    return "".join(lines)


def to_toml(entries: Iterable[Acknowledgement]) -> str:
    """Write entries as TOML, each key on a line of its own."""
    tables = [
        "\n[[known]]\n" + "".join(f"{key} = {quoted(asdict(entry)[key])}\n" for key in KEYS)
        for entry in entries
    ]
    return f"\nversion = {VERSION}\n" + "".join(tables)


def quoted(text: str) -> str:
    """Write a TOML basic string (TOML 1.0, String): quotes, backslashes, controls are escaped."""
    names = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(names.get(sign) or escaped(sign) for sign in text) + '"'


def escaped(sign: str) -> str:
    """Write a character, by its number where TOML allows no other way."""
    number = ord(sign)
    return f"\\u{number:04X}" if number < 0x20 or number == 0x7F else sign


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or the new one, never a part.

    Raises
    ------
    DataError
        It cannot be written.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(handle, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error


def mask() -> int:
    """Return the process's mask of file modes; it can only be read by setting it."""
    old = os.umask(0o022)
    os.umask(old)
    return old


def about(known: Sequence[Acknowledgement], name: SeriesName) -> tuple[Acknowledgement, ...]:
    """Return the entries about a series."""
    return tuple(each for each in known if each.concerns(name))
