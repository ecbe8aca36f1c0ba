"""Tables of measurements: CSV, also with semicolons or tabs.

The header says what the columns are. Either a row is one measurement (or several: ``value`` may be
there more than once), with a column ``value``; all columns but those named below are parameters::

    p,n,kernel,metric,value
    4,1000,main->compute,time,6.0

or every metric has a column, with a unit if one likes; repeated columns are repetitions. What
stands before ``kernel`` is a parameter and what stands after it is a metric; without ``kernel`` the
table has two columns, or the parameters are named by the caller::

    p,n,kernel,time [s],time [s],flops
    4,1000,main->compute,6.0,6.1,4e9

``kernel`` may also be called callpath, region or function. ``unit`` belongs to the rows of the
first form, and ``repetition`` is for people: rows at the same point are repetitions in any case. If
the caller names the parameters, further columns tell kernels apart in the first form and are
metrics in the second. Blank lines and lines that begin with # are left out. With semicolons a
number may have a decimal comma. An empty field was not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.readers.gathering import DEFAULT, ROOT, Gathering
from hindmost.analysis.readers.lines import first_line, read_text, split_lines
from hindmost.analysis.readers.request import Format, Request
from hindmost.analysis.readers.rows import names_and_units, numbered_rows, separator_of, split_row
from hindmost.errors import DataError, UsageError

ROLES = {
    "kernel": "kernel",
    "callpath": "kernel",
    "region": "kernel",
    "function": "kernel",
    "metric": "metric",
    "unit": "unit",
    "value": "value",
    "repetition": "repetition",
}
"""What columns of a name are for; all others are parameters or metrics."""

SHOULD_BE = (
    "a table has columns for the parameters and 'value' (with 'kernel' and 'metric' if there are "
    "several), or the parameters, then 'kernel', then one column a metric"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Which columns are what; None where there is none."""

    parameters: list[tuple[int, str]]
    metrics: list[tuple[int, str, str]]
    """Column, name and unit, if every metric has its column."""
    values: list[int]
    kernel: int | None
    metric: int | None
    unit: int | None
    labels: list[tuple[int, str]]
    """Columns that tell kernels apart."""


def _columns(fields: Sequence[str], wanted: Sequence[str], where: str) -> _Columns:
    """Say what the columns are."""
    named = names_and_units(fields)
    names = [name for name, _ in named]
    for name in wanted:
        if name not in names:
            raise UsageError(
                f"{where}: no column '{name}'; choose parameters from: {', '.join(names)}."
            )
    roles: dict[str, list[int]] = {}
    others: list[int] = []
    for at, name in enumerate(names):
        role = ROLES.get(name.lower())
        if role is None or name in wanted:
            others.append(at)
        else:
            roles.setdefault(role, []).append(at)
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
        elif len(others) == 2 or len({names[at] for at in others}) == 2:
            first = others[:1]
        else:
            raise DataError(
                f"{where}: cannot tell parameters from metrics among {', '.join(names)}. Put the "
                "column 'kernel' between them, or name the parameters."
            )
        rest = [at for at in others if at not in first]
    if not first or not (values or rest) or ("metric" in single and not values):
        raise DataError(f"{where}: the columns are {', '.join(names) or 'none'}; {SHOULD_BE}.")
    return _Columns(
        parameters=[(at, names[at]) for at in first],
        metrics=[] if values else [(at, *named[at]) for at in rest],
        values=values,
        kernel=single.get("kernel"),
        metric=single.get("metric"),
        unit=single.get("unit"),
        labels=[(at, names[at]) for at in rest] if values else [],
    )


def _number(text: str, decimal: str, where: str, column: str) -> float:
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        raise DataError(
            f"{where}: '{text[:40]}' in column '{column}' is not a number. If the column is no "
            "parameter, name those that are."
        ) from None


def _read_file(path: Path, wanted: Sequence[str], into: Gathering) -> None:
    text = read_text(path)
    separator = separator_of(first_line(text[: 1 << 16].encode())) or ","
    decimal = "," if separator == ";" else "."
    rows = list(numbered_rows(text, separator, path))
    if len(rows) < 2:
        raise DataError(f"{path} has no rows below its header; {SHOULD_BE}.")
    (line, header), *rows = rows
    columns = _columns(header, wanted, f"{path}, line {line}")
    into.declare([name for _, name in columns.parameters], f"{path}, line {line}")
    complete = [fields for _, fields in rows if len(fields) == len(header)]
    labels = [
        (at, name) for at, name in columns.labels if len({fields[at] for fields in complete}) > 1
    ]
    for line, fields in rows:
        where = f"{path}, line {line}"
        if len(fields) != len(header):
            into.remarks.add(
                "rows of another length than the header",
                f"{where}: {len(fields)} fields where the header has {len(header)}; left out.",
            )
            continue
        point = tuple(_number(fields[at], decimal, where, name) for at, name in columns.parameters)
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
            values = [_number(fields[at], decimal, where, header[at])] if fields[at] else []
            into.add((kernel, metric), point, values, where, unit)


def _is_number(field: str) -> bool:
    try:
        float(field.replace(",", "."))
    except ValueError:
        return False
    return True


def _recognises(path: Path, head: bytes) -> bool:
    if b"\0" in head:
        return False
    lines = split_lines(head.decode("utf-8-sig", errors="replace"))
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    separator = separator_of(lines[0]) if lines else None
    if separator is None or lines[0].lstrip().startswith(("{", "[")):
        return False
    header = split_row(lines[0], separator)
    if any(_is_number(field) or not field for field in header):
        return False
    if len(lines) < 2:
        return path.suffix.lower() in (".csv", ".tsv")
    row = split_row(lines[1], separator)
    return len(row) == len(header) and sum(map(_is_number, row)) >= 2


def _read(paths: tuple[Path, ...], request: Request, into: Gathering) -> None:
    for path in paths:
        _read_file(path, request.parameters, into)


TABLE = Format(
    name="csv",
    looks_like="a table with a header, separated by commas, semicolons or tabs",
    recognises=_recognises,
    read=_read,
)
