"""Nightly results of ctest, one JSON file per night, as of the Albany Land-Ice performance tests.

::

    {"ant-2-20km_ml_ls_np384": {
        "case": "ant-2-20km_ml_ls", "np": 384, "date": 20210124, "passed": true,
        "Simulation start time": "05:35:04",
        "Albany git commit id": "6177ebf", "Trilinos git commit id": "5e36d3d",
        "timers": {"Albany Total Time:": 172.123, "Albany: Total Fill Time:": 144.418}}}

The key is the case, a time is the date with the start of the simulation (midnight where the file
does not say it), in UTC. A night is a failed run of the case if it did not pass, whatever
its timers say, or has none. The files do not name their machine; the folder does, see `places`.
Names of timers that are indented stand below those before them; see `timers` for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hindmost.analysis.readers.commits import commits_in
from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.json_values import JsonObject, expect, read_object
from hindmost.analysis.readers.path_names import date_of
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.timers import unfold
from hindmost.errors import DataError

MACHINE_KEYS = ("machine", "site", "host", "hostname")

_CASE = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')
_TIMERS = re.compile(rb'"timers"\s*:\s*(?:\{|null)')
_START = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\.\d*)?")


def _time(entry: JsonObject, where: str, by_name: float | None) -> float:
    """Return when a case was run."""
    if "date" in entry:
        time = seconds_since_1970(entry["date"], f"{where}: date")
    elif by_name is not None:
        time = by_name
    else:
        raise DataError(f"{where} has no date, and the file's name has none.")
    match = _START.fullmatch(str(entry.get("Simulation start time", "")).strip())
    if match is not None and time % 86400.0 == 0.0:
        time += 3600.0 * int(match[1]) + 60.0 * int(match[2]) + int(match[3])
    return time


def _run(case: str, entry: JsonObject, path: Path, machine: str, time: float) -> HistoryEntry:
    """Return the results of a case, or that it failed."""
    said = (str(entry[key]) for key in MACHINE_KEYS if isinstance(entry.get(key), str))
    machine = next(said, machine)
    commits = commits_in(entry)
    session = Session(machine=machine, time=time, file=str(path), commits=commits)
    timers = entry.get("timers")
    passed = entry.get("passed", True)
    if passed is not True or not timers:
        return session.failed(case, "did not pass" if passed is not True else "no timers")
    where = f"{path}: {case}"
    values = expect(timers, dict, f"{where}: timers")
    if any(name[:1].isspace() for name in values):
        values = dict(zip(unfold(list(values)), values.values(), strict=True))
    return session.result(case, values)


def _read(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    nights = read_object(path)
    by_name = date_of(path)
    if not nights:
        remarks.add("nights without a case", f"{path} contains no case; left out.")
    for case, entry in nights.items():
        where = f"{path}: {case}"
        with remarks.leaving_out("cases that cannot be read", "case"):
            if not {"passed", "timers"} & expect(entry, dict, where).keys():
                raise DataError(f"{where} has neither 'passed' nor 'timers'; a case has both.")
            if not case.strip():
                raise DataError(f"{path} has a case without a name.")
            yield _run(case, entry, path, folder_machine, _time(entry, where, by_name))


def _recognises(path: Path, head: bytes) -> bool:
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.strip() in (b"{}", b"{ }"):
        # A night in which nothing ran; only its name shows the format.
        return path.name.startswith("ctest")
    first = _CASE.match(begin)
    return first is not None and _TIMERS.search(begin, first.end()) is not None


NIGHTLY = HistoryFormat(
    name="nightly",
    looks_like='JSON of cases, each with "date", "passed" and "timers" (nightly ctest)',
    recognises=_recognises,
    read=_read,
    companions=("config.json",),
)
