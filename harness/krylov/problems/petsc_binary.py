"""What a matrix file is, and whether PETSc can read it if it is in PETSc's binary format.

A matrix is its identifier, rows, columns and nonzeros, the length of every row, the columns, and
the values, all big-endian. A vector is its identifier, its length and the values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from hindmost.errors import DataError
from hindmost.files import open_regular

MATRIX_ID, VECTOR_ID = 1211216, 1211214
"""Numbers that begin PETSc's binary files."""
MARKET_BEGIN, GZIP_BEGIN = b"%%MatrixMarket", b"\x1f\x8b"


def kind_of(file: Path) -> Literal["matrix", "vector", "market"]:
    """Return what a file is by its content: PETSc's binary format, or Matrix Market.

    Raises
    ------
    DataError
        It is none of these.
    """
    try:
        with open_regular(file) as opened:
            head = opened.read(len(MARKET_BEGIN))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if head.startswith((MARKET_BEGIN, GZIP_BEGIN)):
        return "market"
    numbers = {int.from_bytes(head[:width], "big") for width in (4, 8)}
    if MATRIX_ID in numbers:
        return "matrix"
    if VECTOR_ID in numbers:
        return "vector"
    raise DataError(
        f"{file}: neither a matrix in PETSc's binary format nor a Matrix Market file (which begins "
        f"with {MARKET_BEGIN.decode()})."
    )


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
