"""The text of MPI benchmarks as experiments over the size of messages: OSU and IMB.

OSU micro-benchmarks name themselves, and their columns in a comment::

    # OSU MPI Allreduce Latency Test v7.3
    # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
    4                       1.20              1.10              1.40        1000

Their files do not say the number of ranks: a name with ``p8`` in it does, as ``allreduce.p8.txt``.

IMB (the Intel MPI benchmarks) has several benchmarks in one text, each for several numbers of
ranks::

    # Benchmarking Allreduce
    # #processes = 4
           #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
                4         1000         1.10         1.40         1.20

Messages of 0 bytes are no point of a law, and are left out. So is a benchmark without a size, as
the barrier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.formats.benchmark_tools import has
from hindmost.analysis.readers.provenance import parameters_in
from hindmost.analysis.readers.text_files import name_and_unit, read_text, split_lines
from hindmost.errors import DataError
from hindmost.parsing import as_number

RANKS, BYTES = "ranks", "bytes"
UNITS = {"usec": "us", "Mbytes/sec": "MB/s"}
NO_METRIC = ("iterations", "#repetitions")
_OSU = re.compile(r"^# (OSU .*?)(?: v[\d.]+)?$")
_COLUMN = re.compile(r"\S+(?: \S+)*?\s*(?:\([^)]*\)|\[[^\]]*\])|\S+(?: \S+)*")
_IMB = re.compile(r"^# Benchmarking (\S+)")
_PROCESSES = re.compile(r"^# #processes = (\d+)")
Row = tuple[str, int | None, str, str, float, float]
"""Benchmark, ranks, metric, unit, bytes and value."""


def columns_of(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and units of columns: ``t_avg[usec]``, ``Avg Latency(us)``."""
    return [
        (name, UNITS.get(unit, unit))
        for name, unit in (
            name_and_unit(word.replace("(", " (").replace("[", " [")) for word in words
        )
    ]


def rows_of(path: Path) -> Iterator[Row]:
    """Yield all values of a text, of either kind."""
    benchmark, columns = "", list[tuple[str, str]]()
    named = parameters_in(path.stem).get("p")
    ranks = int(named) if named else None
    for line in split_lines(read_text(path)):
        text = line.strip()
        if match := _IMB.match(text) or _OSU.match(text):
            benchmark, columns = match[1], []
        elif match := _PROCESSES.match(text):
            ranks = int(match[1])
        elif text.startswith("# Size"):
            columns = columns_of(_COLUMN.findall(text[1:]))
        elif text.startswith("#bytes"):
            columns = columns_of(text.split())
        elif benchmark and columns:
            numbers = [as_number(word) for word in text.split()]
            values = [value for value in numbers if value is not None]
            if len(values) < len(numbers):
                continue
            for (name, unit), value in zip(columns[1:], values[1:], strict=False):
                if name.lower() not in NO_METRIC:
                    yield benchmark, ranks, name, unit, values[0], value


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    rows = [(path, row) for path in paths for row in rows_of(path)]
    if not rows:
        raise DataError(
            f"{paths[0]} has no row with a size of messages; benchmarks without one, as the "
            "barrier, have nothing to model."
        )
    by_ranks = len({row[1] for _, row in rows}) > 1
    if by_ranks and any(row[1] is None for _, row in rows):
        raise DataError(
            "Some of the files do not say their number of ranks: put it into their names, as "
            "allreduce.p8.txt."
        )
    into.declare([RANKS, BYTES] if by_ranks else [BYTES], str(paths[0]))
    for path, (benchmark, ranks, metric, unit, size, value) in rows:
        if not size > 0.0:
            into.remarks.add(
                "messages of 0 bytes",
                f"{path}: {benchmark} of 0 bytes is no point of a law; left out.",
            )
            continue
        point = (float(ranks or 0), size) if by_ranks else (size,)
        into.add((benchmark, metric), point, [value], str(path), unit)


OSU = ExperimentFormat(
    name="osu",
    looks_like="the text of an OSU micro-benchmark",
    recognises=has(rb"(?m)^# OSU "),
    read=_read,
)
IMB = ExperimentFormat(
    name="imb",
    looks_like="the text of the Intel MPI benchmarks",
    recognises=has(rb"(?m)^# Benchmarking \S+", rb"#bytes"),
    read=_read,
)

FORMATS = (OSU, IMB)
