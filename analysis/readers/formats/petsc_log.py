"""PETSc's ``-log_view``: the CSV file with every rank, and the text.

``-log_view :log.csv:ascii_csv`` writes a row for every stage, event and rank. The header ends with
the number of ranks, and rows may stop before its last columns::

    Stage Name,Event Name,Rank,Count,Time,Num Messages,...,FLOP,dof0,...,e7,4
    Main Stage,summary,0,1,2.0,400.,64000.,30.,1e8
    Main Stage,MatMult,0,200,0.7,400.,64000.,0.,5e7

The text has the largest value of all ranks. Times are inclusive: KSPSolve has its MatMult, and
``summary`` is the whole stage. Events that no rank entered are left out.

As nights, a file is a run, with the largest time of all ranks for each event. Its name gives the
case and, of CSV, the date: ``ex5-2026-11-28.csv``. The text has the host and the time of the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.format import (
    OVER_RANKS,
    ExperimentFormat,
    ExperimentRequest,
    Layout,
    RankColumns,
    RankFormat,
    Record,
    Value,
)
from hindmost.analysis.readers.provenance import without_date
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import first_line, head_of, read_text, split_lines
from hindmost.errors import DataError
from hindmost.parsing import as_number, plain_number
from hindmost.text import counted

RANKS, TIME = "ranks", "time"
SUMMARY = "summary"
_HEADER = "Stage Name,Event Name,Rank,Count,Time,"
_TITLE = re.compile(r"with (\d+) process")
_HOST = re.compile(r" named (\S+) with \d+ process")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DATE = re.compile(rf" ({'|'.join(MONTHS)}) +(\d+) (\d\d:\d\d:\d\d) (\d{{4}})\b")
_TEXT = re.compile(r"PETSc Performance Summary")
_STAGE = re.compile(r"^--- Event Stage \d+: (.*)$")
_EVENT = re.compile(r"^(\S.*?)\s+(\d+)\s+\d+\.\d\s*([-+.\deE]+)\s+\d+\.\d\s+[-+.\deE]+\s")
OF_SLOWEST = (
    "PETSc's text has the largest time of all ranks only; -log_view :log.csv:ascii_csv writes all"
)


def events_of(path: Path) -> tuple[int, dict[str, dict[int, float]]]:
    """Return the number of ranks, and the seconds of every event on each of them.

    Raises
    ------
    DataError
        A row is not as PETSc writes it, or a rank is missing.
    """
    lines = split_lines(read_text(path))
    number = lines[0].rpartition(",")[2].strip()
    if not number.isdigit() or not int(number):
        raise DataError(f"{path}, line 1: '{number[:40]}' is not the number of ranks.")
    size = int(number)
    times: dict[str, dict[int, float]] = {}
    entered: set[str] = set()
    for at, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        # Names may have commas: the numbers begin behind the last field that is none.
        fields = line.split(",")
        begin = (
            max((k for k, each in enumerate(fields) if as_number(each.strip()) is None), default=0)
            + 1
        )
        numbers = fields[begin:]
        if begin < 2 or len(numbers) < 3 or not numbers[0].strip().isdigit():
            raise DataError(f"{path}, line {at}: not the row of an event on a rank.")
        rank, count, seconds = (plain_number(number) for number in numbers[:3])
        stage, event = ",".join(fields[: begin - 1]), fields[begin - 1]
        name = stage if event == SUMMARY else f"{stage}->{event}"
        if count > 0.0:
            entered.add(name)
        of_ranks = times.setdefault(name, {})
        if not rank < size or rank in of_ranks:
            raise DataError(
                f"{path}, line {at}: rank {rank:g} of {size} {'again' if rank < size else ''}: "
                "the file has several logs, or is damaged; write one for each run."
            )
        of_ranks[int(rank)] = seconds
    found = {name: times[name] for name in times if name in entered}
    for name, of_ranks in found.items():
        if len(of_ranks) < size:
            raise DataError(
                f"{path}: {name} has {len(of_ranks)} of {size} ranks; the file was cut off."
            )
    return size, {name: of_ranks for name, of_ranks in found.items() if any(of_ranks.values())}


def _text_events(path: Path) -> tuple[int, list[tuple[str, float]]]:
    """Return the number of ranks, and the largest time of every event, from the text."""
    text = read_text(path)
    title = _TITLE.search(text)
    stage, found = "", []
    for line in split_lines(text):
        if (named := _STAGE.match(line)) is not None:
            stage = named[1].strip()
        elif stage and (event := _EVENT.match(line)) is not None and int(event[2]):
            found.append((f"{stage}->{event[1]}", plain_number(event[3])))
    if title is None or not found:
        raise DataError(f"{path}: no number of processes or no events; the log was cut off.")
    return int(title[1]), found


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    for path in paths:
        where = str(path)
        into.declare([RANKS], where)
        into.inclusive = True
        if _recognises_csv(path, head_of(path)):
            size, events = events_of(path)
            join = OVER_RANKS[request.over_ranks]
            values = [
                (name, float(join(np.array(list(each.values()))))) for name, each in events.items()
            ]
        else:
            size, values = _text_events(path)
            into.remarks.add("logs as text", f"{path}: {OF_SLOWEST}.")
        for name, seconds in values:
            into.add((name, TIME), (float(size),), [seconds], where, "s")


def _read_ranks(path: Path) -> RankColumns:
    size, events = events_of(path)
    return RankColumns(
        ranks=np.arange(size),
        values={
            name: np.array([of_ranks[rank] for rank in range(size)])
            for name, of_ranks in events.items()
        },
        units=dict.fromkeys(events, "s"),
        inclusive=True,
    )


def _recognises_csv(path: Path, head: bytes) -> bool:
    return first_line(head).startswith(_HEADER)


def _recognises(path: Path, head: bytes) -> bool:
    return _recognises_csv(path, head) or bool(_TEXT.search(head.decode("utf-8", "replace")))


PETSC_LOG = ExperimentFormat(
    name="petsc-log",
    looks_like="PETSc's -log_view :log.csv:ascii_csv, or its text",
    recognises=_recognises,
    read=_read,
)

PETSC_LOG_RANKS = RankFormat(
    name=PETSC_LOG.name,
    looks_like="PETSc's -log_view :log.csv:ascii_csv",
    recognises=_recognises_csv,
    read=_read_ranks,
)


def _night(path: Path, remarks: Remarks) -> Iterator[tuple[str, Record]]:
    """Yield the one run of a log."""
    if _recognises_csv(path, head_of(path)):
        size, events = events_of(path)
        times = {name: max(of_ranks.values()) for name, of_ranks in events.items()}
        text = ""
    else:
        size, rows = _text_events(path)
        text, times = read_text(path), dict(rows)
    host, date = _HOST.search(text), _DATE.search(text)
    yield (
        str(path),
        {
            "case": f"{without_date(path.stem)}, {counted(size, 'rank')}",
            "events": times,
            "machine": "" if host is None else host[1],
            "begun": None
            if date is None
            else f"{date[4]}-{MONTHS.index(date[1]) + 1:02}-{int(date[2]):02}T{date[3]}",
        },
    )


def _times(record: Record) -> Iterator[Value]:
    for name, seconds in record["events"].items():
        if seconds > 0.0:
            yield Value(timer=name, values=[seconds], unit="s")


PETSC_LOG_HISTORY = Layout(
    name=PETSC_LOG.name,
    looks_like=PETSC_LOG.looks_like,
    recognises=_recognises,
    records=_night,
    case=("case",),
    values=_times,
    time=("begun",),
    machine=("machine",),
)

FORMATS = (PETSC_LOG, PETSC_LOG_HISTORY, PETSC_LOG_RANKS)
