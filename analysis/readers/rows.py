"""Rows of a table in text, and the names and units of its columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hindmost.analysis.readers.lines import split_lines
from hindmost.errors import DataError

_UNIT = re.compile(r"^(.*?)\s*\[([^\]]*)\]$")


def separator_of(line: str) -> str | None:
    """Return what separates the fields of a header: a tab, a semicolon or a comma."""
    return next((each for each in ("\t", ";", ",") if each in line), None)


def split_row(line: str, separator: str) -> list[str]:
    """Return the fields of one line, none if it is not a row."""
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return []
    return [field.strip() for field in rows[0]] if rows else []


def names_and_units(fields: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and unit of every column, as of ``time [s]``; the unit may be empty."""
    found = [_UNIT.match(field) for field in fields]
    return [
        (match[1], match[2]) if match else (field, "")
        for field, match in zip(fields, found, strict=True)
    ]


def numbered_rows(text: str, separator: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the number of its last line; blank lines and comments are none.

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
