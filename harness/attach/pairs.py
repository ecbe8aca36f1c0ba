"""The page that a rank of a program shares with the process of its node that watches it.

Its layout is that of harness/recorder/pairs.h.
"""

from __future__ import annotations

import mmap
import os
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PAIRS = MARKS = 1 << 14
SIGNALS = 32
HEAD = np.dtype(
    [
        (name, "<i8")
        for name in (
            *("pid", "pairs", "marks", "context", "left_out"),
            *("end_ns", "must_stop", "asks", "borders", "last_end_ns"),
        )
    ]
    + [("phase_ns", "<i8", 4), ("handler", "<i8", SIGNALS), ("raw_file", "S4096")]
)
INSTANT = [("begin_ns", "<i8"), ("written_bytes", "<i8")]
PAIR = np.dtype(
    [
        *(("before", "<u4"), ("after", "<u4"), ("begins", "<u4"), ("border", "<u4")),
        *(
            ("count", "<i8"),
            ("work_ns", "<i8"),
            ("in_mpi_ns", "<i8"),
            *INSTANT,
        ),  # of its first call
    ]
)
MARK = np.dtype([*INSTANT, ("loop", "<i8")])
PAGE_BYTES = HEAD.itemsize + PAIRS * PAIR.itemsize + MARKS * MARK.itemsize
BORDER = 1 << 8
"""Of ``border``: a loop around is begun, entered or left; below it, whose pass begins."""
BY_PROGRAM = 1
"""The loop that the program marks itself, or whose iterations end at a call; others follow."""


class Handler(IntEnum):
    """Who takes a signal that the program is sent."""

    DEFAULT = 0
    IGNORED = 1
    OF_RECORDER = 2
    OF_PROGRAM = 3


class PairsPage:
    """The page, mapped.

    Attributes
    ----------
    head : structured array of `HEAD`, shape (1,)
    pair : structured array of `PAIR`, shape (slot,)
        Free slots have ``after`` 0.
    mark : structured array of `MARK`, shape (slot,)
        A ring of the last iterations that began.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(PAGE_BYTES))
        with path.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        self.head = np.frombuffer(memory, HEAD, 1)
        self.pair = np.frombuffer(memory, PAIR, PAIRS, HEAD.itemsize)
        self.mark = np.frombuffer(memory, MARK, MARKS, HEAD.itemsize + PAIRS * PAIR.itemsize)

    def __getitem__(self, name: str) -> int:
        """Return a number of the head."""
        return int(self.head[name][0])

    def __setitem__(self, name: str, value: int) -> None:
        self.head[name] = value

    @property
    def raw_file(self) -> Path | None:
        """The raw file of the node; None before the recorder has begun."""
        return Path(os.fsdecode(self.head["raw_file"][0])) if self["pid"] else None

    def handler(self, number: int) -> Handler:
        """Return who took a signal when a pair was seen for the first time lately."""
        return Handler(int(self.head["handler"][0][number]))

    def phase_ns(self) -> list[int]:
        """Return the time in calls so far, by phase."""
        found: list[int] = self.head["phase_ns"][0].tolist()
        return found

    def marks_since(self, seen: int, made: int) -> NDArray[np.void]:
        """Return the marks of iterations from one number to another that the ring still has."""
        return np.asarray(self.mark[np.arange(max(seen, made - MARKS), made) % MARKS])

    def begin(self, raw_file: Path) -> None:
        """Begin as the recorder does; for programs in Python."""
        self.head["raw_file"] = os.fsencode(raw_file)
        self["pid"] = os.getpid()

    def mark_iteration(self, begin_ns: int) -> None:
        """Note that the program begins an iteration that it marks; for programs in Python."""
        made = self["marks"]
        self.mark[made % MARKS] = (begin_ns, 0, BY_PROGRAM)
        self["marks"] = made + 1


def map_new_pages(folder: Path, pages: dict[int, PairsPage]) -> None:
    """Add the pages of the ranks in a folder that are not among those by rank."""
    for path in folder.iterdir():
        is_new = path.name.isdecimal() and int(path.name) not in pages
        if is_new and path.stat().st_size == PAGE_BYTES:
            pages[int(path.name)] = PairsPage(path)
