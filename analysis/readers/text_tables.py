"""Tables in text files: CSV, also with semicolons or tabs; faults have a line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hindmost.analysis.readers.decimal_marks import COMMA, POINT, decimal_mark, number_in
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import first_line, read_text, split_lines
from hindmost.analysis.readers.units import is_unit
from hindmost.errors import DataError

_UNIT = re.compile(r"^(.*?)\s*(?:\[([^\]]*)\]|\(([^()]*)\))$")

_LIKE_NUMBER = re.compile(r"^[-+]?[.,]?\d[\d.,]*(?:[eE][-+]?\d+)?$|^(?:nan|[-+]?inf)$", re.I)

RANK, HOST, REPETITION = "rank", "host", "repetition"
ROLES = {
    RANK: ("rank", "rank id", "process", "proc", "process rank", "pe", "task", "task id"),
    HOST: ("host", "hostname", "host name", "node", "nodename", "node name", "machine"),
    REPETITION: ("repetition", "rep", "repeat", "replicate", "trial", "run", "sample"),
    "identifier": (
        "id",
        "index",
        "seed",
        "timestamp",
        "date",
        "pid",
        "tid",
        "job",
        "jobid",
        "commit",
    ),
    "place": ("core", "cpu", "socket", "slot", "thread"),
}
"""Columns that are no measurement, by their usual names: ``MPI Rank``, ``rank_id``, ``host``."""

Row = tuple[int, list[str]]
"""The number of a row's last line, and its fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table with a header.

    Attributes
    ----------
    path : Path
    line : int
        Of the header.
    header : list of str
    rows : list of Row
        As long as the header.
    decimal : str or None
        The decimal mark of numbers, a point or a comma; None if no number shows it.
    """

    path: Path
    line: int
    header: list[str]
    rows: list[Row]
    decimal: str | None

    def number(self, field: str) -> float | None:
        """Return the number in a field, None of other text."""
        return number_in(field, self.decimal)

    def is_text(self, column: int) -> bool:
        """Tell whether a column has texts, and nothing that looks like a number."""
        fields = [row[column] for _, row in self.rows if row[column]]
        return bool(fields) and not any(_LIKE_NUMBER.match(field) for field in fields)


def read_text_table(path: Path, should_be: str, remarks: Remarks | None = None) -> TextTable:
    """Read a table.

    Parameters
    ----------
    should_be : str
        How a table of this sort looks, for the message.
    remarks : Remarks or None
        Rows that are shorter or longer than the header are left out with a remark, if there are
        remarks; otherwise they are refused.

    Raises
    ------
    DataError
        The file cannot be read, a line is not a row, or no row is below the header.
    """
    text = "\n".join(with_header(split_lines(read_text(path))))
    separator = separator_of(first_line(text[: 1 << 16].encode())) or ","
    rows = list(numbered_rows(text, separator, path))
    if len(rows) < 2:
        raise DataError(f"{path} has no rows below its header; {should_be}.")
    (line, header), *rows = rows
    for number, fields in rows:
        if len(fields) != len(header):
            fault = (
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}"
            )
            if remarks is None:
                raise DataError(f"{fault}; {should_be}.")
            remarks.add("rows whose length differs from the header", f"{fault}; left out.")
    rows = [row for row in rows if len(row[1]) == len(header)]
    decimal = decimal_of([field for _, fields in rows for field in fields], separator)
    return TextTable(path=path, line=line, header=header, rows=rows, decimal=decimal)


def with_header(lines: list[str]) -> list[str]:
    """Return the lines of a table with its header, if that is a comment, as one of them.

    Some programs write ``# ranks, time`` above rows of numbers.
    """
    bare = [line.lstrip() for line in lines]
    first = next((at for at, line in enumerate(bare) if line and not line.startswith("#")), 0)
    separator = separator_of(bare[first]) if first else None
    if separator is None:
        return lines
    header = split_row(bare[first - 1].lstrip("# "), separator)
    row = split_row(bare[first], separator)
    if (
        len(header) != len(row)
        or not all(map(_LIKE_NUMBER.match, row))
        or any(map(_LIKE_NUMBER.match, header))
    ):
        return lines
    return [*lines[: first - 1], bare[first - 1].lstrip("# "), *lines[first:]]


def decimal_of(fields: list[str], separator: str) -> str | None:
    """Return the decimal mark of a table: what its numbers show, else that of its separator.

    Semicolons separate fields where commas are decimal.
    """
    if not any(COMMA in field for field in fields):
        return None
    shown = decimal_mark(fields)
    if shown is None and separator == ";" and not any(POINT in field for field in fields):
        return COMMA
    return shown


def separator_of(line: str) -> str | None:
    """Return the separator of a header: a tab, a semicolon or a comma."""
    return next((each for each in ("\t", ";", ",") if each in line), None)


def split_row(line: str, separator: str) -> list[str]:
    """Return the fields of one line, none if it is not a row."""
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return []
    return [field.strip() for field in rows[0]] if rows else []


def header_and_first_row(head: bytes) -> tuple[list[str], list[str] | None] | None:
    """Return the header of a table and its first row, if there is one; None of another file.

    Parameters
    ----------
    head : bytes
        As returned by `head_of`.
    """
    if b"\0" in head:
        return None
    lines = with_header(split_lines(head.decode("utf-8-sig", errors="replace")))
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    separator = separator_of(lines[0]) if lines else None
    if separator is None or lines[0].lstrip().startswith(("{", "[")):
        return None
    return split_row(lines[0], separator), split_row(lines[1], separator) if lines[1:] else None


def name_and_unit(field: str) -> tuple[str, str]:
    """Return name and unit of a column, as of ``time [s]`` or ``time (s)``.

    The unit may be empty. In brackets anything is a unit; in parentheses only what is one, since
    ``time (mean)`` and ``time (max)`` are names.
    """
    match = _UNIT.match(field)
    if match is None or not match[1] or (match[2] is None and not is_unit(match[3])):
        return field, ""
    return match[1], match[3] if match[2] is None else match[2]


def role_of(name: str) -> str | None:
    """Return the role of a column that is no measurement; None of all others."""
    words = re.sub(r"[\s_.-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip().lower()
    plain = words.removeprefix("mpi ")
    for role, names in ROLES.items():
        if plain in names or plain.replace(" ", "") in names:
            return role
    return "identifier" if words.endswith(" id") else None


def numbered_rows(text: str, separator: str, path: Path) -> Iterator[Row]:
    """Yield the rows, each with the number of its last line, without blank lines and comments.

    Raises
    ------
    DataError
        A line is not a row.
    """
    number = 0

    def numbered() -> Iterator[str]:
        nonlocal number
        for line in split_lines(text):
            number += 1
            if line.strip() and not line.lstrip().startswith("#"):
                yield line + "\n"

    rows = csv.reader(numbered(), delimiter=separator, skipinitialspace=True)
    try:
        for fields in rows:
            yield number, [field.strip() for field in fields]
    except csv.Error as error:
        raise DataError(f"{path}, line {number}: not a row of a table ({error}).") from None
