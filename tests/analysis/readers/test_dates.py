"""Dates as files write them, against the standard library."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.analysis.readers.dates import date_in_name, seconds_since_1970, without_date
from hindmost.errors import DataError

MIDNIGHT_S = datetime(2021, 1, 24, tzinfo=UTC).timestamp()
NIGHT_S = datetime(2021, 1, 24, 5, 34, 11, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "written",
    [
        *("2021-01-24T05:34:11Z", "2021-01-24 05:34:11", "2021-01-24T06:34:11+01:00"),
        *("2021.01.24 6:34:11 +0100", "2021/1/24 5:34:11 UTC", "20210124T053411", 1611466451),
        *("1611466451", 1611466451000, "1611466451000000", 1611466451000000000, 1611466451.0),
        *("2021-01-24T00:34:11-05", "20210124_053411Z"),
    ],
)
def test_one_moment_in_many_ways(written: Any) -> None:
    assert seconds_since_1970(written, "here") == pytest.approx(NIGHT_S, abs=1e-3)


@pytest.mark.parametrize("written", ["2021-01-24", 20210124, "20210124", " 2021/01/24 "])
def test_a_day_is_its_midnight(written: Any) -> None:
    assert seconds_since_1970(written, "here") == MIDNIGHT_S


@pytest.mark.parametrize(
    "written",
    [
        *("", "tomorrow", "2021-13-01", "2021-02-30", 20210230, "1969-12-31", "2500-01-01", -1),
        *(float("nan"), float("inf"), 10**30, None, True, [], {}, "24.01.2021", "2021-01/24"),
    ],
)
def test_what_is_no_date(written: Any) -> None:
    with pytest.raises(DataError, match=r"here: .* is not a date; a date is written as"):
        seconds_since_1970(written, "here")


@given(st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30), timezones=st.timezones()))
def test_iso_dates_are_those_of_the_standard_library(moment: datetime) -> None:
    offset = moment.utcoffset()
    assert offset is not None
    if offset.total_seconds() % 60 == 0:
        found = seconds_since_1970(moment.isoformat(), "here")
        assert found == pytest.approx(moment.timestamp(), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "time", "rest"),
    [
        ("ctest-20210124", MIDNIGHT_S, "ctest"),
        ("2021-01-24_solve", MIDNIGHT_S, "solve"),
        ("hf-2021-01-24T05-34-11-blake", NIGHT_S, "hf-blake"),
        ("hf_20210124_053411", NIGHT_S, "hf"),
        ("run-20219924", None, "run-20219924"),
        ("20210124", MIDNIGHT_S, "20210124"),
        ("a120210124", None, "a120210124"),
    ],
)
def test_dates_in_names(name: str, time: float | None, rest: str) -> None:
    assert date_in_name(f"{name}.json") == time
    assert without_date(name) == rest
