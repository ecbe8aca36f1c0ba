"""The SHA-256 of a run file, appended after HDF5's own end.

HDF5 and its tools ignore everything after the end that the file's superblock states. Damaged files
can crash or hang libhdf5, so the checksum is verified before libhdf5 sees the file.

All cores can verify a large file, because the checksum is one of checksums: the SHA-256 of the
SHA-256 (32 bytes each) of every 16 MiB of the file.
"""

from __future__ import annotations

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hindmost.errors import DamagedFileError, DataError, NotARunFileError
from hindmost.files import open_regular

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
LABEL = b"\nhindmost sha-256 of 16 MiB sums "
TRAILER = re.compile(re.escape(LABEL) + rb"([0-9a-f]{64})\n")
TRAILER_LENGTH = len(LABEL) + 64 + 1
BLOCK_BYTES = 16 << 20


def append_checksum(path: Path) -> None:
    """Append the checksum to a file that HDF5 has closed, and sync it to disk."""
    with path.open("r+b") as file:
        digest = digest_of(file.fileno(), os.fstat(file.fileno()).st_size)
        file.seek(0, os.SEEK_END)
        file.write(LABEL + digest.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def verify_checksum(path: Path) -> str:
    """Verify that a file is unchanged since it was written, without HDF5.

    Returns
    -------
    str
        The checksum of the file's HDF5 part, in hexadecimal.

    Raises
    ------
    NotARunFileError
        Not a file of hindmost.
    DamagedFileError
        Truncated or changed.
    """
    if path.name.endswith(".part") and path.is_file():
        raise DamagedFileError(no_checksum(path))
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(len(HDF5_SIGNATURE)) != HDF5_SIGNATURE:
                raise NotARunFileError(
                    f"{path} is not a run file: it is not HDF5. "
                    "Run files end in .h5; 'hindmost run', 'hindmost attach' and hindmost.record "
                    "write them. 'hindmost scale', 'hindmost show --ranks' and 'hindmost history' "
                    "read files of other tools."
                )
            file.seek(max(0, size - TRAILER_LENGTH))
            trailer = TRAILER.fullmatch(file.read(TRAILER_LENGTH))
            if trailer is None:
                raise DamagedFileError(no_checksum(path))
            digest = digest_of(file.fileno(), size - TRAILER_LENGTH)
    except IsADirectoryError:
        raise NotARunFileError(f"{path} is a folder; name run files inside it.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if digest != trailer[1].decode():
        raise DamagedFileError(
            f"{path} changed after it was written: its checksum is {digest[:12]}..., it was "
            f"{trailer[1].decode()[:12]}.... Use an intact copy, or see what is left with "
            "'hindmost show --damaged'."
        )
    return digest


def no_checksum(path: Path) -> str:
    """Say why a file has no checksum."""
    if path.name.endswith(".part"):
        return (
            f"{path} is unfinished: the run was still writing it, or ended before. Wait, or run "
            "again."
        )
    return (
        f"{path} is HDF5 but does not end in hindmost's checksum: it was truncated, changed by "
        "another program, or is not a run file. Use an intact copy, or see what is left with "
        "'hindmost show --damaged'."
    )


def digest_of(file: int, length: int) -> str:
    """Return the checksum of the first bytes of an open file, in hexadecimal."""

    def block_digest(first: int) -> bytes:
        return hashlib.sha256(os.pread(file, min(BLOCK_BYTES, length - first), first)).digest()

    if length <= BLOCK_BYTES:
        return hashlib.sha256(block_digest(0) if length else b"").hexdigest()
    with ThreadPoolExecutor() as pool:
        sums = pool.map(block_digest, range(0, length, BLOCK_BYTES))
        return hashlib.sha256(b"".join(sums)).hexdigest()
