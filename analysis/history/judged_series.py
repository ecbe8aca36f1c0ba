"""A judged series: its verdicts, acknowledged changes, dates, and the terms for it in sentences.

Changes are acknowledged in a plain TOML file that can be kept in a repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hindmost.analysis.readers.history import NightlySeries, SeriesName
from hindmost.documents import Document, parse_document, read_document
from hindmost.errors import DataError, UsageError
from hindmost.files import data_errors, read_text, write_atomically
from hindmost.models.changepoint import ChangePoint, Event
from hindmost.models.changepoint.changes import OF_TIMES, WITHIN, Finding
from hindmost.models.changepoint.detection import PASS, WARN, Verdicts
from hindmost.records import RecordError, from_document, to_document, to_toml
from hindmost.text import quantity

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


FEW, MANY = 5, 30
"""Entries of a list within a report, and of a list that is the report; more are counted."""


def worse_noun(units: set[str]) -> tuple[str, str]:
    """Return the noun for a change for the worse in series of these units: singular, plural."""
    if units <= {"s"}:
        return "slowdown", "slowdowns"
    return "change for the worse", "changes for the worse"


def direction_word(units: set[str], *, worse: bool) -> str:
    """Return the adjective for series of these units: slower or faster, else worse or better."""
    if units <= {"s"}:
        return OF_TIMES[0] if worse else OF_TIMES[1]
    return "worse" if worse else "better"


def named(name: SeriesName) -> str:
    """Return a series' name without the colon at the end of some timers."""
    return timer_name(str(name))


def timer_name(timer: str) -> str:
    """Return a timer's name without a colon at its end."""
    return timer.rstrip(": ")


def signed(value: float, unit: str) -> str:
    """Return a difference with its sign and unit."""
    return f"{'+' if value >= 0.0 else '-'}{quantity(abs(value), unit)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries(Verdicts):
    """A series, what was found in it, and the verdicts.

    Attributes
    ----------
    series : NightlySeries
    detection : Detection
        Its indices are those of the series; all times are seconds since 1970, UTC.
    log : tuple of Event
        How the reported changes came about, with revisions and reasons; empty without a state.
    known : tuple of Acknowledgement
        Changes that a person has acknowledged.
    labels : tuple of str, one an observation
        Dates, as ``2020-02-26``; with the time of the day where a day has several runs.
    fell_silent : bool
        Whether a result of its machine or case was due and did not come.
    """

    series: NightlySeries
    log: tuple[Event, ...] = ()
    known: tuple[Acknowledgement, ...] = ()
    labels: tuple[str, ...]
    fell_silent: bool = False

    def status(self, since: float) -> str:
        """Return the worst verdict after a time; what fell silent does not pass."""
        verdict = Verdicts.status(self, since)
        return WARN if verdict == PASS and self.fell_silent else verdict

    def is_known(self, finding: Finding) -> bool:
        """Tell whether a change or drift is acknowledged."""
        return self.acknowledgement(finding) is not None

    def acknowledgement(self, finding: Finding) -> Acknowledgement | None:
        """Return the acknowledgement of a change or drift, if there is one."""
        return next((note for note in self.known if self.meant(note) == finding), None)

    def meant(self, note: Acknowledgement) -> Finding | None:
        """Return what an acknowledgement matches, if it concerns this series.

        The nearest of the changes that may lie at its date, else the drift that contains it.
        """
        noted = date.fromisoformat(note.date)
        changes = (step for step in self.detection.steps if self.may_be(note, step))
        nearest = min(
            changes,
            key=lambda change: abs(date.fromisoformat(self.labels[change.index][:10]) - noted),
            default=None,
        )
        drifts = (trend for trend in self.detection.trends if self.may_be(note, trend))
        return next(drifts, None) if nearest is None else nearest

    def may_be(self, note: Acknowledgement, finding: Finding) -> bool:
        """Tell whether the date of an acknowledgement lies in a change or drift."""
        first, last = finding.interval
        if isinstance(finding, ChangePoint):
            first, last = self.places_of(finding)
        return note.covers(self.labels[first], self.labels[last])

    def places_of(self, finding: Finding) -> tuple[int, int]:
        """Return the observations between which a change may lie, also after it has moved."""
        last = len(self.labels) - 1
        return (
            max(min(finding.interval[0], finding.index) - WITHIN, 0),
            min(max(finding.interval[1], finding.index) + WITHIN, last),
        )

    @property
    def nights(self) -> int:
        """The number of nights with a result."""
        return len({label[:10] for label in self.labels})
