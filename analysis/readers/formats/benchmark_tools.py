"""JSON of benchmark tools, of one file a run of the tool, or one with all runs.

Of Google Benchmark (``--benchmark_out``)::

    {"context": {"date": "2021-01-24T05:34:11+00:00", "host_name": "blake", "executable": "./gb"},
     "benchmarks": [{"name": "sum/100", "run_name": "sum/100", "run_type": "iteration",
                     "real_time": 588.7, "cpu_time": 588.8, "time_unit": "ns"}]}

A case is a benchmark of a program, and the timers are ``real_time``, ``cpu_time`` and all counters;
rates, as ``items_per_second``, should be large. Aggregates are left out, unless only these were
written: then it is their mean, with their standard deviation. The commit is a value of the context
with a name like ``git_commit`` (``--benchmark_context=git_commit=...``).

Of pytest-benchmark (``--benchmark-json``, ``--benchmark-autosave``)::

    {"machine_info": {"node": "blake"},
     "commit_info": {"id": "6177ebf...", "project": "albany", "dirty": false},
     "benchmarks": [{"fullname": "test_sort.py::test_sort[10]",
                     "stats": {"median": ..., "iqr": ..., "stddev": ..., "rounds": 9}}],
     "datetime": "2021-01-24T05:34:11.283492+00:00"}

The value is the median of the rounds in seconds. Its standard error is that of normal rounds with
the same quartiles, or the same standard deviation where quartiles are missing or the rounds are too
few for them; a mean replaces a missing median.

Of hyperfine (``--export-json``), versions 1 and 2 of the program::

    {"results": [{"command": "sleep 0.1", "median": 0.1, "times": [0.1, 0.1], "exit_codes": [0, 0],
                  "parameters": {"delay": "0.1"}}]}
    {"schema_version": 2, "metadata": {"start_time": "2026-10-07T21:13:00Z"},
     "results": [{"command": "sleep 0.1", "name": "nap", "measurements": [
         {"time_wall_clock": {"value": 0.1, "unit": "second"}, "exit_code": 0}]}]}

A case is a command, or its name, with those of its parameters that it does not show. The timers are
``time`` (wall clock) and ``memory`` (the peak, if measured). A command of which a run ended with
another status than 0 failed. Version 1 has no date, see `provenance.dated`.

Of github-action-benchmark: its page's ``data.js``, or the JSON without its first word::

    window.BENCHMARK_DATA = {
      "repoUrl": "https://github.com/albany/fast",
      "entries": {"Benchmark": [
        {"commit": {"id": "6177ebf..."}, "date": 1795282854000, "tool": "googlecpp",
         "benches": [{"name": "BM_dot", "value": 0.62, "unit": "ns/iter"}]}]}}

The time is that of the run, not of the commit. A case is a benchmark, after the name of its suite
unless that is the default, ``Benchmark``. The timer is ``time`` where the unit is one of time, also
per iteration or operation, and ``value`` elsewhere. Fits of Google Benchmark (``_BigO``, ``_RMS``)
have no value and are left out. The machine is that of the folder's name. Only the tools
``customBiggerIsBetter`` and ``customSmallerIsBetter`` say which values are better; for others the
unit does (``iter/sec``). The range of a value is not read, as every tool means something else by
it.

Repetitions of a case in one run are one value, their median.

Results of asv (airspeed velocity): ``results/MACHINE/COMMIT-ENVIRONMENT.json``.

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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import (
    NORMAL_QUARTILES,
    OF_QUARTILES,
    CaseResult,
    HistoryEntry,
    HistoryFormat,
    Session,
    StandardError,
    Value,
    error_of_median,
)
from hindmost.analysis.readers.history import NOT_KNOWN, Circumstances
from hindmost.analysis.readers.provenance import commits_in, dated, seconds_since_1970
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import (
    IN_SECONDS,
    JsonObject,
    entries_of,
    expect,
    inner,
    load,
    member,
    name_in,
    read_object,
    read_text,
)
from hindmost.errors import DataError
from hindmost.parsing import LARGEST

UNREADABLE = "benchmarks that cannot be read"


def has(*patterns: bytes) -> Callable[[Path, bytes], bool]:
    """Return what recognises files whose beginning has all of some patterns."""
    found = [re.compile(pattern) for pattern in patterns]
    return lambda path, head: all(each.search(head) for each in found)


# Google Benchmark.

TIMES = ("real_time", "cpu_time")
NO_COUNTERS = (
    *("name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions"),
    *("repetition_index", "threads", "iterations", "time_unit", "aggregate_name", "aggregate_unit"),
    *("label", "error_occurred", "error_message", "skipped", "skip_message"),
)
"""Keys of every result other than its times and counters."""


def units_of(entry: JsonObject) -> dict[str, str]:
    """Return the units of a result's timers."""
    unit = str(entry.get("time_unit", "ns"))
    return {
        name: unit if name in TIMES else "1/s" if name.endswith("_per_second") else ""
        for name, value in entry.items()
        if name in TIMES or (name not in NO_COUNTERS and isinstance(value, int | float))
    }


def read_google(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of a file of Google Benchmark."""
    data = read_object(path)
    context = member(data, "context", dict, f"{path}:")
    date = member(context, "date", None, f"{path}: context")
    session = Session(
        machine=str(context.get("host_name") or folder_machine),
        time=seconds_since_1970(date, f"{path}: context date"),
        file=str(path),
        commits=commits_in(context),
    )
    program = str(context.get("executable") or "").replace("\\", "/").rpartition("/")[2]
    cases: dict[str, dict[str, list[JsonObject]]] = {}
    for entry, where in entries_of(data, "benchmarks", f"{path}:"):
        with remarks.leaving_out(UNREADABLE, "benchmark"):
            name = name_in(entry, "name", where)
            is_aggregate = entry.get("run_type") == "aggregate"
            kind = str(entry.get("aggregate_name", "")) if is_aggregate else ""
            of_case = cases.setdefault(str(entry.get("run_name") or name), {})
            of_case.setdefault(kind, []).append(entry)
    for name, kinds in cases.items():
        case = f"{program}: {name}" if program else name
        every = [entry for entries in kinds.values() for entry in entries]
        bad = [each for each in every if each.get("error_occurred") or each.get("skipped")]
        if bad:
            why = bad[0].get("error_message") or bad[0].get("skip_message") or "failed"
            yield session.failed(case, str(why))
        elif single := kinds.get(""):
            values = [
                Value(timer=timer, values=[each.get(timer) for each in single], unit=unit)
                for timer, unit in units_of(single[0]).items()
            ]
            yield session.measured(case, values)
        elif "mean" in kinds:
            deviation = kinds.get("stddev", [{}])[-1]
            yield session.measured(case, of_mean(kinds["mean"][-1], deviation))
        else:
            remarks.add(
                "benchmarks with neither repetitions nor their mean",
                f"{path}: {name} has neither a repetition nor a mean; left out.",
            )


def of_mean(mean: JsonObject, deviations: JsonObject) -> Iterator[Value]:
    """Yield means, with standard errors if there are standard deviations."""
    count = mean.get("repetitions")
    for timer, unit in units_of(mean).items():
        deviation, error = deviations.get(timer), None
        if isinstance(count, int) and 1 < count < LARGEST and type(deviation) is float:
            error = StandardError(deviation / math.sqrt(count), count - 1.0)
        yield Value(timer=timer, values=[mean[timer]], unit=unit, error=error)


GOOGLE_BENCHMARK = HistoryFormat(
    name="google-benchmark",
    looks_like='an object with "context" and "benchmarks" (Google Benchmark)',
    recognises=has(rb'"context"\s*:\s*\{', rb'"benchmarks"\s*:'),
    read=read_google,
)


# pytest-benchmark.


def commits_of_session(info: JsonObject) -> dict[str, str]:
    """Return the commit that a session of pytest measured."""
    commit = commits_in({"commit": info.get("id")}).get("")
    if commit is None:
        return {}
    project = info.get("project")
    name = project if isinstance(project, str) and project.lower() != "unknown" else ""
    return {name: f"{commit}{' with changes' if info.get('dirty') is True else ''}"}


def number_in(stats: JsonObject, name: str) -> float:
    """Return a number, NaN if it is none."""
    value = stats.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST:
        return math.nan
    return float(value)


def of_rounds(stats: JsonObject) -> tuple[Any, StandardError]:
    """Return the value of a benchmark and its spread."""
    rounds, deviation = number_in(stats, "rounds"), number_in(stats, "stddev")
    median = stats.get("median")
    value = stats.get("mean") if median is None else median
    if not rounds > 1:
        return value, StandardError(math.nan)
    freedom = rounds - 1.0
    if median is None:
        return value, StandardError(deviation / math.sqrt(rounds), freedom)
    between = number_in(stats, "iqr")
    # Of few rounds the deviation is believed rather than the quartiles.
    if between > 0 and (rounds > 10 or math.isnan(deviation)):
        deviation = between / NORMAL_QUARTILES
        freedom = max(OF_QUARTILES * freedom, 1.0)
    return value, StandardError(error_of_median(deviation, rounds), freedom)


def read_pytest(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of a session of pytest."""
    data = read_object(path)
    session = Session(
        machine=str(inner(data, "machine_info").get("node") or folder_machine),
        time=seconds_since_1970(member(data, "datetime", None, f"{path}:"), f"{path}: datetime"),
        file=str(path),
        commits=commits_of_session(inner(data, "commit_info")),
    )
    for entry, where in entries_of(data, "benchmarks", f"{path}:"):
        with remarks.leaving_out(UNREADABLE, "benchmark"):
            key = "fullname" if "fullname" in expect(entry, dict, where) else "name"
            name = name_in(entry, key, where)
            stats = entry.get("stats")
            if stats:
                value, spread = of_rounds(expect(stats, dict, f"{where} stats"))
                time = Value(timer="time", values=[value], unit="s", error=spread)
                yield session.measured(name, [time])
            else:
                yield session.failed(name, "no statistics")


PYTEST_BENCHMARK = HistoryFormat(
    name="pytest-benchmark",
    looks_like='an object with "machine_info", "commit_info" and "benchmarks" (pytest-benchmark)',
    recognises=has(rb'"machine_info"\s*:', rb'"commit_info"\s*:'),
    read=read_pytest,
)


# hyperfine.

METRICS = {"time_wall_clock": "time", "memory_peak_resident": "memory"}
"""Timer by the metric of version 2."""


def of_command(entry: JsonObject, where: str) -> tuple[list[Value], list[Any]]:
    """Return the values of all runs of a command, and their exit statuses."""
    if "measurements" not in entry:
        # Without the single times there is still their median.
        times = entry.get("times") or [entry.get("median", entry.get("mean"))]
        given = [Value(timer="time", values=expect(times, list, f"{where} times"), unit="s")]
        memory, codes = entry.get("memory_usage_byte"), entry.get("exit_codes")
        if isinstance(memory, list) and memory:
            given.append(Value(timer="memory", values=memory, unit="bytes"))
        return given, codes if isinstance(codes, list) else []
    measured, statuses = dict[str, tuple[list[Any], str]](), []
    for run, place in entries_of(entry, "measurements", where):
        expect(run, dict, place)
        statuses.append(run.get("exit_code", 0))
        for metric, timer in METRICS.items():
            if quantity := inner(run, metric):
                unit = str(quantity.get("unit", ""))
                values, _ = measured.setdefault(timer, ([], "bytes" if unit == "byte" else unit))
                values.append(quantity.get("value"))
    return [Value(timer=t, values=v, unit=unit) for t, (v, unit) in measured.items()], statuses


def read_hyperfine(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of a file of hyperfine."""
    data = read_object(path)
    begun = inner(data, "metadata").get("start_time")
    time = (
        dated(path, remarks) if begun is None else seconds_since_1970(begun, f"{path}: start_time")
    )
    session = Session(machine=folder_machine, time=time, file=str(path))
    for entry, where in entries_of(data, "results", f"{path}:"):
        with remarks.leaving_out(UNREADABLE, "command"):
            command, name = name_in(entry, "command", where), entry.get("name")
            case = name if isinstance(name, str) and name.strip() else command
            parameters = inner(entry, "parameters").items()
            hidden = [f"{key}={value}" for key, value in parameters if str(value) not in case]
            case = f"{case} ({', '.join(hidden)})" if hidden else case
            measured, statuses = of_command(entry, where)
            bad = [status for status in statuses if status != 0]
            if bad:
                ended = "was killed" if bad[0] is None else f"ended with status {bad[0]}"
                yield session.failed(case, ended)
            else:
                yield session.measured(case, measured)


HYPERFINE = HistoryFormat(
    name="hyperfine",
    looks_like='an object with "results", each with "command" and "times" (hyperfine)',
    recognises=has(
        rb'"results"\s*:\s*\[', rb'"command"\s*:', rb'"(?:mean|median|measurements)"\s*:'
    ),
    read=read_hyperfine,
)


# github-action-benchmark.

DEFAULT_SUITE = "Benchmark"
DIRECTIONS = {"customBiggerIsBetter": False, "customSmallerIsBetter": True}
"""Tool to whether smaller values are better."""
_PREFIX = re.compile(r"\s*window\.BENCHMARK_DATA\s*=\s*")
_PER_ITERATION = re.compile(r"\s*/\s*(?:iter|iteration|op|ops|call)$", re.IGNORECASE)
_FIT = re.compile(r"_(?:BigO|RMS)$")


def of_page(
    run: Any, suite: str, where: str, session: Session, remarks: Remarks
) -> Iterator[CaseResult]:
    """Yield the results of a run, one for each of its benchmarks."""
    time = seconds_since_1970(member(run, "date", None, where), f"{where} date")
    commit = inner(run, "commit").get("id")
    session = replace(session, time=time, commits={"": str(commit)} if commit else {})
    direction = DIRECTIONS.get(str(run.get("tool")))
    cases: dict[tuple[str, str, str], list[Any]] = {}
    for bench, place in entries_of(run, "benches", where):
        with remarks.leaving_out(UNREADABLE, "benchmark"):
            name = name_in(bench, "name", place)
            if "value" not in bench and _FIT.search(name):
                continue
            written = str(bench.get("unit") or "").strip()
            plain = _PER_ITERATION.sub("", written)
            unit = ("time", plain) if plain.lower() in IN_SECONDS else ("value", written)
            cases.setdefault((name, *unit), []).append(bench.get("value"))
    for (case, timer, unit_name), values in cases.items():
        value = Value(timer=timer, values=values, unit=unit_name, smaller_is_better=direction)
        yield session.measured(case if suite == DEFAULT_SUITE else f"{suite}: {case}", [value])


def read_page(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of a file of github-action-benchmark, JavaScript or JSON."""
    text = read_text(path)
    prefix = _PREFIX.match(text)
    if prefix is not None:
        text = "\n" * text.count("\n", 0, prefix.end()) + text[prefix.end() :].rstrip().rstrip(";")
    data = expect(load(text, str(path)), dict, f"{path}: the document")
    address = data.get("repoUrl")
    known = Circumstances(repositories={"": address}) if isinstance(address, str) else NOT_KNOWN
    session = Session(machine=folder_machine, time=0.0, file=str(path), circumstances=known)
    for suite, runs in member(data, "entries", dict, f"{path}:").items():
        for at, run in enumerate(expect(runs, list, f"{path}: entries {suite}")):
            with remarks.leaving_out("runs that cannot be read", "run"):
                where = f"{path}: {suite}[{at}]"
                yield from list(of_page(run, suite, where, session, remarks))


GITHUB_ACTION_BENCHMARK = HistoryFormat(
    name="github-action-benchmark",
    looks_like='data.js with "entries" of runs, each with "benches" (github-action-benchmark)',
    recognises=has(rb'"entries"\s*:\s*\{', rb'"benches"'),
    read=read_page,
)


BENCHMARKS = "benchmarks.json"

KINDS = {
    "time": ("time", "s"),
    "timeraw": ("time", "s"),
    "mem": ("memory", "bytes"),
    "peakmem": ("peakmemory", "bytes"),
    "track": ("track", ""),
}
"""Timer and unit by how the name of a benchmark begins."""


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
    # No list says how many combinations a benchmark has that failed as a whole.
    if results is None and combinations <= 10_000:
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
            measured = Value(timer=timer, values=[value], unit=unit, error=_spread(columns, at))
            yield session.measured(case, [measured])


def _read_asv(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
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


def _recognises_asv(path: Path, head: bytes) -> bool:
    has_commit = re.search(rb'"commit_hash"\s*:', head) is not None
    return has_commit and (b'"results"' in head or COMMIT_NAME.match(path.name) is not None)


ASV = HistoryFormat(
    name="asv",
    looks_like='results/MACHINE/COMMIT-ENVIRONMENT.json with "commit_hash" and "results" (asv)',
    recognises=_recognises_asv,
    read=_read_asv,
    companions=(BENCHMARKS, "machine.json"),
)

FORMATS = (PYTEST_BENCHMARK, GOOGLE_BENCHMARK, ASV, HYPERFINE, GITHUB_ACTION_BENCHMARK)
