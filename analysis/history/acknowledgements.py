"""Acknowledged changes, in a plain TOML file that can be kept in a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hindmost.analysis.readers.history import SeriesName
from hindmost.documents import Document, parse_document, read_document
from hindmost.errors import DataError, UsageError
from hindmost.files import data_errors, read_text, write_atomically
from hindmost.records import RecordError, from_document, to_document, to_toml

FILE_NAME = "hindmost-acknowledged.toml"
"""Name of the file next to the data."""
VERSION = 1
HEAD = """\
# Acknowledged changes, one in each table. Edit by hand, or add with 'hindmost history ack'.
# In machine, case and timer, * and ? are wildcards; an omitted one matches all.
"""
ANY = "*"
NEAREST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """A change that a person has acknowledged.

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
    reason: Annotated[str, Meta(min_length=1, description="text that says why it is known")]

    def __post_init__(self) -> None:
        try:
            day = date.fromisoformat(self.date[:10]).isoformat()
        except ValueError:
            why = "no date: write it as 2020-02-26"
            raise RecordError(why, "date", found=self.date) from None
        object.__setattr__(self, "date", day)  # TOML knows dates with times

    def concerns(self, name: SeriesName) -> bool:
        """Tell whether it matches a series."""
        return (
            fits(self.machine, name.machine)
            and fits(self.case, name.case)
            and fits(self.timer, name.timer)
        )

    def covers(self, first: str, last: str) -> bool:
        """Tell whether it is about a change that lies between two dates, both included."""
        return first[:10] <= self.date <= last[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What a file of known changes holds."""

    version: int = VERSION
    known: tuple[Acknowledgement, ...] = ()


def read_acknowledgements(path: Path) -> tuple[Acknowledgement, ...]:
    """Read a file of acknowledged changes.

    Raises
    ------
    DataError
        It cannot be read, is not TOML, or an entry has missing or unknown keys.
    """
    try:
        return entries_of(read_document(path))
    except UsageError as error:
        raise DataError(str(error)) from error


def entries_of(document: Document) -> tuple[Acknowledgement, ...]:
    """Return the entries of a document."""
    version = document.data.get("version", VERSION)
    if version != VERSION:
        raise DataError(
            f"{document.name} has version {version!r}, and this hindmost reads {VERSION}: use a "
            "newer one."
        )
    with document.errors():
        return from_document(_File, to_document(document.data)).known


def add_acknowledgement(path: Path, entry: Acknowledgement) -> tuple[Acknowledgement, ...]:
    """Add an entry at the end of a file, which stays as it is; create it if needed.

    Returns
    -------
    tuple of Acknowledgement
        All entries of the file now.

    Raises
    ------
    DataError
        The file cannot be read or written.
    """
    before = read_text(path) if path.exists() else f"{HEAD}\nversion = {VERSION}\n"
    text = f"{before.rstrip()}\n\n[[known]]\n{to_toml(entry)}"
    everything = entries_of(parse_document(text, str(path)))
    with data_errors(path, "written"):
        write_atomically(path, text)
    return everything


def about(known: Sequence[Acknowledgement], name: SeriesName) -> tuple[Acknowledgement, ...]:
    """Return the entries that match a series, the last one of them first."""
    return tuple(each for each in reversed(known) if each.concerns(name))


def fits(pattern: str, name: str) -> bool:
    """Tell whether a pattern matches a name; a name with wildcards also matches itself."""
    return pattern == name or fnmatchcase(name, pattern)


def suggested(pattern: str, names: Sequence[str]) -> str:
    """Return the names nearest to an unknown one."""
    near = get_close_matches(pattern.replace(ANY, "").lower(), names, NEAREST, 0.0)
    left = len(names) - len(near)
    return f"The nearest are: {', '.join(map(repr, near))}{f'; and {left} more' if left else ''}."
