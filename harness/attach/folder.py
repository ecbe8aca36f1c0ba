"""A raw folder while it is converted: locked, with a journal, and removed at the end."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import append_line, read_text, write_atomically
from hindmost.harness.attach.raw import PATTERN, RawProgram
from hindmost.parsing import is_plain_name, parse_json
from hindmost.printable import one_line, shell_word
from hindmost.text import counted

UNUSABLE = "unusable.txt"
"""In a raw folder that cannot be converted: why. Verbs that open the folder above say so once."""
Report = Callable[[str], None]
"""Takes a sentence for the person."""
JOURNAL = "converted.jsonl"
"""In the raw folder: the run files that were written from it."""


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


class Journal:
    """Which run files were written from a raw folder.

    Parameters
    ----------
    path : Path
    out : Path
        Where the run files are.
    """

    def __init__(self, path: Path, out: Path) -> None:
        self._path, self._out = path, out
        self._files: dict[str, str] = {}
        with suppress(OSError, UnicodeDecodeError):
            for line in read_text(path).splitlines():
                with suppress(ValueError):
                    entry = parse_json(line)
                    if isinstance(entry, dict) and isinstance(entry.get("file"), str):
                        self._files[str(entry.get("run"))] = entry["file"]

    def written(self, run: str) -> Path | None:
        """Return the file of a run, None if it has none yet."""
        name = self._files.get(run, "")
        path = self._out / name
        return path if is_plain_name(name) and path.is_file() else None

    def note(self, run: str, path: Path) -> None:
        """Note that a run has a file."""
        append_line(self._path, json.dumps({"run": run, "file": path.name}))


def remove(folder: Path, report: Report) -> None:
    """Remove the files that hindmost wrote to a raw folder, and the folder if it is then empty."""
    try:
        notes = (folder / JOURNAL, folder / UNUSABLE)
        for path in (*folder.glob(PATTERN), *notes):
            path.unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        report(f"{folder} is converted, but cannot be removed: {error.strerror}")
