"""The SHA-256 of a run file, appended after HDF5's own end.

HDF5 and every tool on top of it ignore what follows the end that the file's superblock names.
Damaged files can crash or hang libhdf5, so the sum is verified before libhdf5 sees the file.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import BinaryIO

from hindmost.errors import DamagedFileError, DataError, NotARunFileError

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
TRAILER = re.compile(rb"\nhindmost sha-256 ([0-9a-f]{64})\n")
TRAILER_LENGTH = 83
BLOCK_BYTES = 1 << 20


def append_checksum(path: Path) -> None:
    """Append the checksum to a file that HDF5 has closed, and see it safe on the disk."""
    with path.open("r+b") as file:
        digest = digest_of(file, path.stat().st_size)
        file.seek(0, os.SEEK_END)
        file.write(b"\nhindmost sha-256 " + digest.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def verify_checksum(path: Path) -> str:
    """Verify that a file is what was written, without HDF5.

    Returns
    -------
    str
        The SHA-256 of the file's HDF5 part, in hexadecimal.

    Raises
    ------
    NotARunFileError
        No file of hindmost.
    DamagedFileError
        Cut off or altered.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if file.read(len(HDF5_SIGNATURE)) != HDF5_SIGNATURE:
                raise NotARunFileError(
                    f"{path} is not a run file: it is not HDF5. "
                    "Run files are written by 'hindmost run' and end in .h5."
                )
            file.seek(max(0, size - TRAILER_LENGTH))
            trailer = TRAILER.fullmatch(file.read())
            if trailer is None:
                raise DamagedFileError(no_checksum(path))
            digest = digest_of(file, size - TRAILER_LENGTH)
    except IsADirectoryError:
        raise NotARunFileError(f"{path} is a folder; name the run files in it.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if digest != trailer[1].decode():
        raise DamagedFileError(
            f"{path} was altered since it was written: its SHA-256 is {digest[:12]}..., "
            f"written was {trailer[1].decode()[:12]}.... Take a good copy of it."
        )
    return digest


def no_checksum(path: Path) -> str:
    """Say why a file has no checksum."""
    if path.name.endswith(".part"):
        return (
            f"{path} is unfinished: its run was still going or was ended before it was written. "
            "It holds no complete run; run again."
        )
    return (
        f"{path} is HDF5 but does not end in hindmost's checksum: it was cut off, changed by "
        "another program, or is no run file. Take a good copy of it."
    )


def digest_of(file: BinaryIO, length: int) -> str:
    """Return the SHA-256 of the first bytes of a file, in hexadecimal."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0 and (block := file.read(min(BLOCK_BYTES, length))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest()
