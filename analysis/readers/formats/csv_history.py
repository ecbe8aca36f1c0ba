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
are not metrics, and neither are numbers that name or date a run (`timers.is_label`). Numbers have a
decimal point or comma, see `decimal_marks`. An empty field or ``nan`` was not measured; an empty
time or another length than the header leaves the row out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.readers.commits import commits_in, repository_in
from hindmost.analysis.readers.dates import seconds_since_1970, without_date
from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.gather_history import no_measurement
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_tables import (
    TextTable,
    header_and_first_row,
    name_and_unit,
    read_text_table,
)
from hindmost.errors import DataError
from hindmost.text import first_of

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

NAMES = ("case", "metric")
"""Columns that name a result, where any row of a table has a name in them."""
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

    def get(self, role: str, fields: list[str]) -> str:
        """Return the field of a role; empty if no column has it."""
        at = self.roles.get(role)
        return "" if at is None else fields[at]


def _columns(header: list[str]) -> _HistoryColumns | None:
    """Determine the roles of the columns; None without a time, or without anything else."""
    named = [name_and_unit(field) for field in header]
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


def _cells(
    columns: _HistoryColumns, fields: list[str], numeric: set[int]
) -> list[tuple[str, str, str]]:
    """Return metric, unit and text of every value in a row that was measured."""
    if "value" in columns.roles:
        name, unit, text = (columns.get(role, fields) for role in ("metric", "unit", "value"))
        return [(name or "value", unit, text)] if text else []
    return [
        (name, unit, fields[at])
        for at, name, unit in columns.metrics
        if fields[at] and at in numeric
    ]


def _time(table: TextTable, text: str, where: str) -> float:
    number = table.number(text)
    return seconds_since_1970(text if number is None or len(text) == 8 else number, where)


def _read(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    table = read_text_table(path, SHOULD_BE, remarks)
    columns = _columns(table.header)
    names = [name for name, _ in [name_and_unit(field) for field in table.header]]
    if columns is None or len(set(names)) < len(names):
        raise DataError(
            f"{path}, line {table.line}: the columns are {first_of(table.header, most=20)}; "
            f"{SHOULD_BE}, and each name once."
        )
    numeric = {
        at
        for at in range(len(names))
        if any(table.number(row[at]) is not None for _, row in table.rows)
    }
    naming = [role for role in NAMES if any(columns.get(role, row) for _, row in table.rows)]
    branches = {columns.get("branch", fields) for _, fields in table.rows}
    for line, fields in table.rows:
        where = f"{path}, line {line}"
        try:
            time = _time(table, columns.get("time", fields), where)
        except DataError as error:
            remarks.add("rows without a date", f"{error} The row is left out.")
            continue
        case = columns.get("case", fields) or without_date(path.stem)
        if not all(columns.get(role, fields) for role in naming):
            remarks.add(
                "rows without a name", f"{where} names no case or no metric. The row is left out."
            )
            continue
        if len(branches) > 1:
            case = f"{case} [{columns.get('branch', fields) or 'no branch'}]"
        session = Session(
            machine=columns.get("machine", fields) or folder_machine,
            time=time,
            file=where,
            commits=commits_in({name: fields[at] for name, at in columns.commits.items()}),
        )
        if columns.get("passed", fields).lower() in FAILED:
            yield session.failed(case, "did not pass")
            continue
        cells = _cells(columns, fields, numeric)
        values: dict[str, float | str] = {}
        for name, _, text in cells:
            value = table.number(text)
            if value is not None and math.isnan(value):  # tables write it for a missing value
                remarks.add(*no_measurement(f"{where}: {case}, {name}", value))
            else:
                values[name] = text if value is None else value
        yield session.result(
            case,
            values,
            # A table says its units, or nothing of them.
            units={name: unit for name, unit, _ in cells},
        )


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
