"""Extra-P's JSON format, in its current and in its older form.

The current form::

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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.gather_experiment import DEFAULT, ROOT, ExperimentGathering, Point
from hindmost.analysis.readers.json_values import (
    JsonObject,
    expect,
    load,
    member,
    read_object,
    to_number,
    to_numbers,
)
from hindmost.analysis.readers.text_files import first_line, read_text, split_lines
from hindmost.errors import DataError


def declared_entries(
    data: JsonObject, path: Path, into: ExperimentGathering
) -> Iterator[tuple[str, str, JsonObject, str]]:
    """Declare the parameters of a document; yield kernel, metric, each measurement and its place.

    `extrap_saved` has the same structure with other measurements.
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


def _read_current(data: JsonObject, path: Path, into: ExperimentGathering) -> None:
    for kernel, metric, entry, where in declared_entries(data, path, into):
        point = tuple(to_numbers(member(entry, "point", list, where), f"{where} point"))
        values = to_numbers(member(entry, "values", None, where), f"{where} values")
        into.add((kernel, metric), point, values, where)


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


def _recognises(path: Path, head: bytes) -> bool:
    return head.decode("utf-8-sig", errors="replace").lstrip()[:1] in ("{", "[")


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    for path in paths:
        data = read_object(path)
        (_read_older if "callpaths" in data else _read_current)(data, path, into)


EXTRAP_JSON = ExperimentFormat(
    name="json",
    looks_like='an object with "parameters" and "measurements" (Extra-P, both forms)',
    recognises=_recognises,
    read=_read,
)


def _text(data: dict[str, Any], name: str, instead: str, where: str) -> str:
    value = data.get(name, instead)
    if not isinstance(value, str):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}; it should be a text.")
    return value


def _read_file(path: Path, into: ExperimentGathering) -> None:
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


def _recognises_lines(path: Path, head: bytes) -> bool:
    line = first_line(head)
    return line.startswith("{") and re.search(r'"params"\s*:\s*\{', line) is not None


def _read_lines(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
) -> None:
    for path in paths:
        _read_file(path, into)


EXTRAP_JSON_LINES = ExperimentFormat(
    name="json-lines",
    looks_like='one object a line with "params" and "value" (Extra-P)',
    recognises=_recognises_lines,
    read=_read_lines,
)
