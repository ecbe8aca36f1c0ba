"""CTest's own results: ``Test.xml`` of a dashboard (``ctest -D Experimental``, ``ctest -T Test``).

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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import CaseResult, HistoryEntry, HistoryFile
from hindmost.analysis.readers.formats.junit import SKIPPED_BY, TIMER, number
from hindmost.analysis.readers.history import FailedRun
from hindmost.analysis.readers.path_names import dated
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.xml_events import ElementBegin, xml_events
from hindmost.errors import DataError

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
    yield from _found(tests, machine or source.folder_machine, time, path)


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


def _found(tests: list[_CTest], machine: str, time: float, path: Path) -> Iterator[HistoryEntry]:
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
