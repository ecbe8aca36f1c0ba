"""The numbers behind a figure, and the CSV file that holds them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError

Columns = dict[str, NDArray[Any]]
"""Arrays of one length, by the names that head them."""


def write_csv(path: Path, columns: Columns) -> Path:
    """Write columns with all their digits; NaN is left empty."""
    texts = [list(map(cell, values.tolist())) for values in columns.values()]
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*texts, strict=True))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def cell(value: Any) -> str:
    """Write one number or word."""
    if isinstance(value, float):
        return "" if np.isnan(value) else repr(value)
    return str(value)
