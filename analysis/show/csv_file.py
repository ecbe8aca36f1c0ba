"""The CSV renderer: the numbers of a chart or map, and the cells of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.files import replacing

Columns = dict[str, NDArray[Any]]
"""Arrays of one length, by the names that head them."""


def write_csv(path: Path, columns: Columns) -> Path:
    """Write columns with all their digits; NaN is left empty.

    Names are not escaped, because programs read them: a spreadsheet that treats ``=1+1`` as a
    formula needs the column imported as text.
    """
    texts = [list(map(cell, values.tolist())) for values in columns.values()]
    return write_rows(path, list(columns), zip(*texts, strict=True))


def write_rows(path: Path, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    """Write a CSV file, whole or not at all."""
    try:
        with replacing(path) as file:
            lines = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            writer = csv.writer(lines, lineterminator="\n")
            writer.writerow(heads)
            writer.writerows(rows)
            lines.detach()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def cell(value: Any) -> str:
    """Write one number or word."""
    if isinstance(value, float):
        return "" if np.isnan(value) else repr(value)
    return str(value)
