"""The state of a history as a file of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hindmost.analysis.history.acknowledgements import replace_file
from hindmost.analysis.history.labels import BETWEEN
from hindmost.analysis.history.merging import KeptSeries
from hindmost.analysis.history.records import FailedRun, SeriesName
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.state_fields import (
    FIRST_TIME,
    LAST_TIME,
    Fields,
    damaged,
    damaged_file,
)
from hindmost.analysis.history.state_series import CommitTable, commits_from, kept_from, kept_to
from hindmost.errors import DataError, UnknownSchemaError
from hindmost.models.changepoint import METHODS

VERSION = 1
KIND = "hindmost-history-state"
NEEDED = (
    *("kind", "version", "method", "settings", "only_between"),
    *("parents", "commits", "failures", "series"),
)
PLAIN = {int, float, str, bool, type(None)}


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
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
        raise damaged_file(path, error) from error
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise DataError(f"{path} is no state of a history: name another file with --state.")
    if type(record.get("version")) is not int or record["version"] < 1:
        raise damaged(path, "version", record.get("version"), "a whole number from 1 on")
    if record["version"] > VERSION:
        raise UnknownSchemaError(
            f"{path} has version {record['version']}, and this hindmost reads up to {VERSION}: use "
            "the one that wrote it, or a newer one."
        )
    return state_from(record, path)


def state_from(record: dict[str, Any], path: Path) -> HistoryState:
    """Read what `write_state` wrote.

    Raises
    ------
    DamagedFileError
        It is not what was written.
    """
    fields = Fields(record, path, "", NEEDED)
    table = commits_from(fields.items("commits"), path)
    series: dict[SeriesName, KeptSeries] = {}
    for at, each in enumerate(fields.items("series")):
        kept = kept_from(each, table, path, f"series[{at}]")
        if kept.series.name in series:
            raise damaged_file(path, f"series[{at}] is {kept.series.name}, as is one before")
        series[kept.series.name] = kept
    return HistoryState(
        method=fields.choice("method", ("", *METHODS)),
        settings=settings_from(fields),
        only_between=fields.choice("only_between", (None, *BETWEEN)),
        series=series,
        parents=parents_from(fields),
        failures=tuple(
            failure_from(each, path, f"failures[{at}]")
            for at, each in enumerate(fields.items("failures"))
        ),
    )


def settings_from(fields: Fields) -> dict[str, Any]:
    """Return the settings of a method: plain values by name."""
    settings = fields.record["settings"]
    if type(settings) is not dict or not set(map(type, settings.values())) <= PLAIN:
        raise fields.wrong("settings", "an object of numbers, texts, true or false")
    return settings


def parents_from(fields: Fields) -> dict[str, str]:
    """Return which timer is a part of which; none is a part of itself."""
    parents = fields.texts("parents")
    whole: set[str] = set()
    for timer in parents:
        above = {timer}
        while (timer := parents.get(timer, "")) and timer not in whole:
            if timer in above:
                raise damaged_file(fields.path, f"in parents, {timer!r} is a part of itself")
            above.add(timer)
        whole |= above
    return parents


def failure_from(record: Any, path: Path, place: str) -> FailedRun:
    """Read a failed run."""
    fields = Fields(record, path, place, ("time", "machine", "case", "reason", "file"))
    return FailedRun(
        time=fields.number("time", FIRST_TIME, LAST_TIME),
        machine=fields.text("machine"),
        case=fields.text("case"),
        reason=fields.text("reason"),
        file=fields.text("file"),
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
        "failures": [asdict(failure) for failure in state.failures],
        "series": series,
    }
    replace_file(path, json.dumps(record, allow_nan=False, separators=(",", ":")) + "\n")
