"""The file of a feed, on rank 0: lines of JSON that are appended, one write each."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.files import is_cut_off
from hindmost.harness.runfile.feed import SUFFIX, FeedHead, control_file


class FeedWriter:
    """Writes the lines between frames; frames are written by the recorder, through ``handle``.

    A disk that is full or gone ends the feed, never the run.

    Parameters
    ----------
    path : Path
        Must not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self.handle = os.open(path, flags, 0o644)
        control_file(path).unlink(missing_ok=True)  # of a run that was killed: nobody asks yet
        with suppress(OSError):  # no locks there: readers cannot tell a killed run from a slow one
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @classmethod
    def in_folder(cls, folder: Path, head: FeedHead) -> FeedWriter:
        """Begin the first free ``WORKLOAD-pRANKS-N.live.jsonl`` of a folder with its head.

        Raises
        ------
        UsageError
            No file can be made there.
        """
        for number in count():
            path = folder / f"{head.workload}-p{head.ranks}-{number}{SUFFIX}"
            try:
                writer = cls(path)
            except FileExistsError:
                continue
            except OSError as error:
                raise UsageError(
                    f"--live: {path} cannot be written ({error.strerror}); choose a writable "
                    "folder with --out."
                ) from error
            writer.add(head.line())
            return writer
        raise AssertionError

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line."""
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        with suppress(OSError):
            os.write(self.handle, b"\n" + text if is_cut_off(self.handle) else text)

    def close(self) -> None:
        """Let go of the file, and take away what viewers have asked of it."""
        with suppress(OSError):
            os.close(self.handle)
            control_file(self.path).unlink(missing_ok=True)
