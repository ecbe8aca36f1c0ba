"""The live feed of a run: an append-only file of JSON lines, read while it is written.

The first line is the head; then, for every solve or loop, a ``solve`` line, ``frame`` lines and a
``done`` line; an ``end`` line is the last. Times are whole nanoseconds. The writer holds a lock on
the file as long as it lives, so that a reader can tell a run that was killed from a slow one.
"""

from __future__ import annotations

import fcntl
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, NotARunFileError, UnknownSchemaError
from hindmost.files import open_regular, read_text, write_whole
from hindmost.harness.runfile.feed_lines import SCHEMA, VERSION, parsed

SUFFIX = ".live.jsonl"
CONTROL_SUFFIX = ".control"
PERIODS_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between frames that a viewer may choose; 0: chosen by how long the solve has gone on."""
EXTREMA = ("most-work", "least-wait", "most-wait", "most-halo", "longest-iteration")
"""What ranks are extreme in, in the order of a frame's ``extrema``."""
WORK = "work"
"""The metric that is all time but halo, wait and post: a rank that has most of it is waited for."""
MOST_LINE = 1 << 16
MOST_READ = 1 << 22
LEAST_NS = 256
BINS_AN_OCTAVE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHead:
    """What the first line of a feed says.

    Attributes
    ----------
    workload : str
    ranks, columns : int
        Ranks, and columns of the heat row that they share.
    runs : int
        Solves or loops that the run is to have.
    phases, metrics : tuple of str
        In the order of frames and of control.
    began_utc, host : str
        Of rank 0.
    hosts : int
    """

    workload: str
    ranks: int
    columns: int
    runs: int
    phases: tuple[str, ...]
    metrics: tuple[str, ...]
    began_utc: str
    host: str
    hosts: int

    def line(self) -> dict[str, Any]:
        """Return the line of the feed."""
        return {
            "kind": "head",
            "schema": SCHEMA,
            "version": VERSION,
            **{name: getattr(self, name) for name in self.__slots__},
            "extrema": EXTREMA,
            "periods_s": PERIODS_S,
            "least_ns": LEAST_NS,
            "bins_an_octave": BINS_AN_OCTAVE,
        }


def bin_edges_ns(first: int, count: int) -> list[float]:
    """Return the edges of bins of times: four an octave, equal parts of it."""
    edges = []
    for number in range(first, first + count + 1):
        octave, part = divmod(number, BINS_AN_OCTAVE)
        edges.append(LEAST_NS * 2.0**octave * (1.0 + part / BINS_AN_OCTAVE))
    return edges


class FeedReader:
    """Reads a feed from its begin, and what is added whenever it is asked.

    Attributes
    ----------
    skipped : int
        Lines that were no JSON of a feed: torn ones of a disk that was full.

    Parameters
    ----------
    path : Path

    Raises
    ------
    NotARunFileError
        It is no feed.
    UnknownSchemaError
        A newer hindmost wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0
        self._rest = b""
        self._whole: deque[bytes] = deque()
        self._known: dict[str, Any] | None = None
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}.") from error
        lines = self.read_lines(1)
        if not lines or lines[0].get("schema") != SCHEMA:
            self.close()
            raise NotARunFileError(
                f"{path} is not a live feed; 'hindmost run --live' writes one, NAME{SUFFIX}."
            )
        self.head = self._known = lines[0]
        if self.head.get("version") != VERSION:
            self.close()
            raise UnknownSchemaError(
                f"{path} is a live feed of version {self.head.get('version')}; this hindmost "
                f"reads {VERSION}. Update hindmost."
            )

    def read_lines(self, most: int = 0) -> list[dict[str, Any]]:
        """Return lines completed since the last call, up to a maximum."""
        lines: list[dict[str, Any]] = []
        while True:
            *whole, self._rest = self._rest.split(b"\n")
            self._whole.extend(whole)
            while self._whole and not (most and len(lines) >= most):
                text = self._whole.popleft()
                if (line := parsed(text, self._known)) is not None:
                    lines.append(line)
                elif text:
                    self.skipped += 1
            if most and len(lines) >= most:
                return lines
            got = self._file.read(MOST_READ)
            if not got:
                return lines
            self._rest += got
            if len(self._rest) > MOST_LINE and b"\n" not in self._rest:
                self._rest = b""
                self.skipped += 1

    def is_written(self) -> bool | None:
        """Tell whether a process holds the feed open for writing; None where locks tell nothing."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return None
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return False

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FeedReader:
        """Return the reader."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()


def find_feed(path: Path) -> Path:
    """Return the feed that a path means: itself, the newest of a folder, or that of a run file.

    Raises
    ------
    DataError
        There is none.
    """
    if path.name.endswith(SUFFIX):
        return path
    folder = path if path.is_dir() else path.parent
    files = [each for each in folder.glob(f"*{SUFFIX}") if each.is_file()]
    feeds = sorted(files, key=lambda each: each.stat().st_mtime_ns)
    if not path.is_dir():
        feeds = [each for each in feeds if names(each, path.name.removesuffix(".part"))]
    if not feeds:
        raise DataError(
            f"{path}: there is no live feed (*{SUFFIX}) of it; start the run with --live."
        )
    return feeds[-1]


def names(feed: Path, run: str) -> bool:
    """Tell whether a feed tells of a run file."""
    try:
        lines = read_text(feed, errors="replace").splitlines()
    except OSError:
        return False
    asked = json.dumps(run).encode()
    return any(
        asked in text and (parsed(text) or {}).get("file") == run
        for text in (line.encode() for line in lines)
    )


def control_file(feed: Path) -> Path:
    """Return the file in which a viewer says what it wants of a run."""
    return feed.with_name(feed.name + CONTROL_SUFFIX)


def write_control(feed: Path, head: dict[str, Any], period_s: float, metric: str) -> None:
    """Ask the run for another rate and metric, whole or not at all.

    Parameters
    ----------
    head : dict
        The feed's first line, which has the lists to choose from.

    Raises
    ------
    DataError
        The value is not in the lists, or the file cannot be written.
    """
    periods: Sequence[float] = head["periods_s"]
    metrics: Sequence[str] = head["metrics"]
    if period_s not in periods or metric not in metrics:
        raise DataError(
            f"Period {period_s!r}, metric {metric!r}: choose from {periods} and {metrics}."
        )
    path = control_file(feed)
    try:
        write_whole(path, f"{periods.index(period_s)} {metrics.index(metric)}\n", mode=0o600)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from error
