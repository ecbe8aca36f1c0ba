"""JSON of hyperfine (``--export-json``), versions 1 and 2 of the program.

Version 1::

    {"results": [{"command": "sleep 0.1", "median": 0.1, "times": [0.1, 0.1], "exit_codes": [0, 0],
                  "parameters": {"delay": "0.1"}}]}

Version 2::

    {"schema_version": 2, "metadata": {"start_time": "2026-10-07T21:13:00Z"},
     "results": [{"command": "sleep 0.1", "name": "nap", "measurements": [
         {"time_wall_clock": {"value": 0.1, "unit": "second"}, "exit_code": 0}]}]}

A case is a command, or its name, with those of its parameters that it does not show. The timers are
``time`` (wall clock) and ``memory`` (the peak, if measured); runs are one
value, their median. A command of which a run ended with another status than 0 failed. Version 1 has
no date: the name of the file or of its folder gives it, or else the file's modification time, with
a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFile, HistoryFormat, Session
from hindmost.analysis.readers.json_values import JsonObject, expect, member, read_object
from hindmost.analysis.readers.path_names import dated
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import StandardError, summarise

METRICS = {"time_wall_clock": "time", "memory_peak_resident": "memory"}
"""Timer by the metric of version 2."""


def _time(data: JsonObject, path: Path, remarks: Remarks) -> float:
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and metadata.get("start_time") is not None:
        return seconds_since_1970(metadata["start_time"], f"{path}: start_time")
    return dated(path, remarks)


def _case(entry: JsonObject, where: str) -> str:
    command = member(entry, "command", str, where)
    name = entry.get("name")
    shown = name if isinstance(name, str) and name else command
    parameters = entry.get("parameters")
    hidden = [
        f"{key}={value}"
        for key, value in (parameters if isinstance(parameters, dict) else {}).items()
        if str(value) not in shown
    ]
    return f"{shown} ({', '.join(hidden)})" if hidden else shown


def _measurements(entry: JsonObject, where: str) -> dict[str, tuple[list[Any], str]]:
    """Return the values of all runs and their unit by timer."""
    if "measurements" not in entry:
        # Without the single times there is still their median.
        times = entry.get("times") or [entry.get("median", entry.get("mean"))]
        memory = entry.get("memory_usage_byte")
        found = {"time": (expect(times, list, f"{where} times"), "s")}
        if isinstance(memory, list) and memory:
            found["memory"] = (memory, "bytes")
        return found
    found = {}
    for each in expect(entry["measurements"], list, f"{where} measurements"):
        for metric, timer in METRICS.items():
            quantity = expect(each, dict, f"{where} measurements").get(metric)
            if isinstance(quantity, dict):
                unit = str(quantity.get("unit", ""))
                values, _ = found.setdefault(timer, ([], "bytes" if unit == "byte" else unit))
                values.append(quantity.get("value"))
    return found


def _statuses(entry: JsonObject) -> list[Any]:
    codes = entry.get("exit_codes")
    if isinstance(codes, list):
        return codes
    runs = entry.get("measurements")
    if not isinstance(runs, list):
        return []
    return [each["exit_code"] for each in runs if isinstance(each, dict) and "exit_code" in each]


def _read(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    path = source.path
    data = read_object(path)
    time = _time(data, path, remarks)
    session = Session(machine=source.folder_machine, time=time, file=str(path))
    for at, entry in enumerate(member(data, "results", list, f"{path}:")):
        where = f"{path}: results[{at}]"
        case = _case(entry, where)
        bad = [status for status in _statuses(entry) if status != 0]
        if bad:
            ended = "was killed" if bad[0] is None else f"ended with status {bad[0]}"
            yield session.failed(case, ended)
            continue
        values: JsonObject = {}
        errors: dict[str, StandardError] = {}
        measurements = _measurements(entry, where)
        for timer, (each, _) in measurements.items():
            value, error = summarise(each)
            if error is not None:
                values[timer], errors[timer] = value, error
            elif timer == "time":
                values[timer] = value
        units = {timer: unit for timer, (_, unit) in measurements.items()}
        yield session.result(case, values, units=units, errors=errors)


def _recognises(path: Path, head: bytes) -> bool:
    return (
        re.search(rb'"results"\s*:\s*\[', head) is not None
        and re.search(rb'"command"\s*:', head) is not None
        and re.search(rb'"(?:mean|median|measurements)"\s*:', head) is not None
    )


HYPERFINE = HistoryFormat(
    name="hyperfine",
    looks_like='an object with "results", each with "command" and "times" (hyperfine)',
    recognises=_recognises,
    read=_read,
)
