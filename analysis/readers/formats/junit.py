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
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.commits import commits_in
from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import CaseResult, HistoryEntry, HistoryFile
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.readers.path_names import dated, machine_in
from hindmost.analysis.readers.remarks import Remarks
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
            yield from _found(test, machine, time, commits, path)
            test = None


def _found(
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
