"""Results of tests as JUnit XML: of ctest (``--output-junit``), pytest, GoogleTest and Maven.

::

    <testsuite name="Linux-c++" hostname="blake" timestamp="2026-11-20T05:30:12">
      <properties><property name="commit" value="6177ebf"/></properties>
      <testcase classname="tests.test_solve" name="test_solve[ilu]" time="0.81"/>
      <testcase classname="fails" name="fails" time="0.05" status="fail"><failure message=""/>
      </testcase>
    </testsuite>

The case is the class and the name of a test (the name alone where both are the same, as ctest has
them), and its only timer is ``time``. A test that failed is a failed run and gives no time; one
that was skipped or disabled gives neither. The machine is that of the folder, else the host of
the suite. Times of day have no offset in most files and count as UTC; for a file without a time,
see `provenance.dated`. Properties of a suite that are named like commits are its commits.

CTest's own results: ``Test.xml`` of a dashboard (``ctest -D Experimental``, ``ctest -T Test``).

::

    <Site BuildName="Linux-c++" Name="blake" Generator="ctest-3.25.1"><Testing>
      <StartTestTime>1795328831</StartTestTime>
      <Test Status="passed"><Name>solve[/data/mesh.h5]</Name><Path>.</Path>
        <Results><NamedMeasurement type="numeric/double" name="Execution Time">
          <Value>0.086953</Value></NamedMeasurement></Results></Test>
    </Testing></Site>

The machine is the site with its build, because CDash distinguishes builds by both. The only timer
is ``time``, the execution time. Measurements that a test itself printed are left out, because a
file does not say whether they should be small or large. A test that failed, or could not be
started, is a failed run; one that was disabled or skipped itself is left out. A folder ``Testing``
has a folder for every night.

Nightly results of ctest, one JSON file per night, as of the Albany Land-Ice performance tests.

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
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, parse

from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.provenance import commits_in, date_of, dated, seconds_since_1970
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import (
    JsonObject,
    decimal_mark,
    expect,
    head_of,
    number_in,
    read_object,
)
from hindmost.analysis.readers.timers import unfold
from hindmost.errors import DataError
from hindmost.files import data_errors, open_regular

TIMER = "time"
SUITES = ("testsuites", "testsuite")
BAD = {
    "failure": "failed",
    "error": "ended with an error",
    "flakyFailure": "failed at first",
    "flakyError": "ended with an error at first",
}
"""Elements of a failed test, and the outcome that they mean."""
SKIPPED_BY = "SKIP_"
"""The begin of ctest's message if a test skipped itself."""
NOT_RUN = {"disabled", "notrun", "suppressed", "skipped"}

UNREADABLE = "tests that cannot be read"


def read_xml(path: Path) -> Element:
    """Read a file of XML; entities of other files are not read, and expat bounds the others.

    Raises
    ------
    DataError
        The file cannot be read, or is not XML.
    """
    with data_errors(path, "read"), open_regular(path) as file:
        try:
            root = parse(file).getroot()
        except (ParseError, ValueError, LookupError) as error:
            raise DataError(f"{path} is not well-formed XML: {error}. Write it again.") from error
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
    return root


def tests_in(root: Element) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Yield the tests of JUnit XML, each with the suites that it is in, the outermost first."""
    waiting: list[tuple[Element, tuple[Element, ...]]] = [(root, ())]
    while waiting:
        element, suites = waiting.pop()
        if element.tag == "testcase":
            yield element, suites
            continue
        inner = (*suites, element) if element.tag in SUITES else suites
        waiting += [(child, inner) for child in reversed(element)]


def read_junit(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of all tests in a file; a test that was skipped has none.

    Raises
    ------
    DataError
        The file is damaged.
    """
    root = read_xml(path)
    mark = decimal_mark(each.get("time", "") for each in root.iter())
    for test, suites in tests_in(root):
        with remarks.leaving_out(UNREADABLE, "test"):
            inside_out = (test, *reversed(suites))
            case = case_of(test, f"{path}: a test")
            moment = stated(inside_out, "timestamp")
            where = f"{path}: timestamp"
            properties = {
                each.get("name", ""): each.get("value", "")
                for suite in suites
                for each in suite.iterfind("properties/property")
            }
            session = Session(
                machine=stated(inside_out, "hostname") or folder_machine,
                time=seconds_since_1970(moment, where) if moment else dated(path, remarks),
                file=str(path),
                commits=commits_in(properties),
            )
            failed = failure_of(test)
            skipped = {test.get("status"), test.get("result")} & NOT_RUN
            if failed:
                yield session.failed(case, failed)
            elif not skipped and test.find("skipped") is None and test.get("time") is not None:
                yield session.result(case, {TIMER: number(test.get("time", ""), mark)})


def case_of(test: Element, where: str) -> str:
    """Return the class and the name of a test; the name alone where both are the same.

    Raises
    ------
    DataError
        It has no name.
    """
    name, group = test.get("name", "").strip(), test.get("classname", "").strip()
    if not name:
        raise DataError(f"{where} has no name, so its results belong to no case.")
    return name if group in ("", name) else f"{group}.{name}"


def stated(elements: Iterable[Element], name: str) -> str:
    """Return an attribute of the first element that has it; empty if none has."""
    return next((text for element in elements if (text := element.get(name, "").strip())), "")


def failure_of(test: Element) -> str:
    """Return how a test failed; empty if it did not."""
    failed = "failed" if test.get("status") == "fail" else ""
    not_run = test.get("status") == "notrun"
    for each in test:
        message = each.get("message", "")
        if each.tag in BAD:
            failed = BAD[each.tag]
        elif each.tag == "skipped" and not_run and not message.startswith(SKIPPED_BY):
            failed = f"not run: {message}".removesuffix(": ")
    return failed


def number(text: str, mark: str | None) -> Any:
    """Return a number that is written as text, or the text: the gathering judges it."""
    value = number_in(text, mark)
    return text if value is None else value


EXECUTION = "Execution Time"
BY_CTEST = {"Processors", "Exit Value"}
"""Numeric measurements that ctest adds and that are not results."""


def read_dashboard(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of all tests in a ``Test.xml``; equal names are told apart by folders.

    Raises
    ------
    DataError
        The file is damaged.
    """
    root = read_xml(path)
    tests = root.findall("Testing/Test")
    if not tests:
        return
    begun = root.findtext("Testing/StartTestTime", "").strip()
    where = f"{path}: StartTestTime"
    time = seconds_since_1970(number(begun, None), where) if begun else dated(path, remarks)
    machine = " ".join(root.get(key, "") for key in ("Name", "BuildName")).strip()
    session = Session(machine=machine or folder_machine, time=time, file=str(path))
    names = Counter(text_in(test, "Name") for test in tests)
    mark = decimal_mark(
        text_in(each, "Value")
        for each in root.iter("NamedMeasurement")
        if each.get("name") == EXECUTION
    )
    for test in tests:
        with remarks.leaving_out(UNREADABLE, "test"):
            name, status = text_in(test, "Name"), test.get("Status", "")
            if not name:
                raise DataError(f"{path}: a test has no name, so its results belong to no case.")
            case = name if names[name] == 1 else f"{text_in(test, 'Path')}/{name}"
            words, values = measurements_of(test, mark, f"{path}: {name}", remarks)
            failure = ""
            said = words.get("Completion Status", "")
            if status == "failed":
                failure = words.get("Exit Code", "").lower() or "failed"
            elif status == "notrun" and said != "Disabled" and not said.startswith(SKIPPED_BY):
                failure = f"not run: {said}".removesuffix(": ")
            if failure:
                yield session.failed(case, failure)
            elif status == "passed":
                yield session.result(case, values)


def text_in(element: Element, name: str) -> str:
    """Return the text of an inner element."""
    return element.findtext(name, "").strip()


def measurements_of(
    test: Element, mark: str | None, where: str, remarks: Remarks
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return what a test says of itself in words, and its time."""
    words: dict[str, str] = {}
    values: dict[str, Any] = {}
    for each in test.iter("NamedMeasurement"):
        name, text = each.get("name", ""), text_in(each, "Value")
        if not each.get("type", "").startswith("numeric/"):
            words[name] = text
        elif name == EXECUTION:
            values[TIMER] = number(text, mark)
        elif name not in BY_CTEST:
            remarks.add(
                "measurements that tests printed",
                f"{where}: the measurement {name!r} is left out, because the file does not "
                "say whether it should be small or large.",
            )
    return words, values


_JUNIT = re.compile(rb"<testsuites?[\s/>]")
_DASHBOARD = re.compile(rb"<Site\s[^<]*>\s*<Testing[\s>]")


def _read(path: Path, folder_machine: str, remarks: Remarks) -> Iterable[HistoryEntry]:
    is_dashboard = _DASHBOARD.search(head_of(path)) is not None
    return (read_dashboard if is_dashboard else read_junit)(path, folder_machine, remarks)


def _recognises(path: Path, head: bytes) -> bool:
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith(b"<") and bool(_JUNIT.search(head) or _DASHBOARD.search(head))


TEST_RESULTS = HistoryFormat(
    name="tests",
    looks_like="JUnit XML (ctest --output-junit, pytest --junitxml, GoogleTest, Maven) or CTest's "
    "Test.xml",
    recognises=_recognises,
    read=_read,
    companions=("TAG",),
)


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


def _read_nights(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
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


def _recognises_nights(path: Path, head: bytes) -> bool:
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.strip() in (b"{}", b"{ }"):
        # A night in which nothing ran; only its name shows the format.
        return path.name.startswith("ctest")
    first = _CASE.match(begin)
    return first is not None and _TIMERS.search(begin, first.end()) is not None


NIGHTLY = HistoryFormat(
    name="nightly",
    looks_like='JSON of cases, each with "date", "passed" and "timers" (nightly ctest)',
    recognises=_recognises_nights,
    read=_read_nights,
    companions=("config.json",),
)

FORMATS = (TEST_RESULTS, NIGHTLY)
