"""A matrix from a file: PETSc's binary format and Matrix Market, each rank with its rows.

In PETSc's format a matrix is its identifier, rows, columns and nonzeros, the length of every row,
the columns, and the values, all big-endian; a vector is its identifier, its length and the values.
PETSc reads it on all ranks. Matrix Market is that of R. Boisvert, R. Pozo and K. Remington, "The
Matrix Market exchange formats", NISTIR 5935, 1996: scipy reads it on the first rank, which sends
every rank its rows.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.files import open_regular
from hindmost.harness.krylov.problems.problem import (
    LinearSystem,
    Problem,
    Rows,
    SystemRequest,
    matrix_of_csr,
    own_rows,
)
from hindmost.harness.petsc import is_complex
from hindmost.harness.rank_failures import on_all, on_root
from hindmost.harness.runfile.attributes import Json

T = TypeVar("T")
UNREADABLE = (OSError, EOFError, ValueError, MemoryError, OverflowError, zlib.error)
MATRIX_ID, VECTOR_ID = 1211216, 1211214
"""Numbers that begin PETSc's binary files."""
MARKET_BEGIN, GZIP_BEGIN = b"%%MatrixMarket", b"\x1f\x8b"


def check(request: SystemRequest) -> None:
    """Raise a UsageError if there is no regular file."""
    if request.file is None:
        raise UsageError(
            "'matrix' needs a file: hindmost run matrix FILE, in PETSc's binary format or Matrix "
            "Market (.mtx, .mtx.gz)."
        )
    for path in (request.file, request.right_side):
        if path is not None and not path.is_file():
            why = "it is not a regular file" if path.exists() else "no such file"
            raise UsageError(f"{path}: {why}.")


def build(request: SystemRequest, PETSc: Any, communicator: Any) -> LinearSystem:
    """Read a system; collective. Without a right side, b is A times ones."""
    file = request.file
    assert file is not None  # as `check` saw
    comm = communicator.tompi4py()
    facts = on_root(comm, lambda: facts_of(file, request.right_side, PETSc))
    if facts["kind"] == "matrix":
        matrix = load(PETSc.Mat().create(comm=communicator), file, PETSc, communicator)
    else:
        numbers = is_complex(PETSc)
        size = on_root(comm, lambda: rows_in(file, complex_numbers=numbers))
        rows = read_rows(file, own_rows(size, PETSc, communicator), comm)
        matrix = matrix_of_csr(rows, size, PETSc, communicator)
    count, columns = (int(each) for each in matrix.getSize())
    if count != columns:
        raise DataError(f"{file}: {count:,} rows and {columns:,} columns; solvers need as many.")
    if count < comm.size:
        raise UsageError(
            f"{file}: {count:,} rows on {comm.size} ranks: every rank needs at least one."
        )
    check_entries(file, matrix, comm)
    spec: Json = {
        "matrix": {
            "file": file.name,
            "sha256": facts["sha256"],
            "nonzeros": int(matrix.getInfo(PETSc.Mat.InfoType.GLOBAL_SUM)["nz_used"]),
        }
    }
    if request.right_side is None:
        return LinearSystem.of_ones(matrix, spec)
    right_side = load_vector(request.right_side, matrix, PETSc, communicator)
    spec["right_side"] = {"file": request.right_side.name, "sha256": facts["right_side_sha256"]}
    return LinearSystem(
        matrix=matrix,
        right_side=right_side,
        solution=right_side.duplicate(),
        spec={"unknowns": count, **spec},
    )


def facts_of(file: Path, right_side: Path | None, PETSc: Any) -> Json:
    """Return kind and checksums of the files, after a look at what PETSc would not refuse."""
    kind = kind_of(file)
    if kind == "vector":
        raise DataError(f"{file}: a vector of PETSc's binary format, not a matrix.")
    if kind == "matrix":
        check_matrix(file, PETSc)
    facts: Json = {"kind": kind, "sha256": sha256_of(file)}
    if right_side is not None:
        facts["right_side_sha256"] = sha256_of(right_side)
    return facts


def sha256_of(file: Path) -> str:
    """Return the checksum of a file."""
    try:
        with open_regular(file) as opened:
            raw = cast("Any", opened)  # unbuffered: it has readinto, which its type does not say
            return hashlib.file_digest(raw, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error


def load(target: Any, file: Path, PETSc: Any, communicator: Any) -> Any:
    """Load a matrix or a vector of PETSc's binary format; collective."""
    viewer = PETSc.Viewer().createBinary(str(file), mode="r", comm=communicator)
    if isinstance(target, PETSc.Mat):
        target.setType(PETSc.Mat.Type.AIJ)
    target.load(viewer)
    viewer.destroy()
    return target


def load_vector(file: Path, matrix: Any, PETSc: Any, communicator: Any) -> Any:
    """Read a right side: a vector of PETSc's binary format, or a dense Matrix Market column."""
    comm = communicator.tompi4py()
    rows = int(matrix.getSize()[0])
    vector = matrix.createVecLeft()
    if on_root(comm, lambda: is_vector(file, rows, PETSc)):
        load(vector, file, PETSc, communicator)
    else:
        numbers = is_complex(PETSc)
        values = on_root(comm, lambda: read_column(file, rows, complex_numbers=numbers))
        first, last = vector.getOwnershipRange()
        vector.setArray(values[first:last])
    check_finite(file, vector.getArray(readonly=True), comm)
    return vector


def check_entries(file: Path, matrix: Any, communicator: Any) -> None:
    """Raise a DataError on all ranks for a NaN, an infinity or a row of zeros; collective."""
    starts, _, values = matrix.getValuesCSR()
    check_finite(file, values, communicator)
    row = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    zero = np.flatnonzero(np.bincount(row, np.abs(values), starts.size - 1) == 0.0)
    first = int(matrix.getOwnershipRange()[0] + zero[0]) if zero.size else None
    found = [each for each in communicator.allgather(first) if each is not None]
    if found:
        raise DataError(
            f"{file}: row {min(found) + 1} (the first is 1) has only zeros, so the matrix is "
            "singular."
        )


def check_finite(file: Path, values: NDArray[Any], communicator: Any) -> None:
    """Raise a DataError on all ranks if any of them has a NaN or an infinity; collective."""
    if not all(communicator.allgather(bool(np.isfinite(values).all()))):
        raise DataError(f"{file}: an entry is not a finite number.")


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


MATRIX = Problem(
    name="matrix",
    summary="a matrix from FILE: PETSc binary or Matrix Market (.mtx, .mtx.gz)",
    preconditioner="jacobi",
    build=build,
    settings=("FILE", "RHS"),
    check=check,
)
