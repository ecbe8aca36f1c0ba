"""Results of benchmarks within a language's tests: criterion, Go, JMH and Catch2.

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import Layout, Record, StandardError, Value, first
from hindmost.analysis.readers.formats.benchmark_tools import has
from hindmost.analysis.readers.formats.site_benchmarks import number
from hindmost.analysis.readers.formats.test_results import read_xml
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import expect, inner, load, read_text, split_lines
from hindmost.errors import DataError

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
).format


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
).format


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
).format


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
).format

FORMATS = (CRITERION, GO, JMH, CATCH2)
