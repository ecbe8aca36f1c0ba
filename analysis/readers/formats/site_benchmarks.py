"""Results of what runs a site's benchmarks: ReFrame, TALP and Ramble (Benchpark).

ReFrame 4 appends a line for each test to ``perflogs/SYSTEM/PARTITION/TEST.log``::

    result|job_completion_time|...|environ|...|name|...|triad_value|triad_unit|triad_ref|...|system
    pass|2026-11-28T03:00:12|...|gnu|...|stream %size=1|...|123.4|MB/s|0|...|blake

and writes a report of each session (``--report-file``, ``~/.reframe/reports``) with
``runs[].testcases[]``, whose ``perfvalues`` are ``[value, reference, lower, upper, unit, result]``.
The machine is the system with its partition, a case is a test with its parameters in an
environment. A test whose value is beyond its reference failed for ReFrame; its value counts here.
Thresholds tell the direction: only a lower one means that larger is better. Retries of one session
are several results of one night.

TALP (DLB) writes the efficiencies of the regions of a program as JSON (``--talp-output-file``): in
``Application``, or in ``popMetrics`` by older versions. Times are in nanoseconds. What has no
value, such as the efficiency of OpenMP in a program without it, is left out as a remark.

Ramble's ``results.DATE.json`` (``ramble workspace analyze --format json``), also of Benchpark, has
experiments with figures of merit by context. A case is an experiment; an experiment that did not
succeed is a failed run.

Results of benchmarks within a language's tests: criterion, Go, JMH and Catch2.

Criterion (Rust): the lines of ``cargo criterion --message-format=json``, of which one is a result::

    {"reason":"benchmark-complete","id":"sum/10","unit":"ns","median":{"estimate":1.5,...},
     "iteration_count":[10,20],"measured_values":[15.0,30.0]}

Go: the text of ``go test -bench . -count 10``, with repetitions in lines of their own::

    pkg: example.org/fast
    cpu: AMD EPYC
    BenchmarkSum/10-8    1000000    1.52 ns/op    0 B/op    0 allocs/op

JMH: its JSON (``-rf json``), a list of benchmarks with ``primaryMetric``; the values are those of
all forks. Catch2: its XML (``--reporter xml``) with ``BenchmarkResults`` in nanoseconds.

None of these files has a date: put it into their names, as ``go-2026-11-28.txt``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import Layout, Record, StandardError, Value, first
from hindmost.analysis.readers.formats.benchmark_tools import has
from hindmost.analysis.readers.formats.test_results import read_xml
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import (
    entries_of,
    expect,
    first_line,
    inner,
    load,
    read_object,
    read_text,
    split_lines,
)
from hindmost.errors import DataError
from hindmost.parsing import plain_number

# ReFrame.

MISSING = ("", "None", "null")
OF_TEST = ("value", "unit", "ref", "lower_thres", "upper_thres")
"""Columns of each performance variable."""
NAMES = ("name", "display_name")
"""Columns that name a test; a site chooses which are written."""
PLAIN_ENVIRONMENT = "builtin"


def number(text: Any) -> Any:
    """Return a number that is written as text, None of a missing one."""
    if not isinstance(text, str):
        return text
    try:
        return None if text in MISSING else plain_number(text)
    except ValueError:
        return text


def perflog(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the lines of a performance log, with its variables in ``perfvalues``."""
    lines = split_lines(read_text(path))
    columns = lines[0].split("|")
    for at, line in enumerate(lines[1:], start=2):
        fields = line.split("|")
        if len(fields) != len(columns):
            if line.strip():
                remarks.add(
                    "lines that are cut off",
                    f"{path}, line {at}: {len(fields)} fields, and {len(columns)} columns; "
                    "left out.",
                )
            continue
        row = {
            name: field for name, field in zip(columns, fields, strict=True) if field not in MISSING
        }
        names = [column.removesuffix("_value") for column in columns if column.endswith("_value")]
        row["perfvalues"] = {  # type: ignore[assignment]
            name: [number(row.get(f"{name}_{part}")) for part in ("value", "ref", *OF_TEST[3:])]
            + [row.get(f"{name}_unit", "")]
            for name in names
        }
        yield f"{path}, line {at}", named(row)


def is_perflog(path: Path, head: bytes) -> bool:
    """Tell whether the first line has the columns of a performance log."""
    columns = set(first_line(head).split("|"))
    return {"result", "system"} <= columns and not columns.isdisjoint(NAMES)


def testcases(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the test cases of a report."""
    report = read_object(path)
    session = inner(report, "session_info")
    for run, where in entries_of(report, "runs", f"{path}:"):
        for case, place in entries_of(run, "testcases", where):
            with remarks.leaving_out("test cases that cannot be read", "test case"):
                yield place, named({"session": session, **expect(case, dict, place)})


def perfvalues(record: Record) -> Iterator[Value]:
    """Yield the performance variables of a test."""
    found = record.get("perfvalues")
    for name, values in (found if isinstance(found, Mapping) else {}).items():
        known = values if isinstance(values, list) else []
        value, _, lower, upper, unit = [*known, *[None] * 5][:5]
        if value is not None:
            bounded = [each is not None for each in (lower, upper)]
            direction = None if all(bounded) or not any(bounded) else bounded[1]
            yield Value(
                timer=str(name).rpartition(":")[2],
                values=[value],
                unit=str(unit or ""),
                smaller_is_better=direction,
            )


def of_reframe(record: Record) -> str:
    """Say why a test gave no value; empty if it did."""
    if any(True for _ in perfvalues(record)) or record.get("result") in ("pass", "success"):
        return ""
    phase = record.get("fail_phase")
    return f"{record.get('result', 'fail')}{f' in {phase}' if phase else ''}"


def named(record: Record) -> Record:
    """Return a test with its machine, and its environment unless that is ReFrame's own."""
    system, partition = (str(record.get(key) or "") for key in ("system", "partition"))
    environment = str(first(record, ("environ", "environment")) or "")
    return {
        **record,
        "machine": system if ":" in system else ":".join(filter(None, (system, partition))),
        "environment": "" if environment == PLAIN_ENVIRONMENT else environment,
    }


REFRAME_LOG = Layout(
    name="reframe-perflog",
    looks_like="ReFrame's perflogs/SYSTEM/PARTITION/TEST.log",
    recognises=is_perflog,
    records=perflog,
    case=NAMES,
    values=perfvalues,
    time=("job_completion_time_unix", "job_completion_time"),
    machine=("machine",),
    failure=of_reframe,
    parameters=("environment",),
    software={"environment": "environment", "modules": "modules"},
)

REFRAME_REPORT = Layout(
    name="reframe-report",
    looks_like='ReFrame\'s run report, with "session_info" and "runs"',
    recognises=has(rb'"session_info"\s*:', rb'"runs"\s*:|"data_version"\s*:'),
    records=testcases,
    case=("display_name", "name"),
    values=perfvalues,
    time=("job_completion_time_unix", "session/time_start_unix", "session/time_end"),
    machine=("machine",),
    failure=of_reframe,
    parameters=("environment",),
    software={"environment": "environment", "ReFrame": "session/version"},
)


# TALP.

OF_REGION = (
    *("parallelEfficiency", "mpiParallelEfficiency", "mpiCommunicationEfficiency"),
    *("mpiLoadBalance", "mpiLoadBalanceIn", "mpiLoadBalanceOut", "ompParallelEfficiency"),
    *("ompLoadBalance", "ompSchedulingEfficiency", "ompSerializationEfficiency"),
)
TIMES = ("elapsedTime", "usefulTime", "mpiTime")
COUNTS = ("instructions", "cycles")


def regions(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the regions of a program."""
    data = read_object(path)
    found = data.get("popMetrics", data.get("Application"))
    pairs = (
        [(name, each) for name, each in found.items()]
        if isinstance(found, dict)
        else [(each.get("name"), each) for each in found or () if isinstance(each, dict)]
    )
    for name, region in pairs:
        ranks = first(data, ("resources/numMpiRanks",)) or first(region, ("numMpiRanks",))
        yield f"{path}: {name}", {**data, "region": name, "values": region, "ranks": ranks}


def of_region(record: Record) -> Iterator[Value]:
    """Yield efficiencies, times and counts; those that are 0 were not measured."""
    found = inner(dict(record), "values")
    for names, unit, smaller in ((OF_REGION, "", False), (TIMES, "ns", True), (COUNTS, "", True)):
        for name in names:
            if found.get(name):
                yield Value(timer=name, values=[found[name]], unit=unit, smaller_is_better=smaller)


TALP = Layout(
    name="talp",
    looks_like='JSON of TALP (DLB) with "dlbVersion" or "popMetrics"',
    recognises=has(rb'"popMetrics"\s*:|"Application"\s*:', rb'"parallelEfficiency"\s*:'),
    records=regions,
    case=("region",),
    values=of_region,
    time=("timestamp",),
    machine=("metadata/host", "resources/host"),
    parameters=("ranks",),
    software={"DLB": "dlbVersion"},
    commits={"": "metadata/git_commit"},
)


# Ramble.

SUCCESS = "SUCCESS"
DIRECTIONS = {"HIGHER": False, "LOWER": True}
SUMMARY = "summary::"
"""Prefix of what Ramble computes of repeats."""


def experiments(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the experiments of a file of results."""
    for each, where in entries_of(read_object(path), "experiments", f"{path}:"):
        yield where, each


def figures_of_merit(record: Record) -> Iterator[Value]:
    """Yield the figures of merit that are numbers, by context."""
    contexts = record.get("CONTEXTS")
    for context in contexts if isinstance(contexts, list) else ():
        name = str(first(context, ("display_name", "name")) or "")
        for figure, _ in entries_of(context, "foms", f"{name}:"):
            value, kind = number(first(figure, ("value",))), inner(figure, "fom_type")
            if isinstance(value, int | float) and not str(figure.get("name")).startswith(SUMMARY):
                where = "" if name in ("", "null") else f" ({name})"
                yield Value(
                    timer=f"{figure.get('name')}{where}",
                    values=[value],
                    unit=str(figure.get("units") or ""),
                    smaller_is_better=DIRECTIONS.get(str(kind.get("better_direction"))),
                )


RAMBLE = Layout(
    name="ramble",
    looks_like='Ramble\'s results.DATE.json with "experiments" (also of Benchpark)',
    recognises=has(rb'"experiments"\s*:\s*\[', rb'"RAMBLE_STATUS"\s*:'),
    records=experiments,
    case=("name",),
    values=figures_of_merit,
    machine=("RAMBLE_VARIABLES/host", "RAMBLE_VARIABLES/system_name"),
    failure=lambda each: (
        "" if each.get("RAMBLE_STATUS") == SUCCESS else str(each.get("RAMBLE_STATUS"))
    ),
)


# Criterion.


def messages(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the completed benchmarks."""
    for at, line in enumerate(split_lines(read_text(path)), start=1):
        if '"benchmark-complete"' in line:
            with remarks.leaving_out("lines that cannot be read", "line"):
                yield f"{path}, line {at}", expect(load(line, str(path), at), dict, f"{path}, {at}")


def of_criterion(record: Record) -> Iterator[Value]:
    """Yield the time of an iteration: the samples if they are there, else the median."""
    counts, values = record.get("iteration_count"), record.get("measured_values")
    unit = str(record.get("unit") or "ns")
    if isinstance(counts, list) and isinstance(values, list) and len(counts) == len(values) > 1:
        pairs = [(a, b) for a, b in zip(values, counts, strict=True) if is_count(a) and is_count(b)]
        yield Value(timer="time", values=[a / b for a, b in pairs], unit=unit)
        return
    for name in ("median", "typical", "mean"):
        if (estimate := first(record, (f"{name}/estimate",))) is not None:
            given = str(first(record, (f"{name}/unit",)) or unit)
            yield Value(timer="time", values=[estimate], unit=given)
            return


def is_count(value: Any) -> bool:
    """Tell whether a value is a number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


CRITERION = Layout(
    name="criterion",
    looks_like="lines of cargo criterion --message-format=json",
    recognises=has(rb'"reason"\s*:\s*"(?:benchmark|group)-complete"'),
    records=messages,
    case=("id",),
    values=of_criterion,
)


# Go.

_GO = re.compile(r"^(Benchmark\S*?)(?:-(\d+))?\s+(\d+)\s+(\S.*)$")
_GO_HEAD = re.compile(r"^(goos|goarch|pkg|cpu): (.*)$")
PER_OP = "/op"


def go_lines(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the benchmarks of a package, with all their repetitions."""
    head: dict[str, str] = {}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for at, line in enumerate(split_lines(read_text(path)), start=1):
        if (named := _GO_HEAD.match(line)) is not None:
            head[named[1]] = named[2].strip()
        elif (match := _GO.match(line)) is not None:
            case = ": ".join(filter(None, (head.get("pkg"), match[1].removeprefix("Benchmark"))))
            record = found.setdefault(
                (case, match[2] or "1"),
                {"case": case, "cpu": head.get("cpu"), "place": f"{path}, line {at}"},
            )
            record["procs"] = f"{match[2]} threads" if match[2] else ""
            fields = match[4].split()
            for value, unit in zip(fields[::2], fields[1::2], strict=False):
                record.setdefault("values", {}).setdefault(unit, []).append(number(value))
    if not found:
        raise DataError(f"{path} has no line of a benchmark, as 'BenchmarkSum-8 100 1.5 ns/op'.")
    for record in found.values():
        yield record["place"], record


def of_go(record: Record) -> Iterator[Value]:
    """Yield the values of a benchmark; those that are always 0 say nothing."""
    for unit, values in inner(dict(record), "values").items():
        plain = unit.removesuffix(PER_OP)
        if any(values):
            timer = {"ns": "time", "B": "memory", "allocs": "allocations"}.get(plain, unit)
            yield Value(timer=timer, values=values, unit="bytes" if plain == "B" else plain)


GO = Layout(
    name="go-bench",
    looks_like="the text of go test -bench",
    recognises=has(rb"(?m)^Benchmark\S*\s+\d+\s+[\d.e+-]+ \S+"),
    records=go_lines,
    case=("case",),
    values=of_go,
    parameters=("procs",),
    hardware={"cpu": "cpu"},
)


# JMH.


def jmh_benchmarks(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the benchmarks, with their parameters as a text."""
    for at, each in enumerate(expect(load(read_text(path), str(path)), list, f"{path}:")):
        where = f"{path}: [{at}]"
        with remarks.leaving_out("benchmarks that cannot be read", "benchmark"):
            parameters = inner(expect(each, dict, where), "params").items()
            text = ", ".join(f"{name}={value}" for name, value in parameters)
            yield where, {**each, "parameters": text}


def of_jmh(record: Record) -> Iterator[Value]:
    """Yield the scores, in their unit without the operation."""
    metrics = {"": record.get("primaryMetric"), **inner(dict(record), "secondaryMetrics")}
    for name, metric in metrics.items():
        unit = str(first(metric or {}, ("scoreUnit",)) or "")
        forks = first(metric or {}, ("rawData",))
        values = (
            [value for fork in forks if isinstance(fork, list) for value in fork]
            if isinstance(forks, list)
            else []
        )
        # Of sampled times there is a histogram, and no list.
        plain = [value for value in values if not isinstance(value, list)]
        score = first(metric or {}, ("score",))
        rate = unit.startswith("ops/")
        yield Value(
            timer=name or ("throughput" if rate else "time"),
            values=plain or ([] if score is None else [score]),
            unit=unit.removesuffix(PER_OP),
            smaller_is_better=False if rate else None,
        )


JMH = Layout(
    name="jmh",
    looks_like='a list of objects with "jmhVersion" and "primaryMetric" (JMH, -rf json)',
    recognises=has(rb'"primaryMetric"\s*:', rb'"benchmark"\s*:'),
    records=jmh_benchmarks,
    case=("benchmark",),
    values=of_jmh,
    parameters=("parameters",),
    software={"JDK": "jdkVersion", "JVM": "vmVersion", "JMH": "jmhVersion"},
)


# Catch2.


def catch_results(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the benchmarks of all test cases, after the name of theirs."""
    root = read_xml(path)
    program = root.get("name", "")
    for test in root.iter("TestCase"):
        for each in test.iter("BenchmarkResults"):
            names = (program, test.get("name", "").strip(), each.get("name", "").strip())
            place = f"{path}: {names[-1]}"
            failed = each.find("failed")
            record: dict[str, Any] = {
                "case": ": ".join(filter(None, names)) if names[-1] else "",
                "failed": "" if failed is None else failed.get("message") or "failed",
                "samples": each.get("samples", ""),
            }
            for name in ("mean", "standardDeviation"):
                value = each.find(name)
                record[name] = None if value is None else number(value.get("value", ""))
            yield place, record


def of_catch(record: Record) -> Iterator[Value]:
    """Yield the mean time, with its error."""
    deviation, samples = record["standardDeviation"], number(record["samples"])
    error = None
    if is_count(deviation) and is_count(samples) and samples > 1:
        error = StandardError(deviation / math.sqrt(samples), samples - 1.0)
    mean = record["mean"]
    yield Value(timer="time", values=[] if mean is None else [mean], unit="ns", error=error)


CATCH2 = Layout(
    name="catch2",
    looks_like="Catch2's XML with BenchmarkResults (--reporter xml)",
    recognises=has(rb"<Catch(?:2TestRun)?\b"),
    records=catch_results,
    case=("case",),
    values=of_catch,
    failure=lambda record: str(record["failed"]),
)

FORMATS = (REFRAME_LOG, REFRAME_REPORT, TALP, RAMBLE, CRITERION, GO, JMH, CATCH2)
