"""The live feed of a run: an append-only file of JSON lines, read while it is written.

The first line is the head. For every solve or loop follow a ``solve`` line, ``frame`` lines and a
``done`` line; the last line is ``end``. Times are integer nanoseconds. The writer locks the file
until its process ends, so that a reader can distinguish a killed run from a slow one.
"""

from __future__ import annotations

import fcntl
import json
import math
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from hindmost.errors import DataError, NotARunFileError
from hindmost.files import data_errors, matching, open_regular, write_atomically
from hindmost.printable import cleaned
from hindmost.records import check_version, from_document, to_document

SUFFIX = ".live.jsonl"
CONTROL_SUFFIX = ".control"
PERIODS_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between frames that a viewer may choose; 0 depends on the duration of the solve."""
EXTREMA = ("most-work", "least-wait", "most-wait", "most-halo", "longest-iteration")
"""The criteria of extreme ranks, in the order of a frame's ``extrema``."""
WORK = "work"
"""The metric of all time but halo, wait and post; other ranks wait for the rank with most."""
READ_BYTES = 1 << 22
MIN_NS = 256
BINS_AN_OCTAVE = 4


SCHEMA = "hindmost-live"
VERSION = 1
Natural = Annotated[int, Meta(ge=0, lt=1 << 62)]
Some = Annotated[int, Meta(ge=1, le=1 << 31)]
"""Ranks, hosts or columns."""
Number = Annotated[float, Meta(ge=-(1 << 62), le=1 << 62)]
Words = Annotated[tuple[str, ...], Meta(min_length=1)]


class SolveLine(TypedDict):
    """A solve or a loop begins."""

    solver: str
    number: Natural
    iterations: Natural


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPrediction:
    """The predictions of the next cycle; part of a frame.

    The names of the predictors are in the ``solve`` line, ``predictors``.

    Attributes
    ----------
    cycle : int
        The next cycle of this run, from 1.
    next_ns : tuple of (float or None)
        Prediction of each predictor in nanoseconds; None if it has no data yet.
    error_percent : tuple of (float or None)
        Mean absolute error of each over its last predictions.
    decides : int
        Index of the predictor for decisions.
    interval_ns : (float, float) or None
        90 % prediction interval of that predictor.
    rest_ns : float or None
        Predicted time of all remaining cycles, assuming the work of this one.
    """

    cycle: Natural
    next_ns: tuple[Number | None, ...]
    error_percent: tuple[Number | None, ...]
    decides: Natural
    interval_ns: tuple[Number, Number] | None
    rest_ns: Number | None

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval in seconds."""
        found = self.interval_ns
        return None if found is None else (found[0] * 1e-9, found[1] * 1e-9)

    def text(self) -> str:
        """Return the JSON of the frame, with errors in hundredths."""
        errors = tuple(None if each is None else round(each, 2) for each in self.error_percent)
        document = to_document(replace(self, error_percent=errors))
        return json.dumps(document, allow_nan=False, separators=(",", ":"))

    @classmethod
    def of(cls, frame: dict[str, Any]) -> FeedPrediction | None:
        """Return the predictions of a frame; None if it has none."""
        return msgspec.convert(frame["foreseen"], cls) if "foreseen" in frame else None


class FrameLine(TypedDict):
    """Some iterations of all ranks."""

    t_ns: Natural
    iteration: Natural
    window_ns: Natural
    phase_ns: list[Number]
    first_bin: Natural
    bins: list[Natural]
    extrema: list[tuple[Natural, Number]]
    period: Natural
    metric: Natural
    heat: list[Number]
    late: Natural
    cost_ns: Natural
    foreseen: NotRequired[FeedPrediction]


class DoneLine(TypedDict):
    """A solve or a loop is done."""

    number: Natural
    file: NotRequired[str]
    failure: NotRequired[str]
    stopped: NotRequired[str]


class EndLine(TypedDict):
    """The last line."""

    status: str
    done: NotRequired[Natural]
    failure: NotRequired[str]


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
    ranks: Some
    columns: Some
    runs: Some
    phases: Annotated[tuple[str, ...], Meta(min_length=3)]
    metrics: Words
    began_utc: str
    host: str
    hosts: Some
    extrema: Words = EXTREMA
    periods_s: Annotated[tuple[Number, ...], Meta(min_length=1)] = PERIODS_S
    least_ns: int = MIN_NS
    bins_an_octave: int = BINS_AN_OCTAVE

    def line(self) -> dict[str, Any]:
        """Return the line of the feed."""
        return {"kind": "head", "schema": SCHEMA, "version": VERSION, **to_document(self)}

    def fits(self, frame: FrameLine) -> bool:
        """Tell whether a frame has as many values as there are names, and ranks that exist."""
        foreseen = frame.get("foreseen")
        return (
            len(frame["phase_ns"]) == len(self.phases)
            and len(frame["extrema"]) == len(self.extrema)
            and len(frame["heat"]) == self.columns
            and all(rank < self.ranks for rank, _ in frame["extrema"])
            and frame["period"] < len(self.periods_s)
            and frame["metric"] < len(self.metrics)
            and (
                foreseen is None
                or foreseen.decides < len(foreseen.next_ns) == len(foreseen.error_percent)
            )
        )


LINES: dict[str, Any] = {
    "head": FeedHead, "solve": SolveLine, "frame": FrameLine, "done": DoneLine, "end": EndLine,
}  # fmt: skip
"""The kinds of lines; a line may have more fields."""


def parsed(text: bytes, head: FeedHead | None = None) -> dict[str, Any] | None:
    """Return a line of a feed, whose texts are safe to show; None if it is invalid.

    A feed is read while it is written, possibly from a full disk: what is no line is skipped.

    Parameters
    ----------
    text : bytes
    head : FeedHead or None
        The feed's first line, to which frames have to fit; None while it is unknown.
    """
    try:
        line = msgspec.json.decode(text)
        form = LINES[line["kind"]]
        if form is FeedHead and (line.get("schema"), line.get("version")) != (SCHEMA, VERSION):
            return cleaned(line)  # type: ignore[no-any-return]  # the reader reports it
        found = msgspec.convert(line, form)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if form is FrameLine:
        return line if head is None or head.fits(found) else None
    return cleaned(line)  # type: ignore[no-any-return]


def bin_edges_ns(first: int, count: int) -> list[float]:
    """Return the edges of bins of times: four equal parts per octave."""
    edges = []
    for number in range(first, first + count + 1):
        octave, part = divmod(number, BINS_AN_OCTAVE)
        edges.append(MIN_NS * 2.0**octave * (1.0 + part / BINS_AN_OCTAVE))
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
        self._known: FeedHead | None = None
        with data_errors(path, "read"):
            self._file = open_regular(path)
        lines = self.read_lines(1)
        if not lines or lines[0].get("schema") != SCHEMA:
            self.close()
            raise NotARunFileError(
                f"{path} is not a live feed; 'hindmost run --live' writes one, NAME{SUFFIX}."
            )
        try:
            check_version(lines[0].get("version"), VERSION, path)
            self._known = self.head = from_document(FeedHead, lines[0], ignore_unknown=True)
        except DataError:
            self.close()
            raise

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
            got = self._file.read(READ_BYTES)
            if not got:
                return lines
            self._rest += got
            if len(self._rest) > READ_BYTES and b"\n" not in self._rest:
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
    """Return the feed for a path: itself, or the newest of a folder.

    Raises
    ------
    DataError
        No feed was found.
    """
    if path.name.endswith(SUFFIX):
        return path
    with data_errors(path, "read as a folder"):
        files = [each for each in matching(path, f"*{SUFFIX}") if each.is_file()]
    if not files:
        raise DataError(
            f"{path} has neither a live feed (*{SUFFIX}) of 'hindmost run --live' nor a "
            "program that 'hindmost attach' follows: give the folder of its --out."
        )
    return max(files, key=lambda each: each.stat().st_mtime_ns)


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
    with data_errors(path, "written"):
        write_atomically(path, f"{periods.index(period_s)} {metrics.index(metric)}\n", mode=0o600)


def whole_ns(value_s: float) -> int | None:
    """Return a time in nanoseconds; None if it is not finite."""
    return round(value_s * 1e9) if math.isfinite(value_s) else None
