"""The state of a history as a file of JSON, with a checksum at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hindmost.analysis.history.state import HistoryState, KeptSeries, MailRecord
from hindmost.analysis.readers.history import (
    Circumstances,
    FailedRun,
    NightlySeries,
    SeriesName,
    frozen,
)
from hindmost.analysis.readers.provenance import commits_text
from hindmost.errors import DamagedFileError, DataError, UnknownSchemaError
from hindmost.files import data_errors, read_text, write_atomically
from hindmost.models.changepoint import Event
from hindmost.models.changepoint.revisions import ReportedChange
from hindmost.parsing import parse_json
from hindmost.records import RecordError, check_version, from_document, to_document

VERSION = 5
KIND = "hindmost-history-state"
SUM = ',"sha256":"'
"""What precedes the sum of all that stands before it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesRecord:
    """A series as a state file holds it.

    Attributes
    ----------
    times, values : list of float, one for each observation
        Seconds since 1970, and the unit's.
    commits : list of int
        Places in the table of commits.
    circumstances : list of int
        Places in the table of circumstances; none if nothing is known.
    """

    name: SeriesName
    unit: str
    smaller_is_better: bool
    times: list[float]
    values: list[float]
    commits: list[int]
    verdicts: tuple[ReportedChange, ...]
    log: tuple[Event, ...]
    circumstances: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """What a state file holds."""

    kind: str
    version: int
    method: str
    parents: dict[str, str]
    commits: tuple[dict[str, str], ...]
    failures: tuple[FailedRun, ...]
    series: tuple[SeriesRecord, ...]
    mailed: MailRecord = field(default_factory=MailRecord)
    circumstances: tuple[Circumstances, ...] = ()


def read_state(path: Path) -> HistoryState:
    """Read a state; where there is no file, a new one.

    Raises
    ------
    DamagedFileError
        It is cut off or altered.
    UnknownSchemaError
        An older or newer hindmost wrote it.
    DataError
        It is another file, or cannot be read.
    """
    if not path.exists():
        return HistoryState()
    with data_errors(path, "read"):
        try:
            text = read_text(path)
            document = parse_json(text)
        except ValueError as error:
            raise damaged_file(path, error) from error
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise DataError(f"{path} is no state of a history: name another file with --state.")
    whole, there, found = text.rpartition(SUM)
    version = check_version(document.get("version"), VERSION, path)
    if version < VERSION:
        raise UnknownSchemaError(
            f"{path} has version {version}, which this hindmost does not read: name a new file "
            "with --state."
        )
    if not there or digest(whole) != found[:64]:
        raise damaged_file(path, "its checksum is not that of its contents")
    document.pop("sha256", None)
    try:
        record = from_document(StateRecord, document)
    except RecordError as error:
        raise damaged_file(path, str(error).rstrip(".")) from error
    table = [(commits_text(parts), parts) for parts in record.commits]
    kept = [kept_from(each, table, record.circumstances) for each in record.series]
    return HistoryState(
        method=record.method,
        series={each.series.name: each for each in kept},
        parents=record.parents,
        failures=record.failures,
        mailed=record.mailed,
    )


def digest(text: str) -> str:
    """Return the checksum of a text."""
    return sha256(text.encode()).hexdigest()


def damaged_file(path: Path, why: object) -> DamagedFileError:
    """Return the error of a state that is cut off or altered."""
    return DamagedFileError(
        f"{path} is damaged ({why}): take it from a backup, or remove it to begin "
        "anew, which loses the log of revisions."
    )


def write_state(path: Path, state: HistoryState) -> None:
    """Write a state in one step: the old one stands until the new one is whole.

    Raises
    ------
    DataError
        It cannot be written.
    """
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    places: dict[int, int] = {}
    known: list[Circumstances] = []
    for each in state.series.values():
        for one in each.series.circumstances:
            if id(one) not in places:
                places[id(one)] = len(known)
                known.append(one)
    series = tuple(record_of(kept, numbers, places) for kept in state.series.values())
    record = StateRecord(
        kind=KIND,
        version=VERSION,
        method=state.method,
        parents=dict(state.parents),
        commits=tuple(map(dict, numbers)),
        failures=state.failures,
        series=series,
        mailed=state.mailed,
        circumstances=tuple(known),
    )
    text = json.dumps(to_document(record), allow_nan=False, separators=(",", ":"))[:-1]
    with data_errors(path, "written"):
        write_atomically(path, f'{text}{SUM}{digest(text)}"}}\n')


def record_of(
    kept: KeptSeries, numbers: dict[tuple[tuple[str, str], ...], int], places: dict[int, int]
) -> SeriesRecord:
    """Return the record of a series; its commits get numbers that all series share."""
    series = kept.series
    known: dict[int, int] = {}  # many observations share one mapping
    for parts in series.commit_parts:
        if id(parts) not in known:
            known[id(parts)] = numbers.setdefault(tuple(parts.items()), len(numbers))
    return SeriesRecord(
        name=series.name,
        unit=series.unit,
        smaller_is_better=series.smaller_is_better,
        times=series.times.tolist(),
        values=series.values.tolist(),
        commits=[known[id(parts)] for parts in series.commit_parts],
        verdicts=kept.verdicts,
        log=kept.log,
        circumstances=[places[id(circumstance)] for circumstance in series.circumstances],
    )


def kept_from(
    record: SeriesRecord,
    table: Sequence[tuple[str, dict[str, str]]],
    known: Sequence[Circumstances],
) -> KeptSeries:
    """Return the series of a record."""
    commits, parts = zip(*(table[number] for number in record.commits), strict=True)
    return KeptSeries(
        series=NightlySeries(
            name=record.name,
            unit=record.unit,
            smaller_is_better=record.smaller_is_better,
            times=frozen(record.times),
            values=frozen(record.values),
            commits=commits,
            commit_parts=parts,
            spread=None,
            circumstances=tuple(known[place] for place in record.circumstances),
        ),
        verdicts=record.verdicts,
        log=record.log,
    )
