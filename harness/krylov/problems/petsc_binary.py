"""Files in PETSc's binary format, looked at before PETSc reads them: it would not refuse all.

A matrix is its identifier, rows, columns and nonzeros, the length of every row, the columns, and
the values, all big-endian. A vector is its identifier, its length and the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.files import open_regular
from hindmost.harness.krylov.problems.file_kind import MATRIX_ID, kind_of
from hindmost.text import counted

AT_ONCE = 1 << 20
"""Integers that are read at once."""


def check_matrix(file: Path, PETSc: Any) -> None:
    """Refuse a binary matrix whose integers or numbers are not those of this PETSc.

    The length of the file shows it: after the identifier, rows, columns and nonzeros come the
    length of every row, the columns, and the values.
    """
    size = file.stat().st_size
    index, scalar = np.dtype(PETSc.IntType).itemsize, np.dtype(PETSc.ScalarType).itemsize
    found = []
    with open_regular(file) as opened:
        head = opened.read(32)
    for width in (4, 8):
        kind, rows, _, nonzeros = (
            int.from_bytes(head[width * n : width * (n + 1)], "big", signed=True) for n in range(4)
        )
        if kind == MATRIX_ID and rows >= 0 and nonzeros >= 0:
            found += [
                (width, number)
                for number in (4, 8, 16, 32)
                if size == width * (4 + rows + nonzeros) + number * nonzeros
            ]
    if (index, scalar) in found:
        check_structure(file, np.dtype(f">i{index}"))
        return
    if not found:
        raise DataError(
            f"{file}: its length of {size:,} bytes does not fit the matrix that it announces; the "
            "file is damaged, or the matrix is not sparse AIJ."
        )
    width, number = found[0]
    raise DataError(
        f"{file}: written with integers of {width} and numbers of {number} bytes, but this PETSc "
        f"has {index} and {scalar}{told_apart(number, scalar)}; use a PETSc of the same "
        "configuration, or write the matrix as Matrix Market."
    )


def told_apart(found: int, expected: int) -> str:
    """Say which of two sizes of numbers, in bytes, may be that of complex ones."""
    if found == 2 * expected:
        return " (a complex matrix for a real PETSc?)"
    return " (a real matrix for a complex PETSc?)" if 2 * found == expected else ""


def check_structure(file: Path, integer: np.dtype[Any]) -> None:
    """Refuse rows and columns that PETSc would follow out of its memory.

    Parameters
    ----------
    integer : dtype
        Of the file.
    """
    _, rows, columns, nonzeros = (int(each) for each in next(integers(file, integer, 0, 4)))
    found, least = 0, 0
    for lengths in integers(file, integer, 4, rows):
        found += int(lengths.sum(dtype=np.int64))
        least = min(least, int(lengths.min()))
    if found != nonzeros or least < 0:
        raise DataError(
            f"{file}: its rows do not add up to its {counted(nonzeros, 'nonzero')}; the file is "
            "damaged."
        )
    for block in integers(file, integer, 4 + rows, nonzeros):
        if block.min() < 0 or block.max() >= columns:
            raise DataError(
                f"{file}: columns must be from 0 to {columns - 1}; the file is damaged."
            )


def integers(
    file: Path, integer: np.dtype[Any], first: int, count: int
) -> Iterator[NDArray[np.int64]]:
    """Give some of the integers of a file in blocks that are not empty."""
    with open_regular(file) as opened:
        opened.seek(first * integer.itemsize)
        while count > 0:
            block = np.fromfile(opened, integer, min(count, AT_ONCE))
            if not block.size:
                return
            count -= block.size
            yield block.astype(np.int64)


def is_vector(file: Path, rows: int, PETSc: Any) -> bool:
    """Tell whether a file is in PETSc's binary format, and refuse vectors of another length."""
    kind = kind_of(file)
    if kind == "matrix":
        raise DataError(f"{file}: a matrix of PETSc's binary format; a right side is a vector.")
    if kind == "market":
        return False
    width = np.dtype(PETSc.IntType).itemsize
    with open_regular(file) as opened:
        head = opened.read(2 * width)
    length = int.from_bytes(head[width:], "big", signed=True)
    expected = 2 * width + np.dtype(PETSc.ScalarType).itemsize * rows
    if length != rows or file.stat().st_size != expected:
        raise DataError(
            f"{file}: {length:,} numbers in {file.stat().st_size:,} bytes; a matrix with {rows:,} "
            f"rows needs as many numbers, in {expected:,} bytes."
        )
    return True
