"""Nightly files of ctest: cases, failures, dates, commits and the hierarchy of timers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.readers.history_files import (
    CASE,
    TIMERS,
    night,
    write_night,
)

from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

NIGHT_S = datetime(2021, 1, 24, 5, 34, 11, tzinfo=UTC).timestamp()


def test_a_night(tmp_path: Path) -> None:
    folder = tmp_path / "blake_nightly_data"
    folder.mkdir()
    write_night(folder)
    (folder / "config.json").write_text('{"cases": ["a"], "timers": ["Albany Total Time:"]}')
    history = read_history(folder)
    assert [each.name for each in history.series] == [
        SeriesName(machine="blake", case=CASE, timer=timer) for timer in sorted(TIMERS)
    ]
    series = history.series[0]
    assert (series.unit, series.smaller_is_better, series.spread) == ("s", True, None)
    assert series.times.tolist() == [NIGHT_S]
    assert series.values.tolist() == [2.5]
    assert series.commits == ("Albany 6177ebf, Trilinos 5e36d3d",)
    assert series.commit_parts[0] == {"Albany": "6177ebf", "Trilinos": "5e36d3d"}
    assert series.commit_parts[0] is history.series[1].commit_parts[0]
    assert (history.failures, history.warnings) == ((), ())
    assert history.source == str(folder)


def test_the_hierarchy_of_the_report(tmp_path: Path) -> None:
    write_night(tmp_path)
    assert read_history(tmp_path).parents == {
        "Albany Fill: Residual:": "Albany: Total Fill Time:",
        "Albany Residual Fill: Evaluate:": "Albany Fill: Residual:",
        "Albany: Total Fill Time:": "Albany Total Time:",
    }


def test_failed_runs_are_no_zeros(tmp_path: Path) -> None:
    write_night(tmp_path)
    write_night(tmp_path, 20210125, passed=False)
    write_night(tmp_path, 20210126, {}, start=None)
    history = read_history(tmp_path)
    assert all(len(each.values) == 1 for each in history.series)
    assert [(each.time, each.case, each.reason) for each in history.failures] == [
        (NIGHT_S + 86400, CASE, "did not pass"),
        (datetime(2021, 1, 26, tzinfo=UTC).timestamp(), CASE, "no timers"),
    ]
    assert history.failures[0].file.endswith("ctest-20210125.json")


def test_metadata_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "ctest-20191009.json"
    path.write_text(json.dumps({CASE: {"timers": {"Albany Total Time:": 1.5}}}))
    (series,) = read_history(path).series
    assert series.times.tolist() == [datetime(2019, 10, 9, tzinfo=UTC).timestamp()]
    assert series.commits == ("",)
    assert series.commit_parts == ({},)


def test_a_case_without_any_date_is_left_out(tmp_path: Path) -> None:
    whole = night(case="good_np1")
    whole["bad"] = {"timers": {"t": 1.0}, "passed": True}
    whole["odd"] = {"date": 20210124}
    whole["worse"] = ["no", "object"]
    whole["worst"] = {**night()[CASE], "date": "someday"}
    (tmp_path / "results.json").write_text(json.dumps(whole))
    history = read_history(tmp_path)
    assert {each.name.case for each in history.series} == {"good_np1"}
    told = "\n".join(history.warnings)
    assert "results.json: bad has no date" in told
    assert "odd has neither 'passed' nor 'timers'" in told
    assert "worse should be an object" in told
    assert "worst: date: 'someday' is not a date; a date is written as 2021-01-24" in told


def test_nights_in_which_nothing_ran(tmp_path: Path) -> None:
    write_night(tmp_path)
    (tmp_path / "ctest-20210125.json").write_text("{}")
    history = read_history(tmp_path)
    assert history.warnings == (f"{tmp_path}/ctest-20210125.json contains no case; left out.",)
    (tmp_path / "ctest-20210124.json").unlink()
    with pytest.raises(DataError, match=r"contains no usable result.*contains no case"):
        read_history(tmp_path)


def test_indented_timers_are_below_those_before_them(tmp_path: Path) -> None:
    timers = {"Total": 9.0, "  Fill": 4.0, "   Export": 1.0, "  Solve": 3.0, "    Export": 1.5}
    write_night(tmp_path, timers={**timers, "Other": 1.0})
    history = read_history(tmp_path)
    assert history.parents == {
        "Total->Fill": "Total",
        "Total->Fill->Export": "Total->Fill",
        "Total->Solve": "Total",
        "Total->Solve->Export": "Total->Solve",
    }


def test_a_machine_that_the_file_names_or_the_folder(tmp_path: Path) -> None:
    for folder in ("blake", "waterman-results"):
        (tmp_path / folder).mkdir()
        write_night(tmp_path / folder)
    write_night(tmp_path, 20210125, machine="weaver")
    found = {each.name.machine for each in read_history(tmp_path).series}
    assert found == {"blake", "waterman", "weaver"}


def test_machines_are_never_mixed(tmp_path: Path) -> None:
    paths = []
    for machine in ("blake", "weaver"):
        (tmp_path / machine).mkdir()
        paths.append(write_night(tmp_path / machine, timers={"t": 1.0}))
    for given in (tmp_path, paths, [path.parent for path in paths]):
        found = [each.name.machine for each in read_history(given).series]
        assert found == ["blake", "weaver"]
    assert read_history(paths[0]).series[0].name.machine == ""


def test_a_folder_a_night_is_no_machine(tmp_path: Path) -> None:
    for day in ("2021-01-24", "2021-01-25"):
        (tmp_path / day).mkdir()
        document = {CASE: {"passed": True, "timers": {"t": float(day[-1])}}}
        (tmp_path / day / "results.json").write_text(json.dumps(document))
    (series,) = read_history(tmp_path).series
    assert series.name.machine == ""
    assert series.values.tolist() == [4, 5]
    assert np.diff(series.times).tolist() == [86400]
