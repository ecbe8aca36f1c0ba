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
see `path_names.dated`. Properties of a suite that are named like commits are its commits.

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

Results of tests as a format of histories: JUnit XML, and CTest's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.commits import commits_in
from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import CaseResult, HistoryEntry, HistoryFile, HistoryFormat
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.readers.path_names import date_or_modification, dated, machine_in
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import head_of
from hindmost.analysis.readers.xml_events import ElementBegin, xml_events
from hindmost.errors import DataError

TIMER = "time"
SUITES, SUITE, TEST = "testsuites", "testsuite", "testcase"
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

NO_MACHINES = {"test", "tests", "junit", "ctest", "pytest", "unit", "surefire"}
"""Names that tools give to folders of results, such as ``test-results``."""

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")


class _JUnitTest:
    """A test that is being read."""

    def __init__(self, attributes: Any, time: float | None) -> None:
        self.attributes = attributes
        self.time = time
        self.failed = ""
        status = {attributes.get("status"), attributes.get("result")}
        self.skipped = bool(status & NOT_RUN)
        if attributes.get("status") == "fail":
            self.failed = "failed"

    def child(self, begin: ElementBegin) -> None:
        """Take in an element within the test."""
        if begin.name in BAD:
            self.failed = BAD[begin.name]
        elif begin.name == "skipped":
            self.skipped = True
            message = begin.attributes.get("message", "")
            if self.attributes.get("status") == "notrun" and not message.startswith(SKIPPED_BY):
                self.failed = f"not run: {message}".removesuffix(": ")

    @property
    def case(self) -> str:
        """The name of the test."""
        name = self.attributes.get("name", "")
        group = self.attributes.get("classname", "")
        return name if group in ("", name) else f"{group}.{name}".removesuffix(".")


def read_junit(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of all tests in a file.

    Raises
    ------
    DataError
        The file is damaged, or a time in it cannot be read.
    """
    path = source.path
    said = machine_in(path.absolute().parent.name)
    said = "" if said.lower() in NO_MACHINES else said
    suites: list[dict[str, str]] = []
    properties: list[dict[str, str]] = []
    inside: list[str] = []
    test: _JUnitTest | None = None
    for event in xml_events(path):
        if isinstance(event, ElementBegin):
            if event.name in (SUITES, SUITE):
                suites.append(dict(event.attributes))
                properties.append({})
            elif event.name == TEST:
                test = _JUnitTest(event.attributes, _moment([*suites, event.attributes], path))
            elif test is not None and inside[-1] == TEST:
                test.child(event)
            elif event.name == "property" and suites and test is None:
                key, value = (event.attributes.get(each, "") for each in ("name", "value"))
                properties[-1][key] = value
            inside.append(event.name)
            continue
        inside.pop()
        if event.name in (SUITES, SUITE) and suites:
            suites.pop()
            properties.pop()
        elif event.name == TEST and test is not None:
            host = next((each["hostname"] for each in reversed(suites) if each.get("hostname")), "")
            machine = said or host or source.folder_machine
            time = dated(path, remarks) if test.time is None else test.time
            commits = commits_in({key: each[key] for each in properties for key in each})
            yield from _of_test(test, machine, time, commits, path)
            test = None


def _of_test(
    test: _JUnitTest, machine: str, time: float, commits: dict[str, str], path: Path
) -> Iterator[HistoryEntry]:
    """Yield the result of a test: none if it was skipped."""
    if not test.case:
        raise DataError(f"{path} has a test without a name: this is not JUnit XML.")
    if test.failed:
        yield FailedRun(
            time=time, machine=machine, case=test.case, reason=test.failed, file=str(path)
        )
    elif not test.skipped and test.attributes.get("time") is not None:
        yield CaseResult(
            machine=machine,
            case=test.case,
            time=time,
            file=str(path),
            values={TIMER: number(test.attributes["time"])},
            commits=commits,
        )


def number(text: str) -> Any:
    """Return a number that is written as text, or the text: the gathering judges it.

    Maven writes thousands with a comma.
    """
    plain = text.strip()
    if _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        return float(plain)
    except ValueError:
        return text


def _moment(elements: list[Any], path: Path) -> float | None:
    """Return the time that the innermost element says, None if none does."""
    for attributes in reversed(elements):
        if attributes.get("timestamp"):
            return seconds_since_1970(attributes["timestamp"], f"{path}: timestamp")
    return None


EXECUTION = "Execution Time"
BY_CTEST = {"Processors", "Exit Value"}
"""Numeric measurements that ctest adds and that are not results."""


@dataclass(slots=True)
class _CTest:
    """A test that is being read."""

    status: str
    name: str = ""
    path: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    @property
    def failure(self) -> str:
        """Why the test has no time: empty if it has one, or was skipped."""
        if self.status == "failed":
            return self.words.get("Exit Code", "").lower() or "failed"
        said = self.words.get("Completion Status", "")
        if self.status == "notrun" and said != "Disabled" and not said.startswith(SKIPPED_BY):
            return f"not run: {said}".removesuffix(": ")
        return ""


def read_dashboard(source: HistoryFile, remarks: Remarks) -> Iterator[HistoryEntry]:
    """Yield the results of all tests in a ``Test.xml``.

    Raises
    ------
    DataError
        The file is damaged.
    """
    path = source.path
    site: dict[str, str] = {}
    begun = ""
    tests: list[_CTest] = []
    inside: list[str] = []
    measurement: dict[str, str] = {}
    for event in xml_events(path):
        if isinstance(event, ElementBegin):
            inside.append(event.name)
            if event.name == "Site":
                site = dict(event.attributes)
            elif event.name == "Test" and inside[-2:-1] == ["Testing"]:
                tests.append(_CTest(status=event.attributes.get("Status", "")))
            elif event.name == "NamedMeasurement":
                measurement = dict(event.attributes)
            continue
        inside.pop()
        text = event.text.strip()
        if event.name == "StartTestTime":
            begun = text
        elif tests and inside[-1:] == ["Test"] and event.name in ("Name", "Path"):
            setattr(tests[-1], event.name.lower(), text)
        elif tests and event.name == "Value" and inside[-1:] == ["NamedMeasurement"]:
            _add(tests[-1], measurement, text, path, remarks)
    if not begun and tests:
        time = dated(path, remarks)
    else:
        time = seconds_since_1970(number(begun), f"{path}: StartTestTime") if tests else 0.0
    machine = " ".join(site[key] for key in ("Name", "BuildName") if site.get(key))
    yield from _of_tests(tests, machine or source.folder_machine, time, path)


def _add(
    test: _CTest, measurement: dict[str, str], text: str, path: Path, remarks: Remarks
) -> None:
    """Take in a measurement of a test."""
    name = measurement.get("name", "")
    if not measurement.get("type", "").startswith("numeric/"):
        test.words[name] = text
    elif name == EXECUTION:
        test.values[TIMER] = number(text)
    elif name not in BY_CTEST:
        remarks.add(
            "measurements that tests printed",
            f"{path}: {test.name}: the measurement {name!r} is left out, because the file does not "
            "say whether it should be small or large.",
        )


def _of_tests(tests: list[_CTest], machine: str, time: float, path: Path) -> Iterator[HistoryEntry]:
    """Yield the results; tests of the same name are distinguished by their folders."""
    names = Counter(test.name for test in tests)
    for test in tests:
        if not test.name:
            raise DataError(f"{path} has a test without a name: this is not a Test.xml of ctest.")
        case = test.name if names[test.name] == 1 else f"{test.path}/{test.name}"
        if test.failure:
            yield FailedRun(
                time=time, machine=machine, case=case, reason=test.failure, file=str(path)
            )
        elif test.status == "passed":
            yield CaseResult(
                machine=machine,
                case=case,
                time=time,
                file=str(path),
                values=test.values,
            )


def refuse_listing(path: Path) -> None:
    """Refuse the output of ``ctest --show-only=json-v1``.

    Raises
    ------
    DataError
        Always.
    """
    raise DataError(
        f"{path} lists tests (ctest --show-only=json-v1) and contains no times. "
        "Run them with 'ctest --output-junit FILE', or 'ctest -T Test' for Testing/*/Test.xml."
    )


_JUNIT = re.compile(rb"<testsuites?[\s/>]")
_DASHBOARD = re.compile(rb"<Site\s[^<]*>\s*<Testing[\s>]")
_LISTING = re.compile(rb'\{\s*"backtraceGraph"\s*:|"kind"\s*:\s*"ctestInfo"')


def _read(source: HistoryFile, remarks: Remarks) -> Iterable[HistoryEntry]:
    head = head_of(source.path)
    if _LISTING.search(head):
        refuse_listing(source.path)
    return (read_dashboard if _DASHBOARD.search(head) else read_junit)(source, remarks)


def _recognises(path: Path, head: bytes) -> bool:
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"<"):
        return _JUNIT.search(head) is not None or _DASHBOARD.search(head) is not None
    return begin.startswith(b"{") and _LISTING.search(begin) is not None


TEST_RESULTS = HistoryFormat(
    name="tests",
    looks_like="JUnit XML (ctest --output-junit, pytest --junitxml, GoogleTest, Maven) or CTest's "
    "Test.xml",
    recognises=_recognises,
    read=_read,
    companions=("TAG",),
    dated_by=date_or_modification,
)
