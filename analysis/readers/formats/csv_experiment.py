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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.gather_experiment import DEFAULT, ROOT, ExperimentGathering
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_tables import (
    HOST,
    REPETITION,
    TextTable,
    header_and_first_row,
    name_and_unit,
    read_text_table,
    role_of,
)
from hindmost.errors import DataError, UsageError
from hindmost.parsing import plain_number
from hindmost.printable import shell_word
from hindmost.text import choose

ROLES = {
    "kernel": "kernel",
    "callpath": "kernel",
    "region": "kernel",
    "function": "kernel",
    "metric": "metric",
    "unit": "unit",
    "value": "value",
}
"""Roles of columns by name; all others are parameters or metrics."""

SHOULD_BE = (
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
class _ExperimentColumns:
    """The column of every role; None if there is none."""

    parameters: list[tuple[int, str]]
    metrics: list[tuple[int, str, str]]
    """Column, name and unit, if every metric has its column."""
    values: list[int]
    kernel: int | None
    metric: int | None
    unit: int | None
    labels: list[tuple[int, str]]
    """Columns that separate kernels."""


def _columns(table: TextTable, asked: Sequence[str], remarks: Remarks) -> _ExperimentColumns:
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
        role, usual = ROLES.get(name.lower()), role_of(name)
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
        raise DataError(f"{where}: the columns are {', '.join(names) or 'none'}; {SHOULD_BE}.")
    return _ExperimentColumns(
        parameters=[(at, names[at]) for at in first],
        metrics=[] if values else [(at, *named[at]) for at in rest],
        values=values,
        kernel=single.get("kernel"),
        metric=single.get("metric"),
        unit=single.get("unit"),
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
        if name in seen and ROLES.get(name.lower()) is None:
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
    table = read_text_table(path, SHOULD_BE, into.remarks)
    header = table.header
    columns = _columns(table, wanted, into.remarks)
    into.declare([name for _, name in columns.parameters], f"{path}, line {table.line}")
    labels = [
        (at, name) for at, name in columns.labels if len({row[at] for _, row in table.rows}) > 1
    ]
    for line, fields in table.rows:
        where = f"{path}, line {line}"
        point = tuple(
            _number(table, fields[at], where, name, NO_PARAMETER) for at, name in columns.parameters
        )
        kernel = fields[columns.kernel] if columns.kernel is not None else ""
        kernel = (kernel or ROOT) + "".join(f", {name} = {fields[at]}" for at, name in labels)
        cells = columns.metrics or [
            (
                at,
                (fields[columns.metric] if columns.metric is not None else "") or DEFAULT,
                fields[columns.unit] if columns.unit is not None else "",
            )
            for at in columns.values
        ]
        for at, metric, unit in cells:
            field, name = fields[at], header[at]
            values = [_number(table, field, where, name, NO_VALUE)] if field else []
            into.add((kernel, metric), point, values, where, unit)


def _is_number(field: str) -> bool:
    try:
        plain_number(field.replace(",", "."))
    except ValueError:
        return False
    return True


def _recognises(path: Path, head: bytes) -> bool:
    rows = header_and_first_row(head)
    if rows is None or any(_is_number(field) or not field for field in rows[0]):
        return False
    header, row = rows
    if row is None:
        return path.suffix.lower() in (".csv", ".tsv")
    return len(row) == len(header) and sum(map(_is_number, row)) >= 2


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    for path in paths:
        _read_file(path, request.parameters, into)


CSV_EXPERIMENT = ExperimentFormat(
    name="csv",
    looks_like="a table with a header, separated by commas, semicolons or tabs",
    recognises=_recognises,
    read=_read,
)
