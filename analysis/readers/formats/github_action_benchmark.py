"""Histories of github-action-benchmark: its page's ``data.js``, or the JSON without its first word.

::

    window.BENCHMARK_DATA = {
      "repoUrl": "https://github.com/albany/fast",
      "entries": {"Benchmark": [
        {"commit": {"id": "6177ebf..."}, "date": 1795282854000, "tool": "googlecpp",
         "benches": [{"name": "BM_dot", "value": 0.62, "unit": "ns/iter"}]}]}}

One file contains all runs of all suites. The time is that of the run, not of the commit. A case is
a benchmark, after the name of its suite unless that is the default, ``Benchmark``. The timer is
``time`` where the unit is one of time, also per iteration or operation, and ``value`` elsewhere.
Values of one name in one run are repetitions: their median counts. Fits of Google Benchmark
(``_BigO``, ``_RMS``) have no value and are left out. The machine is that of the folder's name.
Only the tools ``customBiggerIsBetter`` and ``customSmallerIsBetter`` say which values are better;
for others the unit does (``iter/sec``). The range of a value is not read, as every tool means
something else by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import (
    CaseResult,
    HistoryEntry,
    HistoryFile,
    HistoryFormat,
    Session,
)
from hindmost.analysis.readers.json_values import JsonObject, expect, load, member
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import summarise
from hindmost.analysis.readers.text_files import read_text
from hindmost.analysis.readers.units import IN_SECONDS
from hindmost.errors import DataError

DEFAULT_SUITE = "Benchmark"
DIRECTIONS = {"customBiggerIsBetter": False, "customSmallerIsBetter": True}
"""Tool to whether smaller values are better."""

_PREFIX = re.compile(r"\s*window\.BENCHMARK_DATA\s*=\s*")
_PER_ITERATION = re.compile(r"\s*/\s*(?:iter|iteration|op|ops|call)$", re.IGNORECASE)
_FIT = re.compile(r"_(?:BigO|RMS)$")


def _unit(bench: JsonObject) -> tuple[str, str]:
    """Return timer and unit of a benchmark."""
    written = str(bench.get("unit") or "").strip()
    plain = _PER_ITERATION.sub("", written)
    return ("time", plain) if plain.lower() in IN_SECONDS else ("value", written)


def _run(run: Any, suite: str, where: str, file: str, machine: str) -> Iterator[CaseResult]:
    """Yield the results of a run, one for each of its benchmarks."""
    time = seconds_since_1970(member(run, "date", None, where), f"{where} date")
    commit = run.get("commit")
    name = commit.get("id") if isinstance(commit, dict) else None
    commits = {"": str(name)} if name else {}
    session = Session(machine=machine, time=time, file=file, commits=commits)
    direction = DIRECTIONS.get(str(run.get("tool")))
    cases: dict[tuple[str, str, str], list[Any]] = {}
    for at, bench in enumerate(member(run, "benches", list, where)):
        each = member(bench, "name", str, f"{where} benches[{at}]")
        if "value" not in bench and _FIT.search(each):
            continue
        cases.setdefault((each, *_unit(bench)), []).append(bench.get("value"))
    for (case, timer, unit), values in cases.items():
        value, error = summarise(values)
        yield session.result(
            case if suite == DEFAULT_SUITE else f"{suite}: {case}",
            {timer: value},
            units={timer: unit},
            errors={} if error is None else {timer: error},
            smaller_is_better={} if direction is None else {timer: direction},
        )


def _document(path: Path) -> JsonObject:
    """Return the object of a file, with or without the assignment that makes it JavaScript."""
    text = read_text(path)
    prefix = _PREFIX.match(text)
    if prefix is not None:
        text = "\n" * text.count("\n", 0, prefix.end()) + text[prefix.end() :].rstrip().rstrip(";")
    found: JsonObject = expect(load(text, str(path)), dict, f"{path}: the document")
    return found


def _read(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    path = source.path
    data = _document(path)
    machine = source.folder_machine
    for suite, runs in member(data, "entries", dict, f"{path}:").items():
        for at, run in enumerate(expect(runs, list, f"{path}: entries {suite}")):
            try:
                found = list(_run(run, suite, f"{path}: {suite}[{at}]", str(path), machine))
            except DataError as error:
                remarks.add("runs that cannot be read", f"{error} The run is left out.")
                continue
            yield from found


def _recognises(path: Path, head: bytes) -> bool:
    return re.search(rb'"entries"\s*:\s*\{', head) is not None and b'"benches"' in head


GITHUB_ACTION_BENCHMARK = HistoryFormat(
    name="github-action-benchmark",
    looks_like='data.js with "entries" of runs, each with "benches" (github-action-benchmark)',
    recognises=_recognises,
    read=_read,
)
