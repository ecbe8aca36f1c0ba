"""Numbers as people read and write them."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.errors import UsageError
from hindmost.text import (
    as_long_as,
    choose,
    clock,
    counted,
    difference,
    duration,
    either,
    first_of,
    named_ranks,
    parse_duration,
    percent,
    plural,
    probability,
    quantity,
    read_increase,
    read_share,
    seconds,
    signed_percent,
    unit_for,
)


@pytest.mark.parametrize(
    ("text", "value_s"),
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
def test_durations(text: str, value_s: float) -> None:
    assert parse_duration(text) == value_s


@pytest.mark.parametrize("text", ["", " ", "5", 5, 5.0, True, "5m3h", "00:61:00", "-5m", "5mm"])
def test_what_is_not_a_duration(text: object) -> None:
    with pytest.raises(ValueError, match="a duration is"):
        parse_duration(text)


@given(st.integers(0, 300 * 86400))
def test_a_clock_reads_back(value_s: int) -> None:
    assert parse_duration(clock(value_s)) == value_s
    assert parse_duration(clock(value_s, hour_digits=2)) == value_s


def test_clocks() -> None:
    assert (clock(299.2), clock(300, hour_digits=2)) == ("0:05:00", "00:05:00")
    assert (duration(12.34), duration(89.99), duration(5000)) == ("12.3 s", "90.0 s", "1:23:20")


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (1.23456, "1.23 s"),
        (0.4712, "471 ms"),
        (0.0155179, "15.5 ms"),
        (4.5e-5, "45.0 us"),
        (1e-9, "1.00 ns"),
        (123.4, "123 s"),
        (1234.5, "1234 s"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (9.996, "10.0 s"),
        (-0.25, "-250 ms"),
        (0.0, "0 s"),
        (28159.0, "7.82 h"),
        (1438585.0, "16.7 d"),
        (math.inf, "inf s"),
        (math.nan, "nan s"),
    ],
)
def test_seconds(value_s: float, text: str) -> None:
    assert seconds(value_s) == text


@given(st.floats(1e-9, 9.99e3))
def test_seconds_have_three_digits_and_the_unit_that_keeps_them_below_1000(value_s: float) -> None:
    found = re.fullmatch(r"([\d.]+) (s|ms|us|ns)", seconds(value_s))
    assert found is not None
    number, size = float(found[1]), {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[found[2]]
    assert number * size == pytest.approx(value_s, rel=0.00501)
    assert len(found[1].replace(".", "").lstrip("0")) == 3 or number > 999
    assert 1 <= number < 1000 or found[2] == "s"


def test_quantities() -> None:
    assert quantity(0.25, "s") == "250 ms"
    assert (quantity(1234567, "B"), quantity(5, "")) == ("1,235,000 B", "5")
    assert quantity(23988.7, "MB/s") == "23,990 MB/s"
    assert (quantity(9999.9, ""), quantity(1.2345e15, "B")) == ("10,000", "1.234e+15 B")
    assert as_long_as(1.0004, "A") == "as long as A"
    assert as_long_as(0.5, "A") == "0.5 times the time of A"
    assert first_of(["a"] * 5) == "a, a, a, a, and 1 other"


def test_the_unit_of_an_axis() -> None:
    signs = [unit_for(np.array([1e-9, middle, 9.0])).sign for middle in (2.0, 2e-3, 2e-6, 2e-9)]
    assert signs == ["s", "ms", "µs", "µs"]


def test_counts() -> None:
    assert [counted(count, "run") for count in (0, 1, 2, 2000)] == [
        "0 runs",
        "1 run",
        "2 runs",
        "2,000 runs",
    ]
    assert counted(3, "body") == "3 bodies"
    assert (counted(3, "small series"), counted(2, "day")) == ("3 small series", "2 days")
    assert (plural(1, "rank"), plural(2, "rank"), plural(2, "series")) == (
        "rank",
        "ranks",
        "series",
    )


def test_ranks_are_named() -> None:
    assert named_ranks([1], 4) == "rank 1"
    assert named_ranks([2, 0], 4) == "ranks 0, 2"
    assert named_ranks(range(4), 4) == "all ranks"
    assert named_ranks([0], 1) == "rank 0"
    assert named_ranks(range(64), 100) == "ranks 0, 1, 2, 3 and 60 others"


def test_choices() -> None:
    assert [either(names) for names in ((), ("a",), ("a", "b"), ("a", "b", 3))] == [
        "nothing",
        "a",
        "a or b",
        "a, b or 3",
    ]
    assert either(range(23)).endswith("18, 19 or 3 more")
    assert choose(("gmres", "cg"), "zzz") == "choose gmres or cg"
    assert choose(("gmres", "cg"), "gmers") == "did you mean gmres? choose gmres or cg"


def test_percents() -> None:
    assert (percent(0.1234), percent(0.1234, 0), percent(0.975, None)) == (
        "12.3 %",
        "12 %",
        "97.5 %",
    )
    assert (signed_percent(0.1234), signed_percent(-0.3, decimals=0)) == ("+12.3 %", "-30 %")
    assert signed_percent(0.1, (0.05, 0.2)) == "+10.0 % (+5.0 to +20.0 %)"


def test_a_change_of_over_1000_percent_is_a_factor() -> None:
    assert (signed_percent(16.6), signed_percent(66899.0)) == ("x17.6", "x66,900")
    assert signed_percent(16.6, (9.0, 19.0)) == "x17.6 (x10.0 to x20.0)"
    assert (difference(0.34), difference(16.6)) == ("34 %", "a factor of 17.6")


@pytest.mark.parametrize("share", [1e300, -1e300, 1e5, math.inf])
def test_a_huge_percent_has_few_digits(share: float) -> None:
    for text in (percent(share), percent(share, 0), percent(share, None), signed_percent(share)):
        assert len(text) <= 11
    assert len(signed_percent(share, (share, share))) <= 36


def test_only_what_is_certain_is_100_percent() -> None:
    shares = (0.0, 5e-5, 0.0123, 0.12, 0.98, 0.9999, 1.0)
    assert [probability(share) for share in shares] == [
        "below 0.01 %",
        "below 0.01 %",
        "1.2 %",
        "12 %",
        "98 %",
        "above 99 %",
        "100 %",
    ]


def test_shares() -> None:
    assert (read_share("5%", "--a"), read_share("0.05", "--a")) == (0.05, 0.05)
    assert (read_increase("0", "--a"), read_increase("200%", "--a")) == (0.0, 2.0)
    for text in ("0", "101%", "five", "nan"):
        with pytest.raises(UsageError, match=f"--a {text}: write a share above 0 and up to 1"):
            read_share(text, "--a")
    for text in ("-1", "inf", "five"):
        with pytest.raises(UsageError, match=f"--a {text}: write a share of 0 or more"):
            read_increase(text, "--a")
    with pytest.raises(UsageError, match=r"--a 15: this is 1500 %; .* 1500%, else 15% or 0.15"):
        read_increase("15", "--a")
