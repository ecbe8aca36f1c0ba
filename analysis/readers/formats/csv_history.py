"""Tables of nightly results: CSV as Apache Otava reads it, also with semicolons or tabs.

Every row is a run. Either every metric has a column, with an optional unit::

    time,commit,solve [s],memory [bytes]
    2021-01-24T05:34:11Z,6177ebf,172.1,571432960

or a row has one value, with columns ``metric`` (or ``timer``), ``value`` and perhaps ``unit``. The
time is the first there is of the columns ``timestamp``, ``datetime``, ``date`` and ``time``; see
`dates` for how it may be written. A column with a name like ``commit`` or ``Albany commit`` says
what was measured. Columns ``machine`` and ``case`` (or ``test``, ``benchmark``) separate series;
without them the case is the file's name without a date. So does ``branch``, where a file has
several. A run whose column ``passed`` says no (or false, fail, 0) failed. Columns without a number
are not metrics. An empty field was not measured; an empty time or another length than the header
leaves the row out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.readers.commits import commits_in, repository_in
from hindmost.analysis.readers.dates import seconds_since_1970, without_date
from hindmost.analysis.readers.format import HistoryEntry, HistoryFile, HistoryFormat, Session
from hindmost.analysis.readers.remarks import Remarks, first_few
from hindmost.analysis.readers.text_tables import (
    header_and_first_row,
    names_and_units,
    read_text_table,
    wrong_length,
)
from hindmost.errors import DataError

ROLES = {
    "time": ("timestamp", "datetime", "date", "time"),
    "machine": ("machine", "host", "hostname", "node", "site"),
    "case": ("case", "test", "test case", "test_case", "benchmark"),
    "branch": ("branch",),
    "passed": ("passed", "pass", "success"),
    "metric": ("metric", "timer"),
    "value": ("value",),
    "unit": ("unit",),
}
"""Roles of columns by name, the clearest name first; all others may be metrics."""

FAILED = ("false", "no", "fail", "failed", "0")

SHOULD_BE = (
    "a table has a header with a column 'time' (or 'date'), perhaps 'commit', 'machine' and "
    "'case', and a column for every metric"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HistoryColumns:
    """Which columns are what."""

    roles: Mapping[str, int]
    commits: Mapping[str, int]
    metrics: list[tuple[int, str, str]]
    """Column, name and unit."""


def _columns(header: list[str]) -> _HistoryColumns | None:
    """Determine the roles of the columns; None without a time, or without anything else."""
    named = names_and_units(header)
    names = [name.lower() for name, _ in named]
    roles = {
        role: next(names.index(name) for name in known if name in names)
        for role, known in ROLES.items()
        if any(name in names for name in known)
    }
    if "value" not in roles or "metric" not in roles:
        # Without both, ``value`` is a metric like any other.
        roles = {role: at for role, at in roles.items() if role not in ("metric", "value", "unit")}
    commits = {
        header[at]: at
        for at, name in enumerate(names)
        if repository_in(name) is not None and at not in roles.values()
    }
    metrics = [
        (at, name, unit)
        for at, (name, unit) in enumerate(named)
        if at not in roles.values() and at not in commits.values()
    ]
    if "time" not in roles or not (metrics or "value" in roles):
        return None
    return _HistoryColumns(roles=roles, commits=commits, metrics=metrics)


class _HistoryTable:
    """A table while it is read."""

    def __init__(self, source: HistoryFile, remarks: Remarks) -> None:
        self.path = source.path
        self.folder_machine = source.folder_machine
        self.remarks = remarks
        self.table = read_text_table(self.path, SHOULD_BE)
        columns = _columns(self.table.header)
        names = [name for name, _ in names_and_units(self.table.header)]
        if columns is None or len(set(names)) < len(names):
            raise DataError(
                f"{self.path}, line {self.table.line}: the columns are "
                f"{first_few(self.table.header, 20)}; {SHOULD_BE}, and each name once."
            )
        self.columns = columns
        self.rows = [
            (line, fields) for line, fields in self.table.rows if self.is_whole(line, fields)
        ]
        self.metrics = [
            metric
            for metric in columns.metrics
            if any(self.table.number(fields[metric[0]]) is not None for _, fields in self.rows)
        ]

    def is_whole(self, line: int, fields: list[str]) -> bool:
        if len(fields) == len(self.table.header):
            return True
        self.remarks.add(*wrong_length(f"{self.path}, line {line}", fields, self.table.header))
        return False

    def get(self, role: str, fields: list[str]) -> str:
        at = self.columns.roles.get(role)
        return "" if at is None else fields[at]

    def cells(self, fields: list[str]) -> list[tuple[str, str, str]]:
        """Return metric, unit and text of the value in a row."""
        if "value" in self.columns.roles:
            found = [(self.get("metric", fields), self.get("unit", fields))]
            cells = [(name or "value", unit, self.get("value", fields)) for name, unit in found]
        else:
            cells = [(name, unit, fields[at]) for at, name, unit in self.metrics]
        return [cell for cell in cells if cell[2]]

    def runs(self) -> Iterator[HistoryEntry]:
        branches = {self.get("branch", fields) for _, fields in self.rows}
        default = without_date(self.path.stem)
        for line, fields in self.rows:
            where = f"{self.path}, line {line}"
            try:
                time = self.time(fields, where)
            except DataError as error:
                self.remarks.add("rows without a date", f"{error} The row is left out.")
                continue
            case = self.get("case", fields) or default
            if len(branches) > 1:
                case = f"{case} [{self.get('branch', fields) or 'no branch'}]"
            machine = self.get("machine", fields) or self.folder_machine
            commits = commits_in({name: fields[at] for name, at in self.columns.commits.items()})
            session = Session(machine=machine, time=time, file=where, commits=commits)
            if self.get("passed", fields).lower() in FAILED:
                yield session.failed(case, "did not pass")
                continue
            cells = self.cells(fields)
            values = {name: (self.table.number(text), text) for name, _, text in cells}
            yield session.result(
                case,
                {name: text if value is None else value for name, (value, text) in values.items()},
                # A table says its units, or nothing of them.
                units={name: unit for name, unit, _ in cells},
            )

    def time(self, fields: list[str], where: str) -> float:
        text = self.get("time", fields)
        number = self.table.number(text)
        return seconds_since_1970(text if number is None or len(text) == 8 else number, where)


def _read(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    yield from _HistoryTable(source, remarks).runs()


def _recognises(path: Path, head: bytes) -> bool:
    rows = header_and_first_row(head)
    columns = None if rows is None else _columns(rows[0])
    if rows is None or columns is None:
        return False
    row, at = rows[1] or [], columns.roles["time"]
    time = row[at] if len(row) > at else ""
    # A first row without a date may be a fault of that row alone.
    return not time or any(each.isdigit() for each in time)


CSV_HISTORY = HistoryFormat(
    name="csv",
    looks_like="a table with a header that has 'time' or 'date', perhaps 'commit', and metrics",
    recognises=_recognises,
    read=_read,
)
