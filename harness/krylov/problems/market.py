"""Matrix Market files: read by scipy on the first rank, which sends every rank its rows.

The format is that of R. Boisvert, R. Pozo and K. Remington, "The Matrix Market exchange formats",
NISTIR 5935, 1996.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.krylov.problems.problem import Rows
from hindmost.harness.rank_failures import on_all

T = TypeVar("T")
UNREADABLE = (OSError, EOFError, ValueError, MemoryError, OverflowError, zlib.error)


def read_by(file: Path, reader: Callable[[str], T]) -> T:
    """Return what a function of scipy reads; raises a DataError with what is wrong."""
    try:
        return reader(str(file))  # of files that are open already, scipy's reader dies at errors
    except UNREADABLE as error:
        raise DataError(f"{file} cannot be read: {str(error).rstrip('.')}.") from error


def sizes_of(file: Path, *, complex_numbers: bool) -> tuple[int, int, int, str, str, str]:
    """Return rows, columns, entries, format, field and symmetry.

    Raises
    ------
    DataError
        The file is not in Matrix Market's format, or has complex numbers where PETSc has real ones.
    """
    from scipy.io import mminfo

    found: tuple[int, int, int, str, str, str] = read_by(file, mminfo)
    field, symmetry = found[4:]
    if not complex_numbers and (field == "complex" or symmetry == "hermitian"):
        raise DataError(
            f"{file}: complex numbers ('{field} {symmetry}'), but this PETSc has real ones; use a "
            "PETSc that is configured with complex numbers."
        )
    return found


def rows_in(file: Path, *, complex_numbers: bool = False) -> int:
    """Return the rows of a sparse, square matrix.

    Parameters
    ----------
    complex_numbers : bool
        Whether PETSc's numbers are complex.

    Raises
    ------
    DataError
        Not a sparse, square matrix of PETSc's numbers in Matrix Market's format.
    """
    rows, columns, _, layout, _, _ = sizes_of(file, complex_numbers=complex_numbers)
    if layout != "coordinate":
        raise DataError(f"{file}: a dense matrix ('{layout}'); only 'coordinate' is read.")
    if rows != columns:
        raise DataError(
            f"{file}: {rows:,} rows and {columns:,} columns; solvers need a square one."
        )
    return rows


def read_column(
    file: Path, rows: int, *, complex_numbers: bool = False
) -> NDArray[np.float64] | NDArray[np.complex128]:
    """Read a dense file of one column.

    Parameters
    ----------
    rows : int
        How many numbers there have to be.
    complex_numbers : bool
        Whether PETSc's numbers are complex.

    Returns
    -------
    float64 or complex128 array, shape (row,)

    Raises
    ------
    DataError
        There are others, or more or fewer.
    """
    from scipy.io import mmread

    found, columns, _, layout, field, _ = sizes_of(file, complex_numbers=complex_numbers)
    if layout != "array" or columns != 1:
        raise DataError(f"{file}: not a dense column of numbers ('array', rows, 1).")
    if found != rows:
        raise DataError(f"{file}: {found:,} numbers for a matrix with {rows:,} rows.")
    values = read_by(file, mmread)[:, 0]
    return values.astype(np.complex128 if field == "complex" else np.float64)  # type: ignore[no-any-return]


def read_rows(file: Path, own: tuple[int, int], communicator: Any) -> Rows:
    """Read the rows that this rank owns; collective. The first rank holds the whole matrix.

    Entries that are given twice are added.

    Parameters
    ----------
    own : tuple of int
        First row and the one after the last.
    communicator : mpi4py.MPI.Comm

    Raises
    ------
    DataError
        On all ranks, if the file is wrong.
    """
    owned = communicator.allgather(own)
    whole = on_all(communicator, lambda: None if communicator.rank else matrix_in(file))
    if whole is None:
        starts, columns, values = communicator.recv(), communicator.recv(), communicator.recv()
        return starts, columns, values
    for rank, (first, last) in enumerate(owned[1:], 1):
        for part in rows_of(whole, first, last):
            communicator.send(part, rank)
    return rows_of(whole, *own)


def matrix_in(file: Path) -> Any:
    """Return a matrix of scipy, rows compressed, with numbers that are float64 or complex128."""
    from scipy.io import mmread

    matrix = read_by(file, lambda path: mmread(path).tocsr())
    matrix.sort_indices()
    return matrix if matrix.dtype == np.complex128 else matrix.astype(np.float64)


def rows_of(matrix: Any, first: int, last: int) -> Rows:
    """Return some rows: where each begins, and columns and values of the entries."""
    begin, end = matrix.indptr[first], matrix.indptr[last]
    starts = (matrix.indptr[first : last + 1] - begin).astype(np.int64)
    columns = matrix.indices[begin:end].astype(np.int64)
    return starts, columns, matrix.data[begin:end].copy()
