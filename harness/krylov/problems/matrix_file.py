"""A matrix from a file: PETSc's binary format and Matrix Market, each rank with its rows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.files import open_regular
from hindmost.harness.krylov.problems import market
from hindmost.harness.krylov.problems.problem import (
    LinearSystem,
    Problem,
    SystemRequest,
    matrix_of_csr,
    own_rows,
)
from hindmost.harness.rank_failures import on_root
from hindmost.harness.runfile.contents import Json

MATRIX_ID, VECTOR_ID = 1211216, 1211214
"""Numbers that begin PETSc's binary files."""


def check(request: SystemRequest) -> None:
    """Raise a UsageError if there is no file."""
    if request.file is None:
        raise UsageError(
            "'matrix' needs a file: hindmost run matrix FILE, in PETSc's binary format or Matrix "
            "Market (.mtx, .mtx.gz)."
        )
    for path in (request.file, request.right_side):
        if path is not None and not path.is_file():
            raise UsageError(f"{path}: no such file.")


def build(request: SystemRequest, PETSc: Any, communicator: Any) -> LinearSystem:
    """Read a system; collective. Without a right side, b is A times ones."""
    file = request.file
    assert file is not None  # as `check` saw
    comm = communicator.tompi4py()
    facts = on_root(comm, lambda: facts_of(file, request.right_side, PETSc))
    if facts["format"] == "petsc":
        matrix = load(PETSc.Mat().create(comm=communicator), file, PETSc, communicator)
    else:
        header = on_root(comm, lambda: market.read_header(file))
        first, last = own_rows(header.rows, PETSc, communicator)
        rows = market.read_rows(file, header, (first, last), comm)
        matrix = matrix_of_csr(rows, header.rows, PETSc, communicator)
    count, columns = (int(each) for each in matrix.getSize())
    if count != columns:
        raise DataError(f"{file}: {count:,} rows and {columns:,} columns; solvers need as many.")
    if count < comm.size:
        raise UsageError(
            f"{file}: {count:,} rows on {comm.size} ranks: every rank needs at least one."
        )
    check_finite(file, matrix.getValuesCSR()[2], comm)
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
    """Return format and checksums of the files, after a look at what PETSc would not refuse."""
    kind = format_of(file)
    if kind == "petsc":
        check_petsc(file, PETSc)
    facts: Json = {"format": kind, "sha256": sha256_of(file)}
    if right_side is not None:
        facts["right_side_sha256"] = sha256_of(right_side)
    return facts


def format_of(file: Path) -> str:
    """Return ``petsc`` or ``market``.

    Raises
    ------
    DataError
        The file is neither.
    """
    try:
        with open_regular(file) as opened:
            head = opened.read(16)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if head.startswith((b"%%MatrixMarket", b"\x1f\x8b")):
        return "market"
    if int.from_bytes(head[:4], "big") == MATRIX_ID or int.from_bytes(head[:8], "big") == MATRIX_ID:
        return "petsc"
    raise DataError(
        f"{file}: neither a matrix in PETSc's binary format nor a Matrix Market file (which begins "
        "with %%MatrixMarket)."
    )


def check_petsc(file: Path, PETSc: Any) -> None:
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
        f"has {index} and {scalar}"
        f"{' (a complex matrix for a real PETSc?)' if number == 2 * scalar else ''}; use a PETSc "
        "of the same configuration, or write the matrix as Matrix Market."
    )


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
    if on_root(comm, lambda: is_petsc_vector(file, rows, PETSc)):
        load(vector, file, PETSc, communicator)
    else:
        values = on_root(comm, lambda: market.read_column(file, rows))
        first, last = vector.getOwnershipRange()
        vector.setArray(values[first:last])
    check_finite(file, vector.getArray(readonly=True), comm)
    return vector


def is_petsc_vector(file: Path, rows: int, PETSc: Any) -> bool:
    """Tell whether a file is in PETSc's binary format, and refuse vectors of another length."""
    width = np.dtype(PETSc.IntType).itemsize
    with open_regular(file) as opened:
        head = opened.read(2 * width)
    if int.from_bytes(head[:width], "big") != VECTOR_ID:
        return False
    length = int.from_bytes(head[width:], "big", signed=True)
    expected = 2 * width + np.dtype(PETSc.ScalarType).itemsize * rows
    if length != rows or file.stat().st_size != expected:
        raise DataError(
            f"{file}: {length:,} numbers in {file.stat().st_size:,} bytes; a matrix with {rows:,} "
            f"rows needs as many numbers, in {expected:,} bytes."
        )
    return True


def check_finite(file: Path, values: NDArray[Any], communicator: Any) -> None:
    """Raise a DataError on all ranks if any of them has a NaN or an infinity; collective."""
    if not all(communicator.allgather(bool(np.isfinite(values).all()))):
        raise DataError(f"{file}: an entry is not a finite number.")


MATRIX = Problem(
    name="matrix",
    summary="a matrix from FILE: PETSc binary or Matrix Market (.mtx, .mtx.gz); --rhs FILE",
    preconditioner="jacobi",
    build=build,
    settings=("FILE", "--rhs"),
    check=check,
)
