"""Contents of files: the head that shows the format, and text whose faults have a line."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import open_regular, read_bytes

HEAD_BYTES = 1 << 16


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    try:
        with open_regular(path) as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text, with or without a byte-order mark.

    Raises
    ------
    DataError
        It cannot be read, is empty, or is not UTF-8.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8. "
            "Save the file in this encoding (iconv -t UTF-8)."
        ) from error
    if not text.strip():
        raise DataError(f"{path} is empty; it contains no results.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: a zero byte; this is not a text file.")
    return text


def split_lines(text: str) -> list[str]:
    """Split at the ends of lines only, so that numbers of lines are those of an editor."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def first_line(head: bytes) -> str:
    """Return the first line of a file's first bytes that is neither blank nor a comment."""
    for line in split_lines(head.decode("utf-8-sig", errors="replace")):
        if line.strip() and not line.lstrip().startswith("#"):
            return line.strip()
    return ""
