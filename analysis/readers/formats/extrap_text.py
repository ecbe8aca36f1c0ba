"""Extra-P's text format.

::

    # a comment
    PARAMETER p n                  names, on one line or on several
    POINTS ( 2 10 ) ( 4 10 )       on one line or on several; of one parameter also: POINTS 2 4 8
    METRIC time                    may be missing, and applies until the next
    REGION main->compute           may be missing, and applies until the next
    DATA 1.02 1.01 1.03            one line a point, in the order of POINTS: its repetitions

A point that was not measured keeps its place by a line ``DATA`` without numbers. A point that
POINTS names twice is one point: with a DATA line for each mention the values are repetitions; with
with one for each distinct point, files are as Extra-P reads them.
"""

from __future__ import annotations

import re
from pathlib import Path

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.gather_experiment import (
    DEFAULT,
    ROOT,
    ExperimentGathering,
    Key,
    Point,
)
from hindmost.analysis.readers.text_files import read_text, split_lines
from hindmost.errors import DataError
from hindmost.parsing import plain_number

KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
NUMBERS = "; numbers are separated by blanks and have a decimal point."
_BEGINS = re.compile(rf"^[ \t\ufeff]*(?:{'|'.join(KEYWORDS)})(?:[ \t\r]|$)", re.MULTILINE)
_TOKENS = re.compile(r"[()]|[^\s()]+")


class _TextFile:
    """A file while it is read, line by line."""

    def __init__(self, path: Path, into: ExperimentGathering) -> None:
        self.path = path
        self.into = into
        self.parameters: list[str] = []
        self.points: list[Point] = []
        self.kernel, self.metric = ROOT, DEFAULT
        self.data: list[tuple[int, list[float]]] = []
        self.begun: set[Key] = set()
        self.regions: dict[str, int] = {}

    def at(self, line: int) -> str:
        return f"{self.path}, line {line}"

    def read(self) -> None:
        actions = {
            "PARAMETER": self.add_parameters,
            "POINTS": self.add_points,
            "METRIC": self.set_metric,
            "REGION": self.set_region,
            "DATA": self.add_data,
        }
        for line, text in enumerate(split_lines(read_text(self.path)), 1):
            words = text.split(None, 1)
            if not words or words[0].startswith("#"):
                continue
            if words[0] not in actions:
                raise DataError(
                    f"{self.at(line)}: unknown keyword '{words[0][:40]}'; a line begins with one "
                    f"of: {', '.join(KEYWORDS)}, or with # for a comment."
                )
            actions[words[0]](line, words[1] if len(words) > 1 else "")
        self.end_section()
        measured = {kernel for kernel, _ in self.begun}
        for region, line in self.regions.items():
            if region not in measured:
                self.into.remarks.add(
                    "regions without DATA", f"{self.at(line)}: {region} has no DATA; skipped."
                )
        if not self.begun:
            raise DataError(f"{self.path} has no DATA; a line of DATA is needed for every point.")

    def add_parameters(self, line: int, rest: str) -> None:
        if self.points:
            raise DataError(f"{self.at(line)}: PARAMETER after POINTS; name all parameters first.")
        self.parameters += rest.split()

    def add_points(self, line: int, rest: str) -> None:
        at = self.at(line)
        if not self.points:
            if not self.parameters:
                raise DataError(f"{at}: POINTS before PARAMETER; name the parameters first.")
            self.into.declare(self.parameters, at)
        for point in _points(rest, len(self.parameters), at):
            self.into.name_point(point, at)
            self.points.append(point)

    def set_metric(self, line: int, rest: str) -> None:
        self.end_section()
        self.metric = self.name("METRIC", line, rest)

    def set_region(self, line: int, rest: str) -> None:
        self.end_section()
        self.kernel = self.name("REGION", line, rest)
        self.regions.setdefault(self.kernel, line)

    def name(self, keyword: str, line: int, rest: str) -> str:
        if not rest.strip():
            raise DataError(f"{self.at(line)}: {keyword} without a name.")
        return " ".join(rest.split())

    def add_data(self, line: int, rest: str) -> None:
        if not self.points:
            raise DataError(f"{self.at(line)}: DATA before POINTS; name the points first.")
        try:
            values = [plain_number(word) for word in rest.split()]
        except ValueError as error:
            raise DataError(f"{self.at(line)}: {error}{NUMBERS}") from None
        self.data.append((line, values))

    def end_section(self) -> None:
        """Give the lines of DATA that came since METRIC or REGION to their points."""
        if not self.data:
            return
        data, self.data = self.data, []
        key, begin = (self.kernel, self.metric), data[0][0]
        different = list(dict.fromkeys(self.points))
        points = different if len(data) == len(different) else self.points
        self.begun.add(key)
        if len(data) != len(points):
            self.into.remarks.add(
                "series whose DATA do not match POINTS",
                f"{self.at(begin)}: {key[0]} ({key[1]}) has {len(data)} lines of DATA for "
                f"{len(points)} points, so they cannot be matched; skipped. For a point that "
                "was not measured, write a line with DATA alone.",
            )
            return
        for point, (line, values) in zip(points, data, strict=True):
            if values:
                self.into.add(key, point, values, self.at(line))


def _points(text: str, parameters: int, at: str) -> list[Point]:
    """Read points: in parentheses, which may be nested, or without, for one parameter."""
    points: list[Point] = []
    inner: list[float] = []
    depth = 0
    for token in _TOKENS.findall(text):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth == 0:
                points.append(tuple(inner))
                inner = []
        else:
            try:
                number = plain_number(token)
            except ValueError as error:
                raise DataError(f"{at}: {error}{NUMBERS}") from None
            if depth:
                inner.append(number)
            elif parameters == 1:
                points.append((number,))
            else:
                raise DataError(
                    f"{at}: {token} outside of parentheses; with {parameters} parameters a point "
                    "is written ( 4 10 )."
                )
        if depth < 0:
            break
    if depth:
        raise DataError(f"{at}: parentheses that do not match; a point is written ( 4 10 ).")
    return points


def _recognises(path: Path, head: bytes) -> bool:
    text = head.decode("utf-8", errors="replace")
    return b"\0" not in head and _BEGINS.search(text) is not None


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    for path in paths:
        _TextFile(path, into).read()


EXTRAP_TEXT = ExperimentFormat(
    name="text",
    looks_like="lines that begin with PARAMETER, POINTS, METRIC, REGION, DATA (Extra-P)",
    recognises=_recognises,
    read=_read,
)
