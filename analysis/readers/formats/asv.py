"""Results of asv (airspeed velocity): ``results/MACHINE/COMMIT-ENVIRONMENT.json``.

::

    {"commit_hash": "c3b9...", "env_name": "virtualenv-py3.11", "date": 1795282854000,
     "params": {"machine": "m1"}, "result_columns": ["result", "params", "version", ...],
     "results": {"suite.time_sort": [[2.9e-06, null], [["10", "1000"]], "b71d...", ...]}}

This is the second version of the format; ``asv update`` turns files of the first into it. The time
is the commit's, in milliseconds, as asv itself plots it: older commits are often measured later. A
case is a benchmark with its parameters, as asv writes it, and the environment; the timer is the
measured quantity: time, memory, peakmemory, or track. null is a failure of these parameters, NaN
was skipped.
``benchmarks.json`` next to the machines gives units; without it they follow from the benchmarks'
names. It also says the version of each benchmark: results of another version measured something
else and are left out, as asv does. The standard error is that of asv's 99 % interval, with the
degrees of freedom of its repeats.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.json_values import JsonObject, inner, member, read_object
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import StandardError
from hindmost.errors import DataError
from hindmost.parsing import LARGEST

BENCHMARKS = "benchmarks.json"

KINDS = {
    "time": ("time", "s"),
    "timeraw": ("time", "s"),
    "mem": ("memory", "bytes"),
    "peakmem": ("peakmemory", "bytes"),
    "track": ("track", ""),
}
"""Timer and unit by how the name of a benchmark begins."""

MAX_COMBINATIONS = 10_000
"""Of parameters, of a benchmark that failed as a whole: no list of results says how many."""

COMMIT_NAME = re.compile(r"[0-9a-f]{7,40}-.*\.json$")
"""Name of a file of results."""

Described = dict[str, JsonObject]


def _described(path: Path, remarks: Remarks) -> Described:
    """Return the contents of ``benchmarks.json``; empty if it does not exist."""
    for folder in (path.absolute().parent.parent, path.absolute().parent):
        description = folder / BENCHMARKS
        if description.is_file():
            try:
                found = read_object(description)
            except DataError as error:
                remarks.add("descriptions that cannot be read", f"{error} It is left out.")
                return {}
            return {name: each for name, each in found.items() if isinstance(each, dict)}
    return {}


def _kind(name: str, described: JsonObject) -> tuple[str, str]:
    """Return timer and unit of a benchmark."""
    begin = re.split(r"[_A-Z]", name.rsplit(".", 1)[-1], maxsplit=1)[0]
    timer, unit = KINDS.get(begin, ("track", ""))
    return str(described.get("type") or timer), str(described.get("unit") or unit)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Any, at: int) -> Any:
    """Return an entry of a list that may be missing or too short."""
    return values[at] if isinstance(values, list) and at < len(values) else None


def _spread(columns: JsonObject, at: int) -> StandardError:
    """Return the spread whose 99 % interval is that of the file.

    asv widens its interval where repeats are few, so the quantile it is divided by is Student's.
    """
    low, high = (_at(columns.get(f"stats_ci_99_{end}"), at) for end in "ab")
    repeats = _at(columns.get("stats_repeat"), at)
    if type(low) is not float or type(high) is not float or not math.isfinite(high - low):
        return StandardError(math.nan)
    # A history of another format does not wait for scipy.
    from scipy import special

    known = type(repeats) in (int, float) and 1 < repeats < LARGEST
    freedom = float(repeats) - 1.0 if known else math.inf
    return StandardError(0.5 * (high - low) / float(special.stdtrit(freedom, 0.995)), freedom)


def _benchmark(
    name: str,
    columns: JsonObject,
    described: JsonObject,
    session: Session,
    environment: str,
    remarks: Remarks,
) -> Iterator[HistoryEntry]:
    """Yield the results of a benchmark, one for each of its parameters."""
    where = f"{session.file}: {name}"
    versions = [columns.get("version"), described.get("version")]
    if None not in versions and versions[0] != versions[1]:
        remarks.add(
            "benchmarks of another version",
            f"{where} was measured in a version other than that in {BENCHMARKS}; left out.",
        )
        return
    timer, unit = _kind(name, described)
    parameters = [_listed(each) for each in _listed(columns.get("params"))]
    combinations = math.prod(map(len, parameters))
    results = columns.get("result")
    if results is None and combinations <= MAX_COMBINATIONS:
        results = [None] * combinations
    elif not isinstance(results, list):
        results = [results]
    if len(results) != combinations:
        raise DataError(
            f"{where} has {len(results)} results for {combinations} combinations of parameters."
        )
    for at, (point, value) in enumerate(zip(itertools.product(*parameters), results, strict=True)):
        shown = f"{name}({', '.join(map(str, point))})" if point else name
        case = f"{shown} [{environment}]" if environment else shown
        if value is None:
            yield session.failed(case, "the benchmark failed")
        elif isinstance(value, float) and math.isnan(value):
            remarks.add(
                "benchmarks that were skipped",
                f"{session.file}: {case}, {timer} is NaN, which is not a finite number: skipped.",
            )
        else:
            error = _spread(columns, at)
            yield session.result(case, {timer: value}, units={timer: unit}, errors={timer: error})


def _read(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    data = read_object(path)
    machine = inner(data, "params").get("machine")
    commit = member(data, "commit_hash", str, f"{path}:")
    environment = str(data.get("env_name") or path.stem.partition("-")[2])
    session = Session(
        machine=str(machine or path.absolute().parent.name),
        time=seconds_since_1970(member(data, "date", None, f"{path}:"), f"{path}: date"),
        file=str(path),
        commits={"": commit} if commit else {},
    )
    if "result_columns" not in data:
        raise DataError(f"{path}: the first version of asv's format; run 'asv update' once.")
    described = _described(path, remarks)
    columns = [str(each) for each in _listed(data.get("result_columns"))]
    for name, result in member(data, "results", dict, f"{path}:").items():
        # A single number or null stands for a benchmark without parameters, or that failed.
        values = result if isinstance(result, list) else [result]
        by_column = dict(zip(columns if values is result else ["result"], values, strict=False))
        with remarks.leaving_out("benchmarks that cannot be read", "benchmark"):
            if not name.strip():
                raise DataError(f"{path} has a benchmark without a name.")
            yield from list(
                _benchmark(name, by_column, described.get(name, {}), session, environment, remarks)
            )


def _recognises(path: Path, head: bytes) -> bool:
    has_commit = re.search(rb'"commit_hash"\s*:', head) is not None
    return has_commit and (b'"results"' in head or COMMIT_NAME.match(path.name) is not None)


ASV = HistoryFormat(
    name="asv",
    looks_like='results/MACHINE/COMMIT-ENVIRONMENT.json with "commit_hash" and "results" (asv)',
    recognises=_recognises,
    read=_read,
    companions=(BENCHMARKS, "machine.json"),
)
