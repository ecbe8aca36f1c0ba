"""Matrix Market files, read by all ranks together: each parses a part, and no rank holds all.

The format is that of R. Boisvert, R. Pozo and K. Remington, "The Matrix Market exchange formats",
NISTIR 5935, 1996.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.files import open_regular
from hindmost.harness.krylov.problems.file_kind import GZIP_BEGIN, content_of
from hindmost.harness.krylov.problems.problem import Rows
from hindmost.harness.rank_failures import on_all
from hindmost.text import counted

BLOCK_BYTES = 1 << 22
"""Text that a rank parses at once; with gzip, blocks are dealt out to the ranks in turn."""
LONGEST_LINE = 1 << 12
LONGEST_NUMBER = 1 << 7
MOST_COMMENTS = 1 << 20
"""Bytes of comments before the sizes."""
LEAST_ENTRY_BYTES = 4
"""Of ``1 1`` and the end of the line."""
MOST_PACKED = 1100
"""Bytes that gzip can make of one, at most."""
UNREADABLE = (OSError, EOFError, zlib.error)
FIELDS = {"real": 1, "double": 1, "integer": 1, "complex": 2, "pattern": 0}
"""Numbers that give the value of an entry; those of a pattern are 1."""
SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0, "hermitian": 1.0}
"""What an entry is multiplied by at its mirrored place, where Hermitian ones are conjugated."""
Values = NDArray[np.float64] | NDArray[np.complex128]
Entries = tuple[NDArray[np.int64], NDArray[np.int64], Values]
"""Rows, columns, values, each of shape (entry,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketHeader:
    """What a coordinate file says of itself.

    Attributes
    ----------
    rows, columns, entries : int
    field : str
        See `FIELDS`.
    mirrored : float
        0 for general matrices; else the factor of the entry at the mirrored place.
    conjugated : bool
        Whether that entry is the conjugate.
    begin : int
        Where the entries begin, bytes of the uncompressed text.
    """

    rows: int
    columns: int
    entries: int
    field: str
    mirrored: float
    conjugated: bool
    begin: int


@contextmanager
def open_text(file: Path) -> Iterator[BinaryIO]:
    """Open a file, or what a gzip file holds, for reading bytes."""
    with open_regular(file) as opened:
        magic = opened.read(2)
        opened.seek(0)
        if magic == GZIP_BEGIN:
            with gzip.GzipFile(fileobj=opened) as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            yield opened


def is_compressed(file: Path) -> bool:
    """Tell whether a file is compressed with gzip."""
    with open_regular(file) as opened:
        return opened.read(2) == GZIP_BEGIN


def read_head(file: Path) -> tuple[list[str], list[int], int]:
    """Return the words of the banner, the numbers of the size line, and where that ends."""
    try:
        with open_text(file) as opened:
            text = opened.read(MOST_COMMENTS)
    except UNREADABLE as error:
        raise DataError(f"{file} cannot be read: {error}.") from error
    at = 0
    banner: list[str] = []
    while at < len(text):
        end = text.find(b"\n", at)
        if end < 0:
            break
        line = text[at:end].decode("latin-1").strip()
        at = end + 1
        if not banner:
            banner = line.lower().split()
            if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
                found = content_of(text)
                raise DataError(
                    f"{file}: its first line is not '%%MatrixMarket matrix FORMAT FIELD SYMMETRY'."
                    f"{f' It is {found}.' if found else ''}"
                )
        elif line and not line.startswith("%"):
            try:
                return banner, [int(word) for word in line.split()], at
            except ValueError:
                break
    raise DataError(f"{file}: no line with the sizes within its first {len(text):,} bytes.")


def refuse_complex(file: Path, field: str, symmetry: str, complex_numbers: bool) -> None:
    """Raise a DataError for complex numbers where PETSc has real ones."""
    if not complex_numbers and (field == "complex" or symmetry == "hermitian"):
        raise DataError(
            f"{file}: complex numbers ('{field} {symmetry}'), but this PETSc has real ones; use a "
            "PETSc that is configured with complex numbers."
        )


def read_header(file: Path, *, complex_numbers: bool = False) -> MarketHeader:
    """Read banner and sizes of a sparse matrix.

    Parameters
    ----------
    complex_numbers : bool
        Whether PETSc's numbers are complex.

    Raises
    ------
    DataError
        Not a sparse matrix of PETSc's numbers in Matrix Market's format.
    """
    (_, _, layout, field, symmetry), numbers, begin = read_head(file)
    if layout != "coordinate":
        raise DataError(f"{file}: a dense matrix ('{layout}'); only 'coordinate' is read.")
    if field not in FIELDS or symmetry not in SYMMETRIES:
        raise DataError(
            f"{file}: '{field} {symmetry}'; read are {', '.join(FIELDS)} and "
            f"{', '.join(SYMMETRIES)}."
        )
    refuse_complex(file, field, symmetry, complex_numbers)
    if len(numbers) != 3 or min(numbers) < 0:
        raise DataError(f"{file}: the line with the sizes needs rows, columns and entries.")
    rows, columns, entries = numbers
    if rows != columns:
        raise DataError(
            f"{file}: {rows:,} rows and {columns:,} columns; solvers need a square one."
        )
    mirrored = SYMMETRIES[symmetry]
    # Memory is taken by the number of rows, which nothing but the length of the file can confirm.
    if rows > entries * (2 if mirrored else 1):
        raise DataError(
            f"{file}: {rows:,} rows but {counted(entries, 'entry')}, so some row is empty and the "
            "matrix is singular."
        )
    length = file.stat().st_size * (MOST_PACKED if is_compressed(file) else 1)
    if entries * LEAST_ENTRY_BYTES > length + 1:
        raise DataError(f"{file}: too short for the {entries:,} entries that it announces.")
    return MarketHeader(
        rows=rows,
        columns=columns,
        entries=entries,
        field=field,
        mirrored=mirrored,
        conjugated=symmetry == "hermitian",
        begin=begin,
    )


def read_column(file: Path, rows: int, *, complex_numbers: bool = False) -> Values:
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
    (_, _, layout, field, symmetry), numbers, begin = read_head(file)
    if layout != "array" or not FIELDS.get(field) or len(numbers) != 2 or numbers[1] != 1:
        raise DataError(f"{file}: not a dense column of numbers ('array', rows, 1).")
    refuse_complex(file, field, symmetry, complex_numbers)
    if numbers[0] != rows:
        raise DataError(f"{file}: {numbers[0]:,} numbers for a matrix with {rows:,} rows.")
    try:
        with open_text(file) as opened:
            opened.seek(begin)
            text = opened.read(rows * FIELDS[field] * LONGEST_NUMBER)
    except UNREADABLE as error:
        raise DataError(f"{file} cannot be read: {error}.") from error
    values = values_of(parse(file, text, FIELDS[field]))
    if values.size != rows:
        raise DataError(f"{file}: {values.size:,} numbers where {rows:,} are announced.")
    return values


def read_rows(file: Path, header: MarketHeader, own: tuple[int, int], communicator: Any) -> Rows:
    """Read the rows that this rank owns; collective.

    Parameters
    ----------
    own : tuple of int
        First row and the one after the last.
    communicator : mpi4py.MPI.Comm

    Raises
    ------
    DataError
        On all ranks, if any finds the file wrong.
    """
    mine = on_all(communicator, lambda: read_part(file, header, communicator))
    found = communicator.allreduce(mine[0].size)
    if found != header.entries:
        raise DataError(f"{file}: {found:,} entries where {header.entries:,} are announced.")
    rows, columns, values = mine
    if header.mirrored:
        off, mirror = rows != columns, np.conj if header.conjugated else np.asarray
        rows, columns, values = (
            np.concatenate([rows, columns[off]]),
            np.concatenate([columns, rows[off]]),
            np.concatenate([values, header.mirrored * mirror(values[off])]),
        )
    rows, columns, values = to_owners((rows, columns, values), own, communicator)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order] - own[0], columns[order], values[order]
    if rows.size:  # entries that are given twice are added
        new = np.concatenate([[True], (np.diff(rows) != 0) | (np.diff(columns) != 0)])
        values = np.add.reduceat(values, np.flatnonzero(new))
        rows, columns = rows[new], columns[new]
    starts = np.searchsorted(rows, np.arange(own[1] - own[0] + 1))
    return starts, columns, values


def read_part(file: Path, header: MarketHeader, communicator: Any) -> Entries:
    """Parse this rank's share of a file."""
    width = 2 + FIELDS[header.field]
    parts = [np.empty((0, width))]
    try:
        parts += [parse(file, text, width) for text in share(file, header.begin, communicator)]
    except UNREADABLE as error:
        raise DataError(f"{file} cannot be read: {error}.") from error
    table = np.concatenate(parts)
    place = table[:, :2]
    if table.size and not (
        (place == np.floor(place)).all() and place.min() >= 1 and (place <= header.rows).all()
    ):
        raise DataError(f"{file}: rows and columns must be whole numbers from 1 to {header.rows}.")
    values = values_of(table[:, 2:])
    return place[:, 0].astype(np.int64) - 1, place[:, 1].astype(np.int64) - 1, values


def values_of(table: NDArray[np.float64]) -> Values:
    """Return the values that lines give by no number (they are 1), one, or two.

    Parameters
    ----------
    table : float64 array, shape (entry, number)
    """
    if table.shape[1] == 0:
        return np.ones(len(table))
    return table[:, 0].copy() if table.shape[1] == 1 else table[:, 0] + 1j * table[:, 1]


def share(file: Path, begin: int, communicator: Any) -> Iterator[bytes]:
    """Give whole lines of this rank's share of a file, in blocks.

    Of a plain file it is a stretch of bytes: a line belongs to the rank in whose stretch it begins.
    Compressed files are read through by every rank, which takes every so many blocks.
    """
    if is_compressed(file):
        with open_text(file) as opened:
            opened.seek(begin)
            rest = b""
            number = 0
            while block := opened.read(BLOCK_BYTES):
                whole, newline, left = (rest + block).rpartition(b"\n")
                rest = left
                if newline:
                    if number % communicator.size == communicator.rank:
                        yield whole
                    number += 1
            if rest and number % communicator.size == communicator.rank:
                yield rest
        return
    with open_regular(file) as opened:
        size = opened.seek(0, io.SEEK_END) - begin
        borders = [
            begin + size * rank // communicator.size for rank in range(communicator.size + 1)
        ]
        first, last = borders[communicator.rank : communicator.rank + 2]
        # One byte earlier: if a line ends there, the next one is mine.
        opened.seek(max(first - 1, begin))
        lines = io.BufferedReader(cast("io.RawIOBase", opened), BLOCK_BYTES)
        at = first if first == begin else first - 1 + len(lines.readline(LONGEST_LINE))
        while at < last:
            block = lines.read(min(BLOCK_BYTES, last - at))
            if not block:
                break
            if not block.endswith(b"\n"):
                block += lines.readline(LONGEST_LINE)
            at += len(block)
            yield block


def parse(file: Path, text: bytes, width: int) -> NDArray[np.float64]:
    """Return lines of numbers: float64 array, shape (line, width)."""
    if not text.strip():
        return np.empty((0, width))
    try:
        table = np.loadtxt(io.BytesIO(text), comments="%", ndmin=2)
    except ValueError as error:
        raise DataError(f"{file}: {error}.") from error
    if table.size and table.shape[1] != width:
        raise DataError(f"{file}: {table.shape[1]} numbers in a line; {width} are expected.")
    return table.reshape(-1, width)


def to_owners(entries: Entries, own: tuple[int, int], communicator: Any) -> Entries:
    """Send entries to the ranks that own their rows; collective."""
    borders = np.array([first for first, _ in communicator.allgather(own)])
    owner = np.searchsorted(borders, entries[0], side="right") - 1
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=communicator.size)
    arriving = np.array(communicator.alltoall(counts.tolist()))

    def sent(values: NDArray[Any]) -> NDArray[Any]:
        here = np.ascontiguousarray(values[order])
        there = np.empty(int(arriving.sum()), here.dtype)
        communicator.Alltoallv([here, counts], [there, arriving])
        return there

    return sent(entries[0]), sent(entries[1]), sent(entries[2])
