"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.durations import clock, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("02:00:00", 7200),
        ("1-00:00:30", 86430),
        ("5m", 300),
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("2 h 5 min", 7500),
        ("1d", 86400),
        ("0s", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "5", 5, 5.0, True, "5m3h", "00:61:00", "-5m", "5mm", "9999d"]
)
def test_what_is_none(text: object) -> None:
    with pytest.raises(ValueError, match=r"a duration is|longer than a year"):
        parse_duration(text)


@given(st.integers(0, 300 * 86400))
def test_a_clock_reads_back(seconds: int) -> None:
    assert parse_duration(clock(seconds)) == seconds
