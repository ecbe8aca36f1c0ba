"""A raw folder while it is converted: locked, and removed at the end."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import read_text, write_atomically
from hindmost.harness.attach.raw import PATTERN, RawProgram
from hindmost.printable import one_line, shell_word
from hindmost.text import counted

UNUSABLE = "unusable.txt"
"""In a raw folder that cannot be converted: why. Verbs that open the folder above say so once."""
Report = Callable[[str], None]
"""Takes a sentence for the person."""


def torn(program: RawProgram) -> Iterator[str]:
    """Say which ranks left less than they recorded."""
    broken = {rank: raw.torn for rank, raw in program.ranks.items() if raw.torn}
    if broken:
        rank, why = next(iter(broken.items()))
        others = f", and of {counted(len(broken) - 1, 'other rank')}" if len(broken) > 1 else ""
        yield f"{program.folder.name}: the records of rank {rank}{others} end early: {why}"
    if len(program.ranks) < program.size:
        missing = program.size - len(program.ranks)
        yield f"{program.folder.name}: {counted(missing, 'rank')} left no file"


class BusyError(DataError):
    """Another process converts the folder."""


class UnusableError(DataError):
    """Nothing in a raw folder can ever become a run file."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(
            f"{folder}: nothing in it can be used. {why} Delete it: rm -r {shell_word(folder)}"
        )


def note_unusable(folder: Path, why: str) -> None:
    """Note why a raw folder cannot be converted, so that verbs do not try again."""
    with suppress(OSError):
        write_atomically(folder / UNUSABLE, f"{why}\n")


def why_unusable(folder: Path) -> str:
    """Return why a raw folder cannot be converted; empty if nobody found so."""
    with suppress(OSError, UnicodeDecodeError):
        return one_line(read_text(folder / UNUSABLE).strip())
    return ""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process convert a folder at a time."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(f"{folder} is being converted by another process.") from None
        except OSError:
            pass  # some file systems have no locks
        yield
    finally:
        os.close(handle)


def remove(folder: Path, report: Report) -> None:
    """Remove the files that hindmost wrote to a raw folder, and the folder if it is then empty."""
    try:
        for path in (*folder.glob(PATTERN), folder / UNUSABLE):
            path.unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        report(f"{folder} is converted, but cannot be removed: {error.strerror}")
