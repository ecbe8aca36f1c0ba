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
        rows, size = read_rows(file, PETSc, communicator, complex_numbers=is_complex(PETSc))
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
    with open_regular(file) as opened:
        head = opened.read(4 * index)
    rows, nonzeros = (
        int.from_bytes(head[index * at : index * (at + 1)], "big", signed=True) for at in (1, 3)
    )
    if size != index * (4 + rows + nonzeros) + scalar * nonzeros:
        raise DataError(
            f"{file}: {size:,} bytes do not fit a sparse matrix in integers of {index} and numbers "
            f"of {scalar} bytes, which this PETSc has. The file is damaged, or a PETSc with other "
            "integers or numbers, as complex ones, wrote it: use that, or Matrix Market."
        )


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


def read_column(
    file: Path, rows: int, *, complex_numbers: bool
) -> NDArray[np.float64] | NDArray[np.complex128]:
    """Read a dense file of one column: float64 or complex128 array, shape (row,).

    Parameters
    ----------
    rows : int
        How many numbers there have to be.
    complex_numbers : bool
        Whether PETSc's numbers are complex.

    Raises
    ------
    DataError
        There are others, or more or fewer.
    """
    values = read_market(file, complex_numbers=complex_numbers)
    if not isinstance(values, np.ndarray) or values.shape[1] != 1:
        raise DataError(f"{file}: not a dense column of numbers ('array', rows, 1).")
    if len(values) != rows:
        raise DataError(f"{file}: {len(values):,} numbers for a matrix with {rows:,} rows.")
    return np.asarray(values[:, 0])


def read_market(file: Path, *, complex_numbers: bool) -> Any:
    """Return what is in a file: a matrix of scipy, rows compressed, or an array of two axes.

    Raises
    ------
    DataError
        The file is not in Matrix Market's format, or has complex numbers where PETSc has real ones.
    """
    from scipy import io, sparse

    def read(path: str) -> Any:
        found = io.mmread(path)
        return found.tocsr() if sparse.issparse(found) else found

    found = read_by(file, read)
    if np.iscomplexobj(found) and not complex_numbers:
        raise DataError(
            f"{file}: complex numbers, but this PETSc has real ones; use a PETSc that is "
            "configured with complex numbers."
        )
    return found if np.iscomplexobj(found) else found.astype(np.float64)


def matrix_in(file: Path, *, complex_numbers: bool) -> Any:
    """Return a sparse, square matrix of PETSc's numbers; raises a DataError if it is none."""
    matrix = read_market(file, complex_numbers=complex_numbers)
    if isinstance(matrix, np.ndarray):
        raise DataError(f"{file}: a dense matrix ('array'); only 'coordinate' is read.")
    rows, columns = matrix.shape
    if rows != columns:
        raise DataError(
            f"{file}: {rows:,} rows and {columns:,} columns; solvers need a square one."
        )
    matrix.sort_indices()
    return matrix


def read_rows(
    file: Path, PETSc: Any, communicator: Any, *, complex_numbers: bool
) -> tuple[Rows, int]:
    """Read the rows that this rank owns, and how many there are; collective.

    The first rank holds the whole matrix. Entries that are given twice are added.

    Raises
    ------
    DataError
        On all ranks, if the file is wrong.
    """
    comm = communicator.tompi4py()

    def read() -> Any:
        return None if comm.rank else matrix_in(file, complex_numbers=complex_numbers)

    whole = on_all(comm, read)
    size = comm.bcast(None if whole is None else whole.shape[0])
    own = own_rows(size, PETSc, communicator)
    owned = comm.allgather(own)
    if whole is None:
        starts, columns, values = comm.recv(), comm.recv(), comm.recv()
        return (starts, columns, values), size
    for rank, (first, last) in enumerate(owned[1:], 1):
        for part in rows_of(whole, first, last):
            comm.send(part, rank)
    return rows_of(whole, *own), size


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
