"""What names say: dates, parents of timers, commits, machines, and whether small is good."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.analysis.readers.provenance import (
    commits_in,
    commits_text,
    date_in_name,
    machine_in,
    repository_in,
    seconds_since_1970,
    without_date,
)
from hindmost.analysis.readers.text_files import smaller_is_better
from hindmost.analysis.readers.timers import find_parents, unfold
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


def test_names_of_the_published_page() -> None:
    # Levels of the report's figure A.3.
    names = {
        "Total Time": 0,
        "Setup Time": 1,
        "Total Fill Time": 1,
        "Residual Fill": 2,
        "Residual Fill Evaluate": 3,
        "Residual Fill Export": 3,
        "Jacobian Fill": 2,
        "Jacobian Fill Evaluate": 3,
        "Jacobian Fill Export": 3,
        "NOX Total Preconditioner Construction": 1,
        "NOX Total Linear Solve": 1,
    }
    parents = find_parents(names, {})
    for name, level in names.items():
        depth, above = 0, name
        while above in parents:
            depth, above = depth + 1, parents[above]
        assert (depth, above) == (level, "Total Time")


def test_a_missing_parent_is_skipped() -> None:
    names = ["Albany Total Time:", "Albany Residual Fill: Export:"]
    assert find_parents(names, {}) == {names[1]: names[0]}
    assert find_parents(names[1:], {}) == {}


def test_paths_and_prefixes() -> None:
    names = ["a", "a->b->c", "a/b", "solve: halo", "solve", "x::y", "bytes/s", "a b"]
    assert find_parents(names, {}) == {"a->b->c": "a", "a/b": "a", "solve: halo": "solve"}


def test_what_a_reader_says_comes_first() -> None:
    told = {"halo": "solve", "wait": "solve"}
    assert find_parents(["halo", "solve"], told) == {"halo": "solve"}
    assert find_parents(["halo"], told) == {}


def test_indentation() -> None:
    assert unfold(["a", " b", "  c", " d", "e", "  f", " g"]) == [
        *("a", "a->b", "a->b->c", "a->d", "e", "e->f", "e->g"),
    ]


@pytest.mark.parametrize(
    ("key", "repository"),
    [
        ("Albany git commit id", "Albany"),
        ("Trilinos commit", "Trilinos"),
        ("git_commit", ""),
        ("commit", ""),
        ("commit_hash", ""),
        ("GIT_SHA1", ""),
        ("petsc-revision", "petsc"),
        ("Albany cxx compiler", None),
        ("committer", None),
        ("time", None),
    ],
)
def test_whose_commit_a_key_holds(key: str, repository: str | None) -> None:
    assert repository_in(key) == repository


def test_commits_for_a_person() -> None:
    parts = commits_in({"commit": "f" * 40, "Trilinos commit": " 5e36d3d ", "x commit": "unknown"})
    assert parts == {"": "f" * 40, "Trilinos": "5e36d3d"}
    assert commits_text(parts) == "ffffffffffff, Trilinos 5e36d3d"
    assert commits_in({"commit": None, "a commit": True, "revision": 4711}) == {"": "4711"}


@pytest.mark.parametrize(
    ("folder", "machine"),
    [
        ("blake_nightly_data", "blake"),
        ("waterman-results-2021", "waterman"),
        ("my machine runs", "my machine"),
        ("blake", ""),
        ("results", ""),
        ("", ""),
    ],
)
def test_machines_in_names_of_folders(folder: str, machine: str) -> None:
    assert machine_in(folder) == machine


@pytest.mark.parametrize(
    ("timer", "unit"),
    [
        ("throughput", ""),
        ("read", "MB/s"),
        ("items_per_second", "1/s"),
        ("GFLOP/s", ""),
        ("performance", "ns/day"),
        ("steps", "1/min"),
        ("SYPD", ""),
        ("rate", "Hz"),
        ("requests per minute", ""),
        ("transactions", "tps"),
        ("cache hit rate", "%"),
        ("HPL score", ""),
    ],
)
def test_rates_should_be_large(timer: str, unit: str) -> None:
    assert not smaller_is_better(timer, unit)


@pytest.mark.parametrize(
    ("timer", "unit"),
    [
        ("solve", "s"),
        ("speed test", "s"),
        ("wall time per simulated day", "s/day"),
        ("step", "s/step"),
        ("day", "h/day"),
        ("memory", "bytes"),
        ("cache miss rate", "%"),
        ("main/solve/d", ""),
        ("reduce/min", "calls"),
        ("error", ""),
    ],
)
def test_times_and_amounts_should_be_small(timer: str, unit: str) -> None:
    assert smaller_is_better(timer, unit)
