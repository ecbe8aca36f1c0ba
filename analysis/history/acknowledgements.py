"""Acknowledged changes, in a plain TOML file that can be kept in a repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hindmost.analysis.history.name_patterns import ANY, fits
from hindmost.analysis.readers.history import SeriesName
from hindmost.documents import read_document
from hindmost.errors import DataError, UsageError
from hindmost.files import read_text, write_atomically
from hindmost.records import RecordError, from_document, to_document, toml

FILE_NAME = "hindmost-acknowledged.toml"
"""Name of the file next to the data."""
VERSION = 1
HEAD = """\
# Acknowledged changes, one in each table. Edit by hand, or add with 'hindmost history ack'.
# In machine, case and timer, * and ? are wildcards; an omitted one matches all.
"""
KEYS = ("machine", "case", "timer", "date", "reason")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
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
        document = read_document(path)
    except UsageError as error:
        raise DataError(str(error)) from error
    version = document.data.get("version", VERSION)
    if version != VERSION:
        raise DataError(
            f"{path} has version {version!r}, and this hindmost reads {VERSION}: use a newer one."
        )
    with document.errors():
        return from_document(_File, to_document(document.data)).known


def add_acknowledgement(path: Path, entry: Acknowledgement) -> tuple[Acknowledgement, ...]:
    """Add an entry to a file, in place of one that differs in its reason; create it if needed.

    Comments at its top stay.

    Returns
    -------
    tuple of Acknowledgement
        All entries of the file now, ordered by date, machine, case and timer.

    Raises
    ------
    DataError
        The file cannot be read or written.
    """
    entries = read_acknowledgements(path) if path.exists() else ()
    head = comments_of(read_text(path)) if path.exists() else HEAD
    others = [each for each in entries if replace(each, reason=entry.reason) != entry]
    everything = tuple(sorted([*others, entry]))
    replace_file(path, head + to_toml(everything))
    return everything


def comments_of(text: str) -> str:
    """Return the comment lines at the top of a file."""
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.startswith("#"):
            break
        lines.append(line)
    return "".join(lines)


def to_toml(entries: Iterable[Acknowledgement]) -> str:
    """Write entries as TOML, each key on its own line."""
    tables = (
        "\n[[known]]\n" + "".join(f"{key} = {toml(getattr(entry, key))}\n" for key in KEYS)
        for entry in entries
    )
    return f"\nversion = {VERSION}\n" + "".join(tables)


def replace_file(path: Path, text: str) -> None:
    """Write a file in one step: a reader sees the old one or the new one, never a part.

    Raises
    ------
    DataError
        It cannot be written.
    """
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error


def about(known: Sequence[Acknowledgement], name: SeriesName) -> tuple[Acknowledgement, ...]:
    """Return the entries that match a series."""
    return tuple(each for each in known if each.concerns(name))
