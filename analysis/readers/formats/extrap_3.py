"""Experiments as Extra-P 3 saved them: binary records, each after the name of its kind.

A file begins with the number 1 in two bytes, which tells the byte order, the text
``EXTRAP_EXPERIMENT`` and a version. Texts are their length in four bytes and UTF-8; ids, counts and
lines have eight bytes, values are doubles. Records refer to those before them by id. Measurements
have no repetitions, only statistics of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hindmost.analysis.readers.gather_experiment import ExperimentGathering, Point
from hindmost.errors import DataError
from hindmost.parsing import shown

T = TypeVar("T")

QUALIFIER = b"EXTRAP_EXPERIMENT"
LONGEST_NAME = 1 << 12
"""Characters of a call path; callers' names add up."""
OUTSIDE = -1
"""In place of a caller's id, of what nothing calls."""
FIRST_POINTS = ("FIRST_POINTS_FOUND", "MAX_NUMBER_POINTS", "CHEAPEST_POINTS")
COSTS = ("INCREASING_COST", "DECREASING_COST")
"""How generators of later versions chose points; earlier ones have no such options."""


def is_version_3(head: bytes) -> bool:
    """Tell whether a file's first bytes are those of Extra-P 3."""
    return head[6:].startswith(QUALIFIER)


@dataclass(slots=True)
class Stream:
    """Numbers and texts in the bytes of a file, from a place on."""

    data: bytes
    path: Path
    order: str
    at: int = 2

    def numbers(self, pattern: str) -> tuple[float, ...]:
        """Return numbers in the notation of `struct`."""
        try:
            found = struct.unpack_from(self.order + pattern, self.data, self.at)
        except struct.error:
            raise self.fault("the file ends inside a record; copy it again") from None
        self.at += struct.calcsize(self.order + pattern)
        return found

    def whole(self) -> int:
        """Return an id or a line."""
        return int(self.numbers("q")[0])

    def count(self) -> int:
        """Return how many entries follow; each has a byte at least."""
        number = self.whole()
        if not 0 <= number <= len(self.data) - self.at:
            raise self.fault(f"a count of {number}")
        return number

    def text(self) -> str:
        """Return a text."""
        size = int(self.numbers("I")[0])
        if size > len(self.data) - self.at:
            raise self.fault(f"a text of {size} bytes, more than the file has")
        found = self.data[self.at : self.at + size]
        self.at += size
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError:
            raise self.fault(f"{shown(found)} is not UTF-8") from None

    def fault(self, text: str) -> DataError:
        """Return an error with its place in the file."""
        return DataError(f"{self.path}, byte {self.at}: {text}.")


@dataclass(slots=True)
class Records:
    """What has been read so far, by id."""

    parameters: list[str] = field(default_factory=list)
    metrics: dict[int, tuple[str, str]] = field(default_factory=dict)
    regions: dict[int, str] = field(default_factory=dict)
    kernels: dict[int, str] = field(default_factory=dict)
    points: dict[int, Point] = field(default_factory=dict)
    twins: dict[str, int] = field(default_factory=dict)
    repeated: bool = False
    newer: bool = False
    """Whether generators have the options of later versions; models then have one number more."""


def read_version_3(data: bytes, path: Path, into: ExperimentGathering) -> None:
    """Read a file of Extra-P 3.

    Raises
    ------
    DataError
        It is damaged, or refers to what it does not have.
    """
    stream = Stream(data, path, "<" if data[:2] == b"\x01\x00" else ">")
    if stream.text().encode() != QUALIFIER:
        raise stream.fault("this is not an experiment of Extra-P 3")
    stream.text()  # the version
    records = Records()
    while stream.at < len(data):
        kind = stream.text()
        if kind == "ExperimentPoint":
            add_point(stream, records, into)
        elif kind in READ:
            READ[kind](stream, records)
        else:
            raise stream.fault(f"a record of the unknown kind {shown(kind)}")
    if not into.parameters:
        raise DataError(f"{path} contains no measurement.")
    if records.repeated:
        into.remarks.add(
            "saved experiments without repetitions",
            f"{path} has no repetitions, only what Extra-P made of them: medians are used, and "
            "nothing tells the noise.",
        )


def read_parameter(stream: Stream, records: Records) -> None:
    """Read a parameter."""
    stream.whole()
    records.parameters.append(stream.text())


def read_metric(stream: Stream, records: Records) -> None:
    """Read a metric and its unit."""
    number = stream.whole()
    records.metrics[number] = stream.text(), stream.text()


def read_region(stream: Stream, records: Records) -> None:
    """Read a region; of several of one name, the later ones get a number, as in Extra-P 4."""
    number, name = stream.whole(), stream.text()
    stream.text()  # the source file, and the line
    stream.whole()
    again = records.twins.get(name, -1) + 1
    records.twins[name] = again
    records.regions[number] = f"{name} #{again}" if again else name


def read_kernel(stream: Stream, records: Records) -> None:
    """Read a call path: a region, called from another call path."""
    number, region, caller = (stream.whole() for _ in range(3))
    name = look_up(stream, records.regions, region, "region")
    if caller != OUTSIDE:
        name = f"{look_up(stream, records.kernels, caller, 'call path')}->{name}"
    if len(name) > LONGEST_NAME:
        raise stream.fault(f"a call path of {len(name)} characters; it may have {LONGEST_NAME}")
    records.kernels[number] = name


def read_coordinate(stream: Stream, records: Records) -> None:
    """Read a point: a value for each parameter, in any order."""
    number = stream.whole()
    named = [(stream.text(), float(stream.numbers("d")[0])) for _ in range(stream.count())]
    values = dict(named)
    if len(named) != len(values) or values.keys() != set(records.parameters):
        raise stream.fault(
            f"a point with values of {', '.join(map(shown, values)) or 'nothing'}; the parameters "
            f"are {', '.join(records.parameters) or 'none'}"
        )
    records.points[number] = tuple(values[name] for name in records.parameters)


def add_point(stream: Stream, records: Records, into: ExperimentGathering) -> None:
    """Put a measurement into the gathering: its median."""
    where = f"{stream.path}, byte {stream.at}"
    found = stream.numbers("qqdddddddddqq")
    point = look_up(stream, records.points, int(found[0]), "coordinate")
    metric, unit = look_up(stream, records.metrics, int(found[11]), "metric")
    kernel = look_up(stream, records.kernels, int(found[12]), "call path")
    if not into.parameters or into.parameters != tuple(records.parameters):
        into.declare(records.parameters, str(stream.path))
    records.repeated = records.repeated or found[1] > 1
    into.add((kernel, metric), point, [float(found[6])], where, unit)


def look_up(stream: Stream, known: dict[int, T], number: int, kind: str) -> T:
    """Return a record by its id."""
    if number not in known:
        raise stream.fault(f"no {kind} has the id {number}")
    return known[number]


def skip_comment(stream: Stream, records: Records) -> None:
    """Pass a comment."""
    stream.whole()
    stream.text()


def skip_generator(stream: Stream, records: Records) -> None:
    """Pass a generator of models over one parameter."""
    stream.text()  # its name
    stream.text()  # the kind of cross-validation
    stream.numbers("d")
    stream.text()  # means or medians
    skip_options(stream, records)


def skip_simple_generator(stream: Stream, records: Records) -> None:
    """Pass a generator with its building blocks."""
    skip_generator(stream, records)
    for _ in range(stream.count()):
        skip_function(stream)
    stream.whole()


def skip_joint_generator(stream: Stream, records: Records) -> None:
    """Pass a generator of models over several parameters."""
    stream.text()
    stream.text()
    skip_options(stream, records)


def skip_options(stream: Stream, records: Records) -> None:
    """Pass the options of later versions, if there are any."""
    begin = stream.at
    try:
        stream.whole()
        first = stream.text()
        stream.numbers("qq")
        if first in FIRST_POINTS and stream.text() in COSTS:
            records.newer = True
            return
    except DataError:
        pass
    stream.at = begin


def skip_model(stream: Stream, records: Records) -> None:
    """Pass a model: its function, three intervals of two functions each, errors and comments."""
    stream.numbers("qqq")
    for _ in range(7):
        skip_function(stream)
    stream.numbers("dddd" if records.newer else "ddd")
    for _ in range(stream.count()):
        stream.whole()
    for _ in range(stream.count()):
        stream.text()
        for _ in range(stream.count()):
            stream.numbers("dd")


def skip_function(stream: Stream) -> None:
    """Pass a function or a part of one."""
    kind = stream.text()
    if kind == "Function":
        return
    if kind == "SimpleTerm":
        stream.text()
        stream.numbers("d")
    elif kind in ("CompoundTerm", "SingleParameterFunction"):
        inside = {"CompoundTerm": "SimpleTerm"}.get(kind, "CompoundTerm")
        stream.numbers("d")
        for _ in range(stream.count()):
            skip_part(stream, inside)
    elif kind == "MultiParameterFunction":
        stream.numbers("d")
        for _ in range(stream.count()):
            stream.numbers("d")
            for _ in range(stream.count()):
                stream.text()
                skip_part(stream, "CompoundTerm")
    else:
        raise stream.fault(f"a function of the unknown kind {shown(kind)}")


def skip_part(stream: Stream, kind: str) -> None:
    """Pass a part of a function, which is of one kind: parts nest three deep at most."""
    begin = stream.at
    if stream.text() != kind:
        raise stream.fault(f"a part of a function that is no {kind}")
    stream.at = begin
    skip_function(stream)


READ: dict[str, Callable[[Stream, Records], None]] = {
    "Parameter": read_parameter,
    "Metric": read_metric,
    "Region": read_region,
    "Callpath": read_kernel,
    "Coordinate": read_coordinate,
    "ModelComment": skip_comment,
    "SingleParameterSimpleModelGenerator": skip_simple_generator,
    "SingleParameterRefiningModelGenerator": skip_generator,
    "MultiParameterSimpleModelGenerator": skip_joint_generator,
    "MultiParameterSparseModelGenerator": skip_joint_generator,
    "Model": skip_model,
}
"""How records are read, or passed, by their kinds."""
