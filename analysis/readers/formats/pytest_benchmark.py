"""JSON of pytest-benchmark (``--benchmark-json``, ``--benchmark-autosave``), one file a session.

::

    {"machine_info": {"node": "blake"},
     "commit_info": {"id": "6177ebf...", "project": "albany", "dirty": false},
     "benchmarks": [{"fullname": "test_sort.py::test_sort[10]",
                     "stats": {"median": ..., "iqr": ..., "stddev": ..., "rounds": 9}}],
     "datetime": "2021-01-24T05:34:11.283492+00:00"}

The value is the median of the rounds in seconds. Its standard error is that of normal rounds with
the same quartiles, or the same standard deviation where quartiles are missing or the rounds are too
few for them; a mean replaces a missing median.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.commits import commits_in
from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFile, HistoryFormat, Session
from hindmost.analysis.readers.json_values import JsonObject, expect, member, read_object
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import (
    NORMAL_QUARTILES,
    OF_QUARTILES,
    StandardError,
    error_of_median,
)
from hindmost.parsing import LARGEST

TIMER = "time"
FEW_ROUNDS = 10
"""Rounds up to which their standard deviation is believed rather than their quartiles."""


def _commits(data: JsonObject) -> dict[str, str]:
    info = data.get("commit_info")
    if not isinstance(info, dict):
        return {}
    commit = commits_in({"commit": info.get("id")}).get("")
    if commit is None:
        return {}
    project = info.get("project")
    name = project if isinstance(project, str) and project.lower() != "unknown" else ""
    changed = " with changes" if info.get("dirty") is True else ""
    return {name: f"{commit}{changed}"}


def _number(stats: JsonObject, name: str) -> float:
    value = stats.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        return math.nan
    return float(value)


def _value(stats: JsonObject) -> tuple[Any, StandardError]:
    """Return the value of a benchmark and its spread."""
    rounds, deviation = _number(stats, "rounds"), _number(stats, "stddev")
    if not rounds > 1:
        value = stats.get("mean") if stats.get("median") is None else stats["median"]
        return value, StandardError(math.nan)
    freedom = rounds - 1.0
    if stats.get("median") is None:
        return stats.get("mean"), StandardError(deviation / math.sqrt(rounds), freedom)
    between = _number(stats, "iqr")
    if between > 0 and (rounds > FEW_ROUNDS or math.isnan(deviation)):
        deviation = between / NORMAL_QUARTILES
        freedom = max(OF_QUARTILES * freedom, 1.0)
    return stats["median"], StandardError(error_of_median(deviation, rounds), freedom)


def _read(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    path = source.path
    data = read_object(path)
    time = seconds_since_1970(member(data, "datetime", None, f"{path}:"), f"{path}: datetime")
    info = data.get("machine_info")
    node = info.get("node") if isinstance(info, dict) else None
    machine = str(node or source.folder_machine)
    session = Session(machine=machine, time=time, file=str(path), commits=_commits(data))
    for at, entry in enumerate(member(data, "benchmarks", list, f"{path}:")):
        where = f"{path}: benchmarks[{at}]"
        expect(entry, dict, where)
        name = member(entry, "fullname" if "fullname" in entry else "name", str, where)
        stats = entry.get("stats")
        if not stats:
            yield session.failed(name, "no statistics")
            continue
        value, spread = _value(expect(stats, dict, f"{where} stats"))
        yield session.result(name, {TIMER: value}, errors={TIMER: spread})


def _recognises(path: Path, head: bytes) -> bool:
    return all(re.search(rb'"%s"\s*:' % key, head) for key in (b"machine_info", b"commit_info"))


PYTEST_BENCHMARK = HistoryFormat(
    name="pytest-benchmark",
    looks_like='an object with "machine_info", "commit_info" and "benchmarks" (pytest-benchmark)',
    recognises=_recognises,
    read=_read,
)
