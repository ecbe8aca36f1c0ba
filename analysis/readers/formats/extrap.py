"""Extra-P's formats: text, JSON in its current and its older form, JSON lines, saved experiments.

Text::

    # a comment
    PARAMETER p n                  names, on one line or on several
    POINTS ( 2 10 ) ( 4 10 )       on one line or on several; of one parameter also: POINTS 2 4 8
    METRIC time                    may be missing, and applies until the next
    REGION main->compute           may be missing, and applies until the next
    DATA 1.02 1.01 1.03            one line a point, in the order of POINTS: its repetitions

A point that was not measured keeps its place by a line ``DATA`` without numbers. A point that
POINTS names twice is one point: with a DATA line for each mention the values are repetitions; with
one for each distinct point, files are as Extra-P reads them.

The current form of JSON::

    {"parameters": ["p"],
     "measurements": {"main->compute": {"time": [{"point": [4], "values": [6.0, 6.08]}]}}}

The older one lists parameters, callpaths, metrics and coordinates, each with an ``id``, and one
value for each of its measurements::

    {"parameters": [{"id": 1, "name": "p"}],
     "callpaths": [{"id": 1, "name": "main"}],
     "metrics": [{"id": 1, "name": "time"}],
     "coordinates": [{"id": 1, "parameter_value_pairs": [
         {"parameter_id": 1, "parameter_value": 4}]}],
     "measurements": [{"callpath_id": 1, "coordinate_id": 1, "metric_id": 1, "value": 6.0}]}

Extra-P's JSON lines have one measurement per line, or several at the same point::

    {"params": {"p": 4, "n": 1000}, "callpath": "main->compute", "metric": "time", "value": 6.0}
    {"params": {"p": 4, "n": 1000}, "value": [6.0, 6.1]}

Lines at the same point are repetitions. ``callpath`` and ``metric`` may be missing.

Extra-P 4 saves an archive (``.extra-p``) with ``experiment.json``::

    {"Extra-P": "4.2.5", "parameters": ["p"],
     "measurements": {"main->compute": {"time": [
         {"coordinate": [4.0], "median": 6.0, "mean": 6.1, "minimum": 6.0, "maximum": 6.3,
          "std": 0.1, "repetitions": 3, "values": [0, 0]}]}}}

The repetitions themselves are there only if Extra-P was told to keep them: ``values`` is then the
number of a file ``values/0.vals`` and that of an array in it, whose place is in ``values/0.indx``.
The models in the file are left out.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from hindmost.analysis.readers.experiment import (
    DEFAULT,
    ROOT,
    ExperimentGathering,
    Key,
    Point,
)
from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.text_files import (
    JsonObject,
    expect,
    first_line,
    head_of,
    load,
    member,
    read_object,
    read_text,
    split_lines,
    to_number,
    to_numbers,
)
from hindmost.errors import DataError
from hindmost.files import open_regular
from hindmost.parsing import plain_number


def of_each(
    read: Callable[[Path, ExperimentGathering], None],
) -> Callable[[tuple[Path, ...], ExperimentRequest, ExperimentGathering], None]:
    """Return what reads several files, given what reads one."""

    def read_all(
        paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
    ) -> None:
        for path in paths:
            read(path, into)

    return read_all


# Text.

KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
NUMBERS = "; numbers are separated by blanks and have a decimal point."
_BEGINS = re.compile(rf"^[ \t\ufeff]*(?:{'|'.join(KEYWORDS)})(?:[ \t\r]|$)", re.MULTILINE)
_TOKENS = re.compile(r"[()]|[^\s()]+")


def read_text_form(path: Path, into: ExperimentGathering) -> None:
    """Read a file of lines that begin with a keyword."""
    parameters: list[str] = []
    points: list[Point] = []
    key: Key = (ROOT, DEFAULT)
    data: list[tuple[str, list[float]]] = []  # lines since METRIC or REGION, with their places
    begun: set[Key] = set()
    regions: dict[str, str] = {}

    def end_section() -> None:
        if data:
            begun.add(key)
            give_data(key, points, data, into)
            data.clear()

    for number, text in enumerate(split_lines(read_text(path)), 1):
        words = text.split(None, 1)
        if not words or words[0].startswith("#"):
            continue
        keyword, rest, where = words[0], "".join(words[1:]), f"{path}, line {number}"
        if keyword in ("METRIC", "REGION"):
            end_section()
            name = " ".join(rest.split())
            if not name:
                raise DataError(f"{where}: {keyword} without a name.")
            key = (key[0], name) if keyword == "METRIC" else (name, key[1])
            if keyword == "REGION":
                regions.setdefault(name, where)
        elif keyword == "PARAMETER":
            if points:
                raise DataError(f"{where}: PARAMETER after POINTS; name all parameters first.")
            parameters += rest.split()
        elif keyword == "POINTS":
            if not points:
                if not parameters:
                    raise DataError(f"{where}: POINTS before PARAMETER; name the parameters first.")
                into.declare(parameters, where)
            for point in _points(rest, len(parameters), where):
                into.name_point(point, where)
                points.append(point)
        elif keyword == "DATA":
            if not points:
                raise DataError(f"{where}: DATA before POINTS; name the points first.")
            try:
                data.append((where, [plain_number(word) for word in rest.split()]))
            except ValueError as error:
                raise DataError(f"{where}: {error}{NUMBERS}") from None
        else:
            raise DataError(
                f"{where}: unknown keyword '{keyword[:40]}'; a line begins with one "
                f"of: {', '.join(KEYWORDS)}, or with # for a comment."
            )
    end_section()
    measured = {kernel for kernel, _ in begun}
    for region, where in regions.items():
        if region not in measured:
            into.remarks.add("regions without DATA", f"{where}: {region} has no DATA; skipped.")
    if not begun:
        raise DataError(f"{path} has no DATA; a line of DATA is needed for every point.")


def give_data(
    key: Key,
    points: Sequence[Point],
    data: Sequence[tuple[str, list[float]]],
    into: ExperimentGathering,
) -> None:
    """Give lines of DATA, each with its place, to their points."""
    different = list(dict.fromkeys(points))
    points = different if len(data) == len(different) else points
    if len(data) != len(points):
        into.remarks.add(
            "series whose DATA do not match POINTS",
            f"{data[0][0]}: {key[0]} ({key[1]}) has {len(data)} lines of DATA for "
            f"{len(points)} points, so they cannot be matched; skipped. For a point that "
            "was not measured, write a line with DATA alone.",
        )
        return
    for point, (where, values) in zip(points, data, strict=True):
        if values:
            into.add(key, point, values, where)


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


def recognises_text(path: Path, head: bytes) -> bool:
    """Tell whether a line begins with a keyword."""
    text = head.decode("utf-8", errors="replace")
    return b"\0" not in head and _BEGINS.search(text) is not None


EXTRAP_TEXT = ExperimentFormat(
    name="text",
    looks_like="lines that begin with PARAMETER, POINTS, METRIC, REGION, DATA (Extra-P)",
    recognises=recognises_text,
    read=of_each(read_text_form),
)


# JSON.


def declared_entries(
    data: JsonObject, path: Path, into: ExperimentGathering
) -> Iterator[tuple[str, str, JsonObject, str]]:
    """Declare the parameters of a document; yield kernel, metric, each measurement and its place.

    Saved experiments have the same structure with other measurements.
    """
    names = member(data, "parameters", list, f"{path}:")
    for at, name in enumerate(names):
        expect(name, str, f"{path}: parameters[{at}]")
    into.declare(names, f"{path}: parameters")
    for kernel, metrics in member(data, "measurements", dict, f"{path}:").items():
        place = f"{path}: measurements['{kernel}']"
        for metric, entries in expect(metrics, dict, place).items():
            inside = f"{place}['{metric}']"
            for at, entry in enumerate(expect(entries, list, inside)):
                yield kernel, metric, entry, f"{inside}[{at}]"


def _by_id(data: JsonObject, sort: str, path: Path) -> dict[int, JsonObject]:
    """Return the entries of a list of the older form by their ids, in ascending order."""
    found: dict[int, JsonObject] = {}
    for at, entry in enumerate(member(data, sort, list, f"{path}:")):
        where = f"{path}: {sort}[{at}]"
        number = _id(entry, "id", where)
        if number in found:
            raise DataError(f"{where}: id {number} occurs twice in {sort}; ids must be unique.")
        found[number] = entry
    return dict(sorted(found.items()))


def _id(entry: Any, name: str, where: str) -> int:
    """Return an id, which some writers put as text."""
    value = member(entry, name, None, where)
    try:
        if isinstance(value, bool) or value is None:
            raise TypeError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}; it should be a number.") from None


def _read_older(data: JsonObject, path: Path, into: ExperimentGathering) -> None:
    names = {
        sort: {
            number: member(entry, "name", str, f"{path}: {sort} with id {number}")
            for number, entry in _by_id(data, sort, path).items()
        }
        for sort in ("parameters", "callpaths", "metrics")
    }
    into.declare(list(names["parameters"].values()), f"{path}: parameters")
    points: dict[int, Point] = {}
    for number, entry in _by_id(data, "coordinates", path).items():
        where = f"{path}: coordinates with id {number}"
        pairs = {
            _id(pair, "parameter_id", where): to_number(
                member(pair, "parameter_value", None, where), where
            )
            for pair in member(entry, "parameter_value_pairs", list, where)
        }
        if pairs.keys() != names["parameters"].keys():
            raise DataError(
                f"{where} has values for the parameters with ids {sorted(pairs)}; it should have "
                f"one for each of {sorted(names['parameters'])}."
            )
        points[number] = tuple(pairs[parameter] for parameter in names["parameters"])
    for at, entry in enumerate(member(data, "measurements", list, f"{path}:")):
        where = f"{path}: measurements[{at}]"
        ids = {}
        for sort, known in (
            ("callpath", names["callpaths"]),
            ("metric", names["metrics"]),
            ("coordinate", points),
        ):
            ids[sort] = _id(entry, f"{sort}_id", where)
            if ids[sort] not in known:
                raise DataError(f"{where}: no {sort} has the id {ids[sort]}.")
        into.add(
            (names["callpaths"][ids["callpath"]], names["metrics"][ids["metric"]]),
            points[ids["coordinate"]],
            [to_number(member(entry, "value", None, where), where)],
            where,
        )


_MEMBER = re.compile(r'"(?:parameters|measurements|callpaths|coordinates)"\s*:')


def recognises_json(path: Path, head: bytes) -> bool:
    """Tell whether a file begins as an object with what one of the forms has."""
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    return text.startswith("{") and _MEMBER.search(text) is not None


def read_json(path: Path, into: ExperimentGathering) -> None:
    """Read a file of either form."""
    data = read_object(path)
    if "callpaths" in data:
        _read_older(data, path, into)
        return
    for kernel, metric, entry, where in declared_entries(data, path, into):
        point = tuple(to_numbers(member(entry, "point", list, where), f"{where} point"))
        values = to_numbers(member(entry, "values", None, where), f"{where} values")
        into.add((kernel, metric), point, values, where)


EXTRAP_JSON = ExperimentFormat(
    name="json",
    looks_like='an object with "parameters" and "measurements" (Extra-P, both forms)',
    recognises=recognises_json,
    read=of_each(read_json),
)


def _text(data: dict[str, Any], name: str, instead: str, where: str) -> str:
    value = data.get(name, instead)
    if not isinstance(value, str):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}; it should be a text.")
    return value


def read_lines(path: Path, into: ExperimentGathering) -> None:
    """Read a file of lines."""
    names: list[str] = []
    known: set[str] = set()
    for number, line in enumerate(split_lines(read_text(path)), 1):
        line = line.strip()
        if not line:
            continue
        where = f"{path}, line {number}"
        data = load(line, str(path), number)
        point = data.get("params") if isinstance(data, dict) else None
        if not isinstance(point, dict) or "value" not in data:
            raise DataError(
                f'{where}: a line is an object with at least "params" (an object) and "value".'
            )
        if not names:
            names, known = list(point), set(point)
            into.declare(names, where)
        if point.keys() != known:
            raise DataError(
                f"{where}: the parameters are {', '.join(point) or 'none'}; the first line has "
                f"{', '.join(names)}, and every line needs the same."
            )
        into.add(
            (_text(data, "callpath", ROOT, where), _text(data, "metric", DEFAULT, where)),
            tuple([to_number(point[name], where) for name in names]),
            to_numbers(data["value"], where),
            where,
        )


def recognises_lines(path: Path, head: bytes) -> bool:
    """Tell whether the first line is an object with parameters."""
    line = first_line(head)
    return line.startswith("{") and re.search(r'"params"\s*:\s*\{', line) is not None


EXTRAP_JSON_LINES = ExperimentFormat(
    name="json-lines",
    looks_like='one object a line with "params" and "value" (Extra-P)',
    recognises=recognises_lines,
    read=of_each(read_lines),
)


# Saved experiments.

SUFFIX = ".extra-p"
DOCUMENT = "experiment.json"
VERSION = "4"
ZIP = b"PK\x03\x04"
VERSION_3 = b"EXTRAP_EXPERIMENT"
"""In the binary files of Extra-P 3, after six bytes."""
MAX_UNPACKED = 1 << 28
"""Bytes of a member of an archive, unpacked."""
NPY: Any = npy_format
"""Its functions have no types."""
NOT_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""Texts in place of numbers that JSON has not."""


def unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the contents of a member of an archive."""
    with archive.open(name) as packed:
        data = packed.read(MAX_UNPACKED + 1)
    if len(data) > MAX_UNPACKED:
        raise DataError(
            f"{archive.filename}: {name} has more than {MAX_UNPACKED:,} bytes; at most that many "
            "are read. Save fewer kernels or metrics."
        )
    return data


def repetitions(archive: zipfile.ZipFile, place: Any, kept: dict[str, bytes]) -> list[float] | None:
    """Return the repetitions at a place, None if they are kept apart for every rank.

    Parameters
    ----------
    place : list of two whole numbers
        Of the file, and of the array in it.
    kept : dict
        Members that were unpacked before.
    """
    file, number = place
    for name in (f"values/{file}.indx", f"values/{file}.vals"):
        if name not in kept:
            kept[name] = unpacked(archive, name)
    # Before the places stand a mark, and how many there are.
    places = np.frombuffer(kept[f"values/{file}.indx"], "<u8", offset=24)
    stream = io.BytesIO(kept[f"values/{file}.vals"])
    stream.seek(int(places[number]))
    found = NPY.read_array(stream, allow_pickle=False)
    values: list[float] = found.astype(np.float64).tolist()
    return values if found.ndim == 1 else None


def read_archive(path: Path, into: ExperimentGathering) -> None:
    """Read a file of version 4."""
    if head_of(path)[6:].startswith(VERSION_3):
        raise DataError(f"{path}: Extra-P 3 wrote it; open and save it with Extra-P 4.")
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            text = unpacked(archive, DOCUMENT).decode("utf-8")
            where = f"{path}, {DOCUMENT}"
            data = expect(load(text, where), dict, where)
            version = member(data, "Extra-P", str, f"{where}:")
            if version.split(".")[0] != VERSION:
                raise DataError(
                    f"{path}: Extra-P {version[:20]} wrote it; version 4 is read. Export the data "
                    "as JSON or text."
                )
            read_measurements(data, archive, path, into)
    except DataError:
        raise
    except Exception as error:  # of a damaged archive, whatever zipfile and numpy meet
        raise DataError(
            f"{path} is not an archive that can be read ({type(error).__name__}: "
            f"{str(error)[:80]}). Copy the file again, or save it with Extra-P again."
        ) from error


def read_measurements(
    data: JsonObject, archive: zipfile.ZipFile, path: Path, into: ExperimentGathering
) -> None:
    """Put all measurements of a document into the gathering."""
    kept: dict[str, bytes] = {}
    lost = False
    for kernel, metric, entry, where in declared_entries(data, path, into):
        coordinate = member(entry, "coordinate", list, where)
        point = tuple(to_numbers(coordinate, f"{where} coordinate"))
        place = entry.get("values")
        values = None if place is None else repetitions(archive, place, kept)
        if values is None:
            values = [summary(entry, where)]
            lost = lost or entry.get("repetitions") != 1
        into.add((kernel, metric), point, values, where)
    if lost:
        into.remarks.add(
            "saved experiments without repetitions",
            f"{path} has no repetitions of all points, only what Extra-P made of them: medians are "
            "used, which show less of the noise. Read the measurements themselves, or save with "
            "Extra-P's --keep-values.",
        )


def summary(entry: JsonObject, where: str) -> float:
    """Return the median of a measurement, or else its mean."""
    for name in ("median", "mean"):
        value = entry.get(name)
        if isinstance(value, str) and value.lower() in NOT_NUMBERS:
            return NOT_NUMBERS[value.lower()]
        if value is not None:
            return to_number(value, f"{where} {name}")
    raise DataError(f"{where} has neither 'median' nor 'mean'.")


def recognises_saved(path: Path, head: bytes) -> bool:
    """Tell whether a file is an archive of version 4, or of version 3."""
    if head[6:].startswith(VERSION_3):
        return True
    return head.startswith(ZIP) and (path.suffix == SUFFIX or DOCUMENT.encode() in head)


EXTRAP_SAVED = ExperimentFormat(
    name="extra-p",
    looks_like="a saved experiment (*.extra-p; Extra-P 4)",
    recognises=recognises_saved,
    read=of_each(read_archive),
)

FORMATS = (EXTRAP_SAVED, EXTRAP_JSON_LINES, EXTRAP_JSON, EXTRAP_TEXT)
