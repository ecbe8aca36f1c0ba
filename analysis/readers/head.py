"""The first bytes of a file, by which readers recognise its format."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import DataError

HEAD_BYTES = 1 << 16


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
