"""Results of tests as a format of histories: JUnit XML, and CTest's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hindmost.analysis.readers.format import HistoryEntry, HistoryFile, HistoryFormat
from hindmost.analysis.readers.formats.ctest import read_dashboard, refuse_listing
from hindmost.analysis.readers.formats.junit import read_junit
from hindmost.analysis.readers.path_names import date_or_modification
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.text_files import head_of

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
