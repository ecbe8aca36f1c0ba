"""Formats of nightly results by declaration: a `Layout` says where in a record everything stands.

A file is a sequence of records, one for each result of a case; what a file says once is in all of
them. A record is nested, as JSON; ``session/host`` is ``host`` in ``session``. Time, machine and
case may stand in one of several places, of which the first that is there counts. Without a time,
the file is dated by its name (see `path_names.dated`), without a machine its folder names that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.history import NOT_KNOWN, Circumstances
from hindmost.analysis.readers.path_names import dated
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import StandardError, summarise
from hindmost.errors import DataError

Record = Mapping[str, Any]
UNREADABLE = "results that cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value of a case.

    Attributes
    ----------
    timer : str
    values : sequence
        Repetitions, as they stand in the file; their median counts.
    unit : str
    smaller_is_better : bool or None
        None: unit and name decide.
    error : StandardError or None
        Of a value without its repetitions, if the file says it.
    """

    timer: str
    values: Sequence[Any]
    unit: str
    smaller_is_better: bool | None = None
    error: StandardError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the parts of a result stand.

    Attributes
    ----------
    name, looks_like, recognises
        See `Format`.
    records : callable
        Yields the records of a file, each with its place for messages.
    case : tuple of str
        Places of the case.
    values : callable
        Returns the values of a record.
    time, machine : tuple of str
        Places of the time and the machine; none if the format has none.
    failure : callable
        Returns why the run of a record failed; empty if it did not. A run without a value failed,
        too.
    parameters : tuple of str
        Places of what belongs to the name of the case, if a record has it.
    software, hardware, commits : mapping
        Name to place.
    """

    name: str
    looks_like: str
    recognises: Callable[[Path, bytes], bool]
    records: Callable[[Path, Remarks], Iterable[tuple[str, Record]]]
    case: tuple[str, ...]
    values: Callable[[Record], Iterable[Value]]
    time: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    failure: Callable[[Record], str] = lambda record: ""
    parameters: tuple[str, ...] = ()
    software: Mapping[str, str] | None = None
    hardware: Mapping[str, str] | None = None
    commits: Mapping[str, str] | None = None

    @property
    def format(self) -> HistoryFormat:
        """The format."""
        return HistoryFormat(
            name=self.name,
            looks_like=self.looks_like,
            recognises=self.recognises,
            read=self.read,
        )

    def read(self, path: Path, machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
        """Yield the results of a file."""
        by_name: float | None = None
        for where, record in self.records(path, remarks):
            with remarks.leaving_out(UNREADABLE, "result"):
                if not isinstance(record, Mapping):
                    raise DataError(f"{where} is {str(record)[:40]!r}, and no record of a result.")
                stated = first(record, self.time)
                if stated is None:
                    by_name = by_name or dated(path, remarks)
                    time = by_name
                else:
                    time = seconds_since_1970(stated, where)
                session = Session(
                    machine=str(first(record, self.machine) or machine),
                    time=time,
                    file=where,
                    commits=texts(record, self.commits),
                    circumstances=self.circumstances(record),
                )
                yield self.entry(record, session)

    def circumstances(self, record: Record) -> Circumstances:
        """Return what else a record says."""
        software, hardware = texts(record, self.software), texts(record, self.hardware)
        if not software and not hardware:
            return NOT_KNOWN
        return Circumstances(software=software, machine=hardware)

    def entry(self, record: Record, session: Session) -> HistoryEntry:
        """Return the result of a record, or that its run failed."""
        case = str(first(record, self.case) or "").strip()
        if not case:
            raise DataError(f"{session.file} names no case ({' or '.join(self.case)}).")
        parameters = [text for place in self.parameters if (text := first(record, (place,)))]
        case += "".join(f" [{text}]" for text in parameters)
        why = self.failure(record)
        values = [] if why else [each for each in self.values(record) if each.values]
        if not values:
            return session.failed(case, why or "no values")
        summaries = {value.timer: summarise(value.values) for value in values}
        errors = {value.timer: value.error or summaries[value.timer][1] for value in values}
        return session.result(
            case,
            {timer: value for timer, (value, _) in summaries.items()},
            units={value.timer: value.unit for value in values},
            errors={timer: error for timer, error in errors.items() if error is not None},
            smaller_is_better={
                value.timer: value.smaller_is_better
                for value in values
                if value.smaller_is_better is not None
            },
        )


def first(record: Record, places: Sequence[str]) -> Any:
    """Return what stands in the first of some places that a record has; None without."""
    for place in places:
        value: Any = record
        for key in place.split("/"):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None and value != "":
            return value
    return None


def texts(record: Record, places: Mapping[str, str] | None) -> dict[str, str]:
    """Return the texts in some places, by name, without those that are missing."""
    values = {name: first(record, (place,)) for name, place in (places or {}).items()}
    return {name: str(value) for name, value in values.items() if value is not None}
