"""JSON of Google Benchmark (``--benchmark_out``), one file per run of a program.

::

    {"context": {"date": "2021-01-24T05:34:11+00:00", "host_name": "blake", "executable": "./gb"},
     "benchmarks": [{"name": "sum/100", "run_name": "sum/100", "run_type": "iteration",
                     "real_time": 588.7, "cpu_time": 588.8, "time_unit": "ns"}]}

A case is a benchmark of a program, and the timers are ``real_time``, ``cpu_time`` and all counters;
rates, as ``items_per_second``, should be large. Repetitions are one value, their median. Aggregates
are left out, unless only these were written: then it is their mean, with their standard
deviation. The commit is a value of the context with a name like ``git_commit``
(``--benchmark_context=git_commit=...``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from hindmost.analysis.readers.commits import commits_in
from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFile, HistoryFormat, Session
from hindmost.analysis.readers.json_values import JsonObject, member, read_object
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import (
    StandardError,
    summarise,
)
from hindmost.parsing import LARGEST

TIMES = ("real_time", "cpu_time")
NO_COUNTERS = (
    *("name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions"),
    *("repetition_index", "threads", "iterations", "time_unit", "aggregate_name", "aggregate_unit"),
    *("label", "error_occurred", "error_message", "skipped", "skip_message"),
)
"""Keys of every result other than its times and counters."""


def _aggregate(entry: JsonObject) -> str:
    """Return the kind of aggregate of a result; empty for a repetition."""
    return str(entry.get("aggregate_name", "")) if entry.get("run_type") == "aggregate" else ""


def _name(entry: JsonObject) -> str:
    """Return the name of a benchmark without that of an aggregate."""
    return str(entry.get("run_name") or entry["name"])


def _timers(entry: JsonObject) -> list[str]:
    return [
        name
        for name, value in entry.items()
        if name in TIMES or (name not in NO_COUNTERS and isinstance(value, int | float))
    ]


def _of_repetitions(entries: list[JsonObject]) -> tuple[JsonObject, dict[str, StandardError]]:
    """Return values and standard errors; a single value unchanged, even if not a number."""
    values: JsonObject = {}
    errors: dict[str, StandardError] = {}
    for timer in _timers(entries[0]):
        values[timer], error = summarise([entry.get(timer) for entry in entries])
        if error is not None:
            errors[timer] = error
    return values, errors


def _of_aggregates(entries: list[JsonObject]) -> tuple[JsonObject, dict[str, StandardError]]:
    """Return means, and standard errors if there are standard deviations."""
    by_kind = {_aggregate(entry): entry for entry in entries}
    if "mean" not in by_kind:
        return {}, {}
    mean, deviation = by_kind["mean"], by_kind.get("stddev", {})
    count = mean.get("repetitions")
    errors: dict[str, StandardError] = {}
    for timer in _timers(mean):
        value = deviation.get(timer)
        if type(value) is float and isinstance(count, int) and 1 < count < LARGEST:
            errors[timer] = StandardError(value / math.sqrt(count), count - 1.0)
    return {timer: mean[timer] for timer in _timers(mean)}, errors


def _in_one_unit(entry: JsonObject) -> dict[str, str]:
    unit = str(entry.get("time_unit", "ns"))
    return {
        timer: unit if timer in TIMES else "1/s" if timer.endswith("_per_second") else ""
        for timer in _timers(entry)
    }


def _failure(entries: list[JsonObject]) -> str | None:
    """Return why a benchmark failed, None if it did not."""
    for entry in entries:
        if entry.get("error_occurred") or entry.get("skipped"):
            return str(entry.get("error_message") or entry.get("skip_message") or "failed")
    return None


def _read(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    path = source.path
    data = read_object(path)
    context = member(data, "context", dict, f"{path}:")
    date = member(context, "date", None, f"{path}: context")
    time = seconds_since_1970(date, f"{path}: context date")
    machine = str(context.get("host_name") or source.folder_machine)
    session = Session(machine=machine, time=time, file=str(path), commits=commits_in(context))
    program = str(context.get("executable") or "").replace("\\", "/").rpartition("/")[2]
    cases: dict[str, list[JsonObject]] = {}
    for at, entry in enumerate(member(data, "benchmarks", list, f"{path}:")):
        member(entry, "name", str, f"{path}: benchmarks[{at}]")
        cases.setdefault(_name(entry), []).append(entry)
    for name, entries in cases.items():
        case = f"{program}: {name}" if program else name
        single = [entry for entry in entries if not _aggregate(entry)]
        failure = _failure(entries)
        if failure is not None:
            yield session.failed(case, failure)
            continue
        values, errors = _of_repetitions(single) if single else _of_aggregates(entries)
        if not values:
            remarks.add(
                "benchmarks with neither repetitions nor their mean",
                f"{path}: {name} has neither a repetition nor a mean; left out.",
            )
            continue
        units = _in_one_unit((single or entries)[0])
        yield session.result(case, values, units=units, errors=errors)


def _recognises(path: Path, head: bytes) -> bool:
    return (
        re.search(rb'"context"\s*:\s*\{', head) is not None
        and re.search(rb'"benchmarks"\s*:', head) is not None
    )


GOOGLE_BENCHMARK = HistoryFormat(
    name="google-benchmark",
    looks_like='an object with "context" and "benchmarks" (Google Benchmark)',
    recognises=_recognises,
    read=_read,
)
