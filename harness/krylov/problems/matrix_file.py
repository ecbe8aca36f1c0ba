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
from hindmost.harness.krylov.problems.petsc_binary import check_matrix, is_vector, kind_of
from hindmost.harness.krylov.problems.problem import (
    LinearSystem,
    Problem,
    SystemRequest,
    matrix_of_csr,
    own_rows,
)
from hindmost.harness.petsc import is_complex
from hindmost.harness.rank_failures import on_root
from hindmost.harness.runfile.attributes import Json


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
        size = on_root(comm, lambda: market.rows_in(file, complex_numbers=numbers))
        rows = market.read_rows(file, own_rows(size, PETSc, communicator), comm)
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
        values = on_root(comm, lambda: market.read_column(file, rows, complex_numbers=numbers))
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


MATRIX = Problem(
    name="matrix",
    summary="a matrix from FILE: PETSc binary or Matrix Market (.mtx, .mtx.gz); --rhs FILE",
    preconditioner="jacobi",
    build=build,
    settings=("FILE", "--rhs"),
    check=check,
)
