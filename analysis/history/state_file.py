"""The state of a history as a file of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost.analysis.history.acknowledgements import replace_file
from hindmost.analysis.history.detecting import BETWEEN
from hindmost.analysis.history.mail_record import MailRecord
from hindmost.analysis.history.merging import KeptSeries
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.state_series import (
    CommitRecord,
    CommitTable,
    SeriesRecord,
    kept_from,
    kept_to,
)
from hindmost.analysis.readers.history import FailedRun, SeriesName
from hindmost.errors import DamagedFileError, DataError, UnknownSchemaError
from hindmost.files import read_text
from hindmost.models.changepoint import METHODS
from hindmost.parsing import parse_json
from hindmost.records import RecordError, from_document, to_document
from hindmost.text import choose

VERSION = 1
KIND = "hindmost-history-state"
MAILED, JOINT = "mailed", "joint"
"""A key that older files lack, and what older files have in addition: it is ignored."""


def are_no_circle(parents: dict[str, str]) -> bool:
    """Tell whether no timer is a part of itself."""
    whole: set[str] = set()
    for timer in parents:
        above = {timer}
        while (timer := parents.get(timer, "")) and timer not in whole:
            if timer in above:
                return False
            above.add(timer)
        whole |= above
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """What a state file holds; `kept_from` looks into its series."""

    kind: str
    version: int
    method: str
    settings: dict[str, str | int | float | bool | None]
    only_between: str | None
    parents: dict[str, str]
    commits: tuple[CommitRecord, ...]
    failures: tuple[FailedRun, ...]
    series: tuple[SeriesRecord, ...]
    mailed: MailRecord = field(default_factory=MailRecord)

    def __post_init__(self) -> None:
        if self.method not in ("", *METHODS):
            raise RecordError(choose(METHODS, self.method), "method", found=self.method)
        if self.only_between not in (None, *BETWEEN):
            why = choose(BETWEEN, self.only_between)
            raise RecordError(why, "only_between", found=self.only_between)
        if not are_no_circle(self.parents):
            why = "allowed: timers, none of which is a part of itself"
            raise RecordError(why, "parents", found=self.parents)


def read_state(path: Path) -> HistoryState:
    """Read a state; where there is no file, a new one.

    Raises
    ------
    DamagedFileError
        It is cut off or altered.
    UnknownSchemaError
        A newer hindmost wrote it.
    DataError
        It is another file, or cannot be read.
    """
    if not path.exists():
        return HistoryState()
    try:
        record = parse_json(read_text(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise damaged_file(path, error) from error
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise DataError(f"{path} is no state of a history: name another file with --state.")
    version = record.get("version")
    if type(version) is int and version > VERSION:
        raise UnknownSchemaError(
            f"{path} has version {version}, and this hindmost reads up to {VERSION}: use "
            "the one that wrote it, or a newer one."
        )
    try:
        if type(version) is not int or version < 1:
            raise RecordError("allowed: a whole number of at least 1", "version", found=version)
        return state_from(from_document(StateRecord, without_joint(record)))
    except RecordError as error:
        raise damaged_file(path, str(error).rstrip(".")) from error


def without_joint(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a state without the joint changes that older versions kept."""
    kept = {key: value for key, value in record.items() if key != JOINT}
    mailed = kept.get(MAILED)
    if isinstance(mailed, dict) and isinstance(mailed.get("items"), list):
        items = [
            each
            for each in mailed["items"]
            if not isinstance(each, dict) or each.get("kind") != JOINT
        ]
        kept[MAILED] = {**mailed, "items": items}
    return kept


def state_from(record: StateRecord) -> HistoryState:
    """Return the state of a file, or raise a RecordError where parts do not go together."""
    series: dict[SeriesName, KeptSeries] = {}
    for at, each in enumerate(record.series):
        try:
            kept = kept_from(each, record.commits)
        except RecordError as error:
            raise error.below("series", at) from None
        if kept.series.name in series:
            why = "it stands in the file before"
            raise RecordError(why, "series", at, found=str(kept.series.name))
        series[kept.series.name] = kept
    return HistoryState(
        method=record.method,
        settings=record.settings,
        only_between=record.only_between,
        series=series,
        parents=record.parents,
        failures=record.failures,
        mailed=record.mailed,
    )


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
    table = CommitTable()
    series = [kept_to(kept, table) for kept in state.series.values()]
    record = {
        "kind": KIND,
        "version": VERSION,
        "method": state.method,
        "settings": dict(state.settings),
        "only_between": state.only_between,
        "parents": dict(state.parents),
        "commits": table.records(),
        "failures": to_document(state.failures),
        "series": series,
    }
    if state.mailed != MailRecord():
        record[MAILED] = to_document(state.mailed)
    replace_file(path, json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")
