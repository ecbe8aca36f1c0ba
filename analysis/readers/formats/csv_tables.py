"""Tables of measurements: CSV, also with semicolons or tabs.

The header declares the columns. Either a row is one measurement (or several: ``value`` may be
there more than once), with a column ``value``; all columns but those named below are parameters::

    p,n,kernel,metric,value
    4,1000,main->compute,time,6.0

or every metric has a column, with a unit if one likes. What stands before ``kernel`` is a parameter
and what stands after it is a metric; without ``kernel`` the table has two columns, or the
parameters are named by the caller. Two columns of one name are refused::

    p,n,kernel,time [s],flops
    4,1000,main->compute,6.0,4e9

``kernel`` may also be called callpath, region or function. Units may stand in parentheses, as
``time (s)``. ``unit`` belongs to the rows of the first form, and ``repetition``, ``run``, ``trial``
and the like are for people: rows at the same point are repetitions in any case. Hosts and numbers
that identify something (``job_id``, ``seed``) are left out with a remark, unless they are named. If
the caller names the parameters, further columns separate kernels in the first form. In the second
those before ``kernel`` do, and those after it are metrics; without ``kernel`` all are metrics.
Blank lines and lines that begin with # are left out. With semicolons a number may have a decimal
comma. An empty field was not measured.

Tables of nightly results: CSV as Apache Otava reads it, also with semicolons or tabs.

Every row is a run. Either every metric has a column, with an optional unit::

    time,commit,solve [s],memory [bytes]
    2021-01-24T05:34:11Z,6177ebf,172.1,571432960

or a row has one value, with columns ``metric`` (or ``timer``), ``value`` and perhaps ``unit``. The
time is the first there is of the columns ``timestamp``, ``datetime``, ``date`` and ``time``; see
`provenance` for how it may be written. A column with a name like ``commit`` or ``Albany commit``
says what was measured. Columns ``machine``, ``case`` (``test``, ``benchmark``) separate series;
without them the case is the file's name without a date. So does ``branch``, where a file has
several. A run whose column ``passed`` says no (or false, fail, 0) failed. Columns without a number
are not metrics, and neither are numbers that name or date a run (`timers.is_label`). Numbers have a
decimal point or comma, see `text_files`. An empty field or ``nan`` was not measured; an empty
time or another length than the header leaves the row out.

Tables of metrics per rank: CSV, also with semicolons or tabs.

A row for every rank and a column for every metric, such as ``rank,host,compute [s],bytes [byte]``;
``rank`` and ``host`` may be left out or have another usual name (``MPI Rank``, ``hostname``,
``node``), and so may units, which may stand in parentheses. Identifiers (``job_id``, ``core``) are
no metrics. A column of texts, such as ``access`` with ``read`` and ``write``, separates metrics:
each rank then has a row for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hindmost.analysis.readers.experiment import DEFAULT, ROOT, ExperimentGathering
from hindmost.analysis.readers.format import (
    ExperimentFormat,
    ExperimentRequest,
    HistoryEntry,
    HistoryFormat,
    RankColumns,
    RankFormat,
    Session,
)
from hindmost.analysis.readers.formats.profiles import LAST_RANK
from hindmost.analysis.readers.gather_history import no_measurement
from hindmost.analysis.readers.provenance import (
    commits_in,
    repository_in,
    seconds_since_1970,
    without_date,
)
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import (
    HOST,
    RANK,
    REPETITION,
    TextTable,
    header_and_first_row,
    name_and_unit,
    read_text_table,
    role_of,
)
from hindmost.errors import DataError, UsageError
from hindmost.parsing import as_number
from hindmost.printable import shell_word
from hindmost.text import choose, first_of

EXPERIMENT_ROLES = {
    "kernel": "kernel",
    "callpath": "kernel",
    "region": "kernel",
    "function": "kernel",
    "metric": "metric",
    "unit": "unit",
    "value": "value",
}
"""Roles of columns by name; all others are parameters or metrics."""

SHOULD_BE_EXPERIMENT = (
    "a table has columns for the parameters and 'value' (with 'kernel' and 'metric' if there are "
    "several), or the parameters, then 'kernel', then one column per metric"
)

IF_IT_IS = "If it is a parameter, name it (--parameter)."
NO_PARAMETER = "If the column is not a parameter, name those that are (--parameter)."
NO_VALUE = (
    "Leave a field empty if nothing was measured; write 1.5, or 1,5 where semicolons separate "
    "the fields."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Which columns are what."""

    roles: Mapping[str, int]
    metrics: list[tuple[int, str, str]]
    """Column, name and unit, if every metric has its column."""
    commits: Mapping[str, int] = field(default_factory=dict)
    parameters: list[tuple[int, str]] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    """Columns that separate kernels."""

    def get(self, role: str, fields: list[str]) -> str:
        """Return the field of a role; empty if no column has it."""
        at = self.roles.get(role)
        return "" if at is None else fields[at]


def _experiment_columns(table: TextTable, asked: Sequence[str], remarks: Remarks) -> _Columns:
    """Determine the roles of the columns."""
    fields, where = table.header, f"{table.path}, line {table.line}"
    named = [name_and_unit(field) for field in fields]
    names = [name for name, _ in named]
    wanted = [name if name in names else name_and_unit(name)[0] for name in asked]
    for name in wanted:
        if name not in names:
            raise UsageError(f"{where}: no column '{name}'; {choose(names)}.")
    refuse_twins(names, where)
    roles: dict[str, list[int]] = {}
    others: list[int] = []
    left: list[str] = []
    texts = [at for at in range(len(names)) if table.is_text(at)]
    for at, name in enumerate(names):
        role, usual = EXPERIMENT_ROLES.get(name.lower()), role_of(name)
        if role is not None and name not in wanted:
            roles.setdefault(role, []).append(at)
        elif name not in wanted and (usual == "identifier" or (usual == HOST and at in texts)):
            left.append(name)
        elif name in wanted or usual != REPETITION:
            others.append(at)
    if left:
        remarks.add(
            "columns that are no measurement",
            f"{where}: {', '.join(left)} left out: not a measurement by its name. {IF_IT_IS}",
        )
    numeric = [at for at in others if at not in texts]
    if len(numeric) < 2:  # a metric is missing: a text in its place is a fault
        texts, numeric = [], others
    for role in ("kernel", "metric", "unit"):
        if len(roles.get(role, ())) > 1:
            raise DataError(f"{where}: more than one column for the {role}; keep one.")
    single = {role: columns[0] for role, columns in roles.items()}
    values = roles.get("value", [])
    first = [at for at in others if names[at] in wanted]
    rest = [at for at in others if at not in first]
    if not wanted and values:
        first, rest = others, []
    elif not wanted:
        kernel = single.get("kernel", 0)
        if kernel:
            first = [at for at in others if at < kernel]
        elif len({names[at] for at in numeric}) == 2:
            first = numeric[:1]
        else:
            raise DataError(
                f"{where}: cannot distinguish parameters from metrics among {', '.join(names)}. "
                "Put the column 'kernel' between them, or name the parameters (--parameter "
                f"{shell_word(names[others[0]])})."
            )
        rest = [at for at in others if at not in first]
    # What stands before the kernel is a parameter, whether it was asked for or not.
    labels = [at for at in rest if values or at < single.get("kernel", 0) or at in texts]
    rest = [at for at in rest if at not in labels]
    if not first or not (values or rest) or ("metric" in single and not values):
        raise DataError(
            f"{where}: the columns are {', '.join(names) or 'none'}; {SHOULD_BE_EXPERIMENT}."
        )
    return _Columns(
        roles=single,
        parameters=[(at, names[at]) for at in first],
        metrics=[] if values else [(at, *named[at]) for at in rest],
        values=values,
        labels=[(at, names[at]) for at in labels],
    )


def refuse_twins(names: Sequence[str], where: str) -> None:
    """Refuse columns of one name, of which nothing tells which is meant.

    Several columns of values are repetitions.

    Raises
    ------
    DataError
    """
    seen: set[str] = set()
    for name in names:
        if name in seen and EXPERIMENT_ROLES.get(name.lower()) is None:
            raise DataError(
                f"{where}: more than one column is named '{name}'; rename or remove one of them."
            )
        seen.add(name)


def _number(table: TextTable, field: str, where: str, column: str, remedy: str) -> float:
    value = table.number(field)
    if value is None:
        raise DataError(f"{where}: '{field[:40]}' in column '{column}' is not a number. {remedy}")
    return value


def _read_file(path: Path, wanted: Sequence[str], into: ExperimentGathering) -> None:
    table = read_text_table(path, SHOULD_BE_EXPERIMENT, into.remarks)
    columns = _experiment_columns(table, wanted, into.remarks)
    into.declare([name for _, name in columns.parameters], f"{path}, line {table.line}")
    labels = [
        (at, name) for at, name in columns.labels if len({row[at] for _, row in table.rows}) > 1
    ]
    for line, fields in table.rows:
        where = f"{path}, line {line}"
        point = tuple(
            _number(table, fields[at], where, name, NO_PARAMETER) for at, name in columns.parameters
        )
        kernel = columns.get("kernel", fields) or ROOT
        kernel += "".join(f", {name} = {fields[at]}" for at, name in labels)
        metric, unit = columns.get("metric", fields) or DEFAULT, columns.get("unit", fields)
        cells = columns.metrics or [(at, metric, unit) for at in columns.values]
        for at, metric, unit in cells:
            text, name = fields[at], table.header[at]
            values = [_number(table, text, where, name, NO_VALUE)] if text else []
            into.add((kernel, metric), point, values, where, unit)


def _is_number(field: str) -> bool:
    return as_number(field.replace(",", ".")) is not None


def _recognises_experiment(path: Path, head: bytes) -> bool:
    rows = header_and_first_row(head)
    if rows is None or any(_is_number(field) or not field for field in rows[0]):
        return False
    header, row = rows
    if row is None:
        return path.suffix.lower() in (".csv", ".tsv")
    return len(row) == len(header) and sum(map(_is_number, row)) >= 2


def _read_experiment(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
) -> None:
    for path in paths:
        _read_file(path, request.parameters, into)


CSV_EXPERIMENT = ExperimentFormat(
    name="csv",
    looks_like="a table with a header, separated by commas, semicolons or tabs",
    recognises=_recognises_experiment,
    read=_read_experiment,
)


NIGHT_ROLES = {
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

SHOULD_BE_NIGHTS = (
    "a table has a header with a column 'time' (or 'date'), perhaps 'commit', 'machine' and "
    "'case', and a column for every metric"
)


def _night_columns(header: list[str]) -> _Columns | None:
    """Determine the roles of the columns; None without a time, or without anything else."""
    named = [name_and_unit(field) for field in header]
    names = [name.lower() for name, _ in named]
    roles = {
        role: next(names.index(name) for name in known if name in names)
        for role, known in NIGHT_ROLES.items()
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
    return _Columns(roles=roles, commits=commits, metrics=metrics)


def _cells(columns: _Columns, fields: list[str], numeric: set[int]) -> list[tuple[str, str, str]]:
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


def _read_nights(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    table = read_text_table(path, SHOULD_BE_NIGHTS, remarks)
    columns = _night_columns(table.header)
    names = [name for name, _ in [name_and_unit(field) for field in table.header]]
    if columns is None or len(set(names)) < len(names):
        raise DataError(
            f"{path}, line {table.line}: the columns are {first_of(table.header, most=20)}; "
            f"{SHOULD_BE_NIGHTS}, and each name once."
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


def _recognises_nights(path: Path, head: bytes) -> bool:
    rows = header_and_first_row(head)
    columns = None if rows is None else _night_columns(rows[0])
    if rows is None or columns is None:
        return False
    row, at = rows[1] or [], columns.roles["time"]
    time = row[at] if len(row) > at else ""
    # A first row without a date may be a fault of that row alone.
    return not time or any(each.isdigit() for each in time)


CSV_HISTORY = HistoryFormat(
    name="csv",
    looks_like="a table with a header that has 'time' or 'date', perhaps 'commit', and metrics",
    recognises=_recognises_nights,
    read=_read_nights,
)


SHOULD_BE_RANKS = (
    "the first line names columns, as rank,host,compute [s],messages, and ranks follow"
)


def _read_ranks(path: Path) -> RankColumns:
    table = read_text_table(path, SHOULD_BE_RANKS)
    columns = [name_and_unit(field) for field in table.header]
    roles = [role_of(name) for name, _ in columns]
    rank_at, host_at = (roles.index(role) if role in roles else None for role in (RANK, HOST))
    used = [at for at, role in enumerate(roles) if role is None]
    # Texts, as "read" and "write": the metrics of each are their own.
    texts = [at for at in used if table.is_text(at)]
    labels = [at for at in texts if len({row[at] for _, row in table.rows}) > 1]
    used = [at for at in used if at not in texts] or used
    names = [columns[at][0] for at in used]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: a column appears twice; give each its own name.")
    hosts: dict[int, str] = {}
    values: dict[str, dict[int, float]] = {}
    units: dict[str, str] = {}
    for number, (line, fields) in enumerate(table.rows):
        try:
            rank = int(fields[rank_at]) if rank_at is not None else number
        except ValueError:
            raise DataError(
                f"{path}, line {line}: '{fields[rank_at or 0][:40]}' is not the number of a rank."
            ) from None
        hosts[rank] = fields[host_at] if host_at is not None else ""
        kind = "".join(f", {columns[at][0]} = {fields[at]}" for at in labels)
        for at in used:
            value = table.number(fields[at])
            if value is None:
                raise DataError(f"{path}, line {line}: '{fields[at][:40]}' is not a number.")
            name = columns[at][0] + kind
            units[name] = columns[at][1]
            if rank in values.setdefault(name, {}):
                raise DataError(f"{path}: a rank appears twice; every rank has one row.")
            values[name][rank] = value
    if any(not 0 <= rank < LAST_RANK for rank in hosts):
        raise DataError(f"{path}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    for name, of_ranks in values.items():
        if missing := hosts.keys() - of_ranks.keys():
            raise DataError(f"{path}: no {name} of rank {min(missing)}; every rank needs a row.")
    return RankColumns(
        ranks=np.array(list(hosts), np.int64),
        values={
            name: np.array([of_ranks[rank] for rank in hosts]) for name, of_ranks in values.items()
        },
        units=units,
        hosts=tuple(hosts.values()) if host_at is not None else (),
    )


CSV_RANKS = RankFormat(
    name="csv",
    looks_like="a table with a row for every rank, as rank,host,compute [s],messages",
    recognises=lambda path, head: header_and_first_row(head) is not None,
    read=_read_ranks,
)

FORMATS = (CSV_EXPERIMENT, CSV_HISTORY, CSV_RANKS)
