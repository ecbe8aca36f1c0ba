"""Durable files and locks in the folder of a study."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.files import write_atomically

PART = ".part-"
"""Prefix of the names of unfinished files."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a full disk or quota."""
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""Errors of a file system without locks, such as Lustre without its option flock."""


def write_durably(path: Path, text: str | bytes) -> None:
    """Write a file whole, or leave it as it was, even after a power cut."""
    # One process writes at a time, protected by a lock; the next one removes what it left.
    write_atomically(path, text, part=path.with_name(f"{PART}{path.name}"))


@contextmanager
def locked(path: Path, who: str, *, patience_s: float = 0.0) -> Iterator[bool]:
    """Hold the lock of a file.

    Parameters
    ----------
    who : str
        The message when another process holds it.
    patience_s : float
        How long to try; `is_locked` holds the lock for a moment.

    Yields
    ------
    bool
        False if the file system has no locks; the work goes on without one.

    Raises
    ------
    UsageError
        Another process holds it.
    """
    until = time.monotonic() + patience_s
    with path.open("ab") as file:  # closing it releases the lock, as the kernel does after a kill
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise UsageError(who) from None
                time.sleep(0.05)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                held = False
                break
        yield held


def is_locked(path: Path) -> bool:
    """Tell whether another process holds the lock of a file."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
    return False
