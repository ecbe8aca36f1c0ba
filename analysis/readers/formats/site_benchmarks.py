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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import Layout, Record, Value, first
from hindmost.analysis.readers.formats.benchmark_tools import has
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import (
    entries_of,
    expect,
    first_line,
    inner,
    read_object,
    read_text,
    split_lines,
)
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


def is_perflog(columns: set[str]) -> bool:
    """Return whether these are the columns of a performance log."""
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
    recognises=lambda path, head: is_perflog(set(first_line(head).split("|"))),
    records=perflog,
    case=NAMES,
    values=perfvalues,
    time=("job_completion_time_unix", "job_completion_time"),
    machine=("machine",),
    failure=of_reframe,
    parameters=("environment",),
    software={"environment": "environment", "modules": "modules"},
).format

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
).format


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
).format


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
).format

FORMATS = (REFRAME_LOG, REFRAME_REPORT, TALP, RAMBLE)
