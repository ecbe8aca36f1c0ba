"""Tables of nightly results: CSV as Apache Otava reads it, also with semicolons or tabs.

Every row is a run. Either every metric has a column, with a unit if one likes::

    time,commit,solve [s],memory [bytes]
    2021-01-24T05:34:11Z,6177ebf,172.1,571432960

or a row has one value, with columns ``metric`` (or ``timer``), ``value`` and perhaps ``unit``. The
time is the first there is of the columns ``timestamp``, ``datetime``, ``date`` and ``time``; see
`dates` for how it may be written. A column with a name like ``commit`` or ``Albany commit`` holds
what was measured. Columns ``machine`` and ``case`` (or ``test``, ``benchmark``) tell series apart;
without them the case is the file's name without a date. So does ``branch``, where a file has
several. A run whose column ``passed`` says no (or false, fail, 0) failed. Columns without a number
are no metrics. An empty field was not measured; an empty time or another length than the header
leaves the row out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.history.readers.commits import commits_in, repository_in
from hindmost.analysis.history.readers.dates import seconds_since_1970, without_date
from hindmost.analysis.history.readers.measured import Found, HistoryFormat, Measured, Source
from hindmost.analysis.history.records import FailedRun
from hindmost.analysis.readers.lines import first_line, read_text, split_lines
from hindmost.analysis.readers.remarks import Remarks, some
from hindmost.analysis.readers.rows import names_and_units, numbered_rows, separator_of, split_row
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
"""What columns of a name are for, the most telling name first; all others may be metrics."""

FAILED = ("false", "no", "fail", "failed", "0")

SHOULD_BE = (
    "a table has a header with a column 'time' (or 'date'), perhaps 'commit', 'machine' and "
    "'case', and a column a metric"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Which columns are what."""

    roles: Mapping[str, int]
    commits: Mapping[str, int]
    metrics: list[tuple[int, str, str]]
    """Column, name and unit."""


def _columns(header: list[str]) -> _Columns | None:
    """Say what the columns are; None without a time or anything else."""
    named = names_and_units(header)
    names = [name.lower() for name, _ in named]
    roles = {
        role: next(names.index(name) for name in known if name in names)
        for role, known in ROLES.items()
        if any(name in names for name in known)
    }
    if "value" not in roles or "metric" not in roles:
        # Without both a value is a metric like others.
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
    return _Columns(roles=roles, commits=commits, metrics=metrics)


def _number(field: str, decimal: str) -> float | None:
    try:
        return float(field.replace(",", ".") if decimal == "," else field)
    except ValueError:
        return None


class _Table:
    """A table while it is read."""

    def __init__(self, source: Source, remarks: Remarks) -> None:
        self.path = source.path
        self.folder = source.folder
        self.remarks = remarks
        text = read_text(self.path)
        separator = separator_of(first_line(text[: 1 << 16].encode())) or ","
        self.decimal = "," if separator == ";" else "."
        rows = list(numbered_rows(text, separator, self.path))
        if len(rows) < 2:
            raise DataError(f"{self.path} has no rows below its header; {SHOULD_BE}.")
        (line, self.header), *rows = rows
        columns = _columns(self.header)
        names = [name for name, _ in names_and_units(self.header)]
        if columns is None or len(set(names)) < len(names):
            raise DataError(
                f"{self.path}, line {line}: the columns are {some(self.header, 20)}; {SHOULD_BE}, "
                "and each name once."
            )
        self.columns = columns
        self.rows = [(line, fields) for line, fields in rows if self.is_whole(line, fields)]
        self.metrics = [
            metric
            for metric in columns.metrics
            if any(_number(fields[metric[0]], self.decimal) is not None for _, fields in self.rows)
        ]

    def is_whole(self, line: int, fields: list[str]) -> bool:
        if len(fields) == len(self.header):
            return True
        self.remarks.add(
            "rows of another length than the header",
            f"{self.path}, line {line}: {len(fields)} fields where the header has "
            f"{len(self.header)}; left out.",
        )
        return False

    def get(self, role: str, fields: list[str]) -> str:
        at = self.columns.roles.get(role)
        return "" if at is None else fields[at]

    def cells(self, fields: list[str]) -> list[tuple[str, str, str]]:
        """Return metric, unit and text of what a row measured."""
        if "value" in self.columns.roles:
            found = [(self.get("metric", fields), self.get("unit", fields))]
            cells = [(name or "value", unit, self.get("value", fields)) for name, unit in found]
        else:
            cells = [(name, unit, fields[at]) for at, name, unit in self.metrics]
        return [cell for cell in cells if cell[2]]

    def runs(self) -> Iterator[Found]:
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
            machine = self.get("machine", fields) or self.folder
            if self.get("passed", fields).lower() in FAILED:
                yield FailedRun(
                    time=time, machine=machine, case=case, reason="did not pass", file=where
                )
                continue
            cells = self.cells(fields)
            values = {name: _number(text, self.decimal) for name, _, text in cells}
            texts = {name: text for name, _, text in cells}
            yield Measured(
                machine=machine,
                case=case,
                time=time,
                file=where,
                values={
                    name: texts[name] if value is None else value for name, value in values.items()
                },
                commits=commits_in({name: fields[at] for name, at in self.columns.commits.items()}),
                # A table says its units, or nothing of them.
                units={name: unit for name, unit, _ in cells},
            )

    def time(self, fields: list[str], where: str) -> float:
        text = self.get("time", fields)
        number = _number(text, self.decimal)
        return seconds_since_1970(text if number is None or len(text) == 8 else number, where)


def _read(source: Source, remarks: Remarks) -> Iterator[Found]:
    yield from _Table(source, remarks).runs()


def _recognises(path: Path, head: bytes) -> bool:
    if b"\0" in head:
        return False
    lines = split_lines(head.decode("utf-8-sig", errors="replace"))
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    separator = separator_of(lines[0]) if lines else None
    if separator is None or lines[0].lstrip().startswith(("{", "[")):
        return False
    columns = _columns(split_row(lines[0], separator))
    if columns is None or len(lines) < 2:
        return columns is not None
    row = split_row(lines[1], separator)
    at = columns.roles["time"]
    # A first row without a date may be a fault of that row alone.
    return len(row) <= at or not row[at] or any(each.isdigit() for each in row[at])


TABLE = HistoryFormat(
    name="csv",
    looks_like="a table with a header that has 'time' or 'date', perhaps 'commit', and metrics",
    recognises=_recognises,
    read=_read,
)
