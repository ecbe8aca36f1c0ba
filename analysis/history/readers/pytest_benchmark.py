"""JSON of pytest-benchmark (``--benchmark-json``, ``--benchmark-autosave``), one file a session.

::

    {"machine_info": {"node": "blake"},
     "commit_info": {"id": "6177ebf...", "project": "albany", "dirty": false},
     "benchmarks": [{"fullname": "test_sort.py::test_sort[10]",
                     "stats": {"median": ..., "iqr": ..., "stddev": ..., "rounds": 9}}],
     "datetime": "2021-01-24T05:34:11.283492+00:00"}

The value is the median of the rounds in seconds. Its standard error is that of normal rounds with
the same quartiles, or the same standard deviation where there are none; a mean stands in for a
median that is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.history.readers.commits import commits_in
from hindmost.analysis.history.readers.dates import seconds_since_1970
from hindmost.analysis.history.readers.measured import Found, HistoryFormat, Measured, Source
from hindmost.analysis.history.readers.repetitions import HUGE, NORMAL_QUARTILES, OF_A_MEDIAN
from hindmost.analysis.history.records import FailedRun
from hindmost.analysis.readers.json_numbers import load
from hindmost.analysis.readers.json_shape import expect, member
from hindmost.analysis.readers.lines import read_text
from hindmost.analysis.readers.remarks import Remarks

TIMER = "time"


def _commits(data: dict[str, Any]) -> dict[str, str]:
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


def _number(stats: dict[str, Any], name: str) -> float:
    value = stats.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > HUGE:
        return math.nan
    return float(value)


def _value(stats: dict[str, Any]) -> tuple[Any, float]:
    """Return the value of a benchmark and its standard error."""
    rounds = _number(stats, "rounds")
    root = math.sqrt(rounds) if rounds > 1 else math.nan
    if stats.get("median") is None:
        return stats.get("mean"), _number(stats, "stddev") / root
    between = _number(stats, "iqr")
    deviation = between / NORMAL_QUARTILES if between > 0 else _number(stats, "stddev")
    return stats["median"], OF_A_MEDIAN * deviation / root


def _read(source: Source, remarks: Remarks) -> Iterator[Found]:
    path = source.path
    data = expect(load(read_text(path), str(path)), dict, f"{path}: the whole")
    time = seconds_since_1970(member(data, "datetime", None, f"{path}:"), f"{path}: datetime")
    info = data.get("machine_info")
    node = info.get("node") if isinstance(info, dict) else None
    machine = str(node or source.folder)
    commits = _commits(data)
    for at, entry in enumerate(member(data, "benchmarks", list, f"{path}:")):
        where = f"{path}: benchmarks[{at}]"
        expect(entry, dict, where)
        name = member(entry, "fullname" if "fullname" in entry else "name", str, where)
        stats = entry.get("stats")
        if not stats:
            yield FailedRun(
                time=time, machine=machine, case=name, reason="no statistics", file=str(path)
            )
            continue
        value, spread = _value(expect(stats, dict, f"{where} stats"))
        yield Measured(
            machine=machine,
            case=name,
            time=time,
            file=str(path),
            values={TIMER: value},
            commits=commits,
            spreads={TIMER: spread},
        )


def _recognises(path: Path, head: bytes) -> bool:
    if re.search(rb'"machine_info"\s*:', head) and re.search(rb'"commit_info"\s*:', head):
        return True
    # With sorted keys the benchmarks come first, and the rest may be far behind.
    return re.search(rb'"benchmarks"\s*:', head) is not None and b'"stddev_outliers"' in head


PYTEST_BENCHMARK = HistoryFormat(
    name="pytest-benchmark",
    looks_like='an object with "machine_info", "commit_info" and "benchmarks" (pytest-benchmark)',
    recognises=_recognises,
    read=_read,
)
