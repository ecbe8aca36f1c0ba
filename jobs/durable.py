"""Files that survive a power cut, and locks: what a study's folder is kept with."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.runfile.disk import sync_folder

PART = ".part-"
"""Begin of the name of what is not finished."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What a system says when there is no room on the disk or in a quota."""
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""What a file system says that has no locks, as Lustre without its option flock."""


def write_durably(path: Path, text: str | bytes) -> None:
    """Write a file so that it is there whole or as it was before, even after a power cut."""
    part = path.with_name(f"{PART}{path.name}")  # one process writes at a time: it holds a lock
    try:
        with part.open("wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def append_durably(path: Path, line: str) -> None:
    """Append a line, on a line of its own even where an earlier one was cut off."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, (("\n" if torn else "") + line + "\n").encode())
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, who: str, *, patience_s: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a file.

    Parameters
    ----------
    who : str
        What to tell a person when another process holds it.
    patience_s : float
        How long to try: `is_locked` holds it for a moment.

    Yields
    ------
    bool
        False where the file system has no locks: the work goes on without.

    Raises
    ------
    UsageError
        Another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        yield take(handle, who, time.monotonic() + patience_s)
    finally:
        os.close(handle)  # the kernel lets go of the lock, as it does when a process dies


def take(handle: int, who: str, until: float) -> bool:
    """Take the lock of an open file; False where the file system has none."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise UsageError(who) from None
            time.sleep(0.05)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
        else:
            return True


def is_locked(path: Path) -> bool:
    """Tell whether another process holds the lock of a file."""
    try:
        with locked(path, ""):
            return False
    except UsageError:
        return True
    except OSError:
        return False
