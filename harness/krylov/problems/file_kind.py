"""What a file is by its content, whatever its name says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from hindmost.errors import DataError
from hindmost.files import open_regular

MATRIX_ID, VECTOR_ID = 1211216, 1211214
"""Numbers that begin PETSc's binary files."""
MARKET_BEGIN, GZIP_BEGIN = b"%%MatrixMarket", b"\x1f\x8b"
CONTENTS = (
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"BZh", "compressed with bzip2"),
    (0, b"\xfd7zXZ", "compressed with xz"),
    (0, b"(\xb5/\xfd", "compressed with zstd"),
    (0, b"MATLAB 5.0", "a MATLAB file"),
    (0, b"\x7fELF", "a program"),
    (0, b"<!doctype", "an HTML page"),
    (0, b"<html", "an HTML page"),
    (0, b"%pdf", "a PDF"),
    (257, b"ustar", "a tar archive"),
)
"""Where what stands in files that are given by mistake, in lower case where case is free."""
HEAD_BYTES = 512
SUFFIXES = (".mtx", ".gz")
"""Ends of names of Matrix Market files."""
Kind = Literal["matrix", "vector", "market"]
"""PETSc's binary format, of a matrix or a vector, or Matrix Market, compressed or not."""


def kind_of(file: Path) -> Kind:
    """Return what a file is.

    Raises
    ------
    DataError
        It is none of these; the message says what it is, and what its name says.
    """
    try:
        with open_regular(file) as opened:
            head = opened.read(HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if head.startswith((MARKET_BEGIN, GZIP_BEGIN)):
        return "market"
    numbers = {int.from_bytes(head[:width], "big") for width in (4, 8)}
    if MATRIX_ID in numbers:
        return "matrix"
    if VECTOR_ID in numbers:
        return "vector"
    named, found = file.suffix in SUFFIXES, content_of(head)
    raise DataError(
        f"{file}: neither a matrix in PETSc's binary format nor a Matrix Market file (which begins "
        f"with {MARKET_BEGIN.decode()}){', though its name says so' if named else ''}."
        f"{f' It is {found}.' if found else ''}"
    )


def content_of(head: bytes) -> str:
    """Return what a file is that begins like this; empty if that is not known."""
    if not head.strip(b"\0"):
        return "only zeros" if head else "empty"
    for at, begin, what in CONTENTS:
        if begin in (part := head[at : at + len(begin)], part.lower()):
            return what
    return ""
