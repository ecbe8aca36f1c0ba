"""The live feed of a run: an append-only file of JSON lines, read while it is written.

The first line is the head. For every solve or loop follow a ``solve`` line, ``frame`` lines and a
``done`` line; the last line is ``end``. Times are integer nanoseconds. The writer locks the file
until its process ends, so that a reader can distinguish a killed run from a slow one.
"""

from __future__ import annotations

import fcntl
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, NotARunFileError, UnknownSchemaError
from hindmost.files import matching, open_regular, read_text, write_atomically
from hindmost.harness.runfile.feed_lines import LINES, SCHEMA, VERSION, parsed

SUFFIX = ".live.jsonl"
CONTROL_SUFFIX = ".control"
PERIODS_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between frames that a viewer may choose; 0 depends on the duration of the solve."""
EXTREMA = ("most-work", "least-wait", "most-wait", "most-halo", "longest-iteration")
"""The criteria of extreme ranks, in the order of a frame's ``extrema``."""
WORK = "work"
"""The metric of all time but halo, wait and post; other ranks wait for the rank with most."""
MOST_LINE = 1 << 16
MOST_READ = 1 << 22
LEAST_NS = 256
BINS_AN_OCTAVE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHead:
    """The first line of a feed.

    Attributes
    ----------
    workload : str
    ranks, columns : int
        Ranks, and columns of the heat map row that they share.
    runs : int
        Number of solves or loops of the run.
    phases, metrics : tuple of str
        In the order of frames and of control.
    began_utc, host : str
        Of rank 0.
    hosts : int
    extrema : tuple of str
        Criteria of extreme ranks.
    periods_s : tuple of float
        Seconds between frames that a viewer may choose.
    least_ns, bins_an_octave : int
        Bins of times: the first edge, and bins per octave; see `bin_edges_ns`.
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
    extrema: tuple[str, ...] = EXTREMA
    periods_s: tuple[float, ...] = PERIODS_S
    least_ns: int = LEAST_NS
    bins_an_octave: int = BINS_AN_OCTAVE

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> FeedHead:
        """Return the head that a valid line gives."""
        given = {name: line[name] for name in cls.__slots__ if name in LINES["head"]}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        return cls(**values)

    def line(self) -> dict[str, Any]:
        """Return the line of the feed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {"kind": "head", "schema": SCHEMA, "version": VERSION, **fields}


def bin_edges_ns(first: int, count: int) -> list[float]:
    """Return the edges of bins of times: four equal parts per octave."""
    edges = []
    for number in range(first, first + count + 1):
        octave, part = divmod(number, BINS_AN_OCTAVE)
        edges.append(LEAST_NS * 2.0**octave * (1.0 + part / BINS_AN_OCTAVE))
    return edges


class FeedReader:
    """Reads a feed from its start, and new lines at every call.

    Attributes
    ----------
    skipped : int
        Number of invalid lines, as a full disk leaves them.

    Parameters
    ----------
    path : Path

    Raises
    ------
    NotARunFileError
        It is not a feed.
    UnknownSchemaError
        It was written by a newer hindmost.
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
        self._known = lines[0]
        if lines[0].get("version") != VERSION:
            self.close()
            raise UnknownSchemaError(
                f"{path} is a live feed of version {lines[0].get('version')}; this hindmost "
                f"reads {VERSION}. Update hindmost."
            )
        self.head = FeedHead.of(lines[0])

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
        """Tell whether a process is writing the feed; None if the file system has no locks."""
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
    """Return the feed for a path: itself, the newest of a folder, or that of a run file.

    Raises
    ------
    DataError
        No feed was found.
    """
    if path.name.endswith(SUFFIX):
        return path
    folder = path if path.is_dir() else path.parent
    try:
        files = [each for each in matching(folder, f"*{SUFFIX}") if each.is_file()]
    except FileNotFoundError:
        files = []
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    feeds = sorted(files, key=lambda each: each.stat().st_mtime_ns)
    if not path.is_dir():
        feeds = [each for each in feeds if names(each, path.name.removesuffix(".part"))]
    if not feeds:
        there = "" if path.exists() else "no such file or folder, and "
        raise DataError(
            f"{path}: {there}no live feed (*{SUFFIX}) found; start the run with --live."
        )
    return feeds[-1]


def names(feed: Path, run: str) -> bool:
    """Tell whether a feed mentions a run file."""
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
    """Return the file by which a viewer controls a run."""
    return feed.with_name(feed.name + CONTROL_SUFFIX)


def write_control(feed: Path, head: FeedHead, period_s: float, metric: str) -> None:
    """Request another frame rate and metric from the run, atomically.

    Parameters
    ----------
    head : FeedHead
        The feed's first line, which contains the choices.

    Raises
    ------
    DataError
        The value is not a choice, or the file cannot be written.
    """
    periods, metrics = head.periods_s, head.metrics
    if period_s not in periods or metric not in metrics:
        raise DataError(
            f"Period {period_s!r}, metric {metric!r}: choose from {list(periods)} and "
            f"{list(metrics)}."
        )
    path = control_file(feed)
    try:
        write_atomically(path, f"{periods.index(period_s)} {metrics.index(metric)}\n", mode=0o600)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from error
