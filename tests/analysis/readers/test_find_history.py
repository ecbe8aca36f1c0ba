"""Formats found in files and folders, repeats, order, and what is said of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.analysis.readers.history_files import (
    CASE,
    TABLE,
    WRITTEN,
    assert_sound,
    write_asv,
    write_night,
)

from hindmost.analysis.readers.read import read_history, recognise
from hindmost.analysis.readers.registry import HISTORY_FORMATS
from hindmost.errors import DataError, UsageError


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_is_found_by_its_contents(tmp_path: Path, name: str) -> None:
    path = tmp_path / "results.dat"
    path.write_text(WRITTEN[name])
    found = recognise(path, HISTORY_FORMATS)
    assert found is not None
    assert found.name == name
    path.write_text("\ufeff" + WRITTEN[name])
    assert recognise(path, HISTORY_FORMATS) is found
    assert_sound(read_history(path))


@pytest.mark.parametrize("name", HISTORY_FORMATS.names)
def test_a_wrongly_named_format_is_a_plain_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "results"
    path.write_text(WRITTEN["nightly"])
    if name != "nightly":
        with pytest.raises(DataError):
            read_history(path, format=name)


def test_formats_are_mixed_only_if_all_are_named(tmp_path: Path) -> None:
    write_night(tmp_path)
    (tmp_path / "a.csv").write_text(TABLE)
    with pytest.raises(DataError, match=r"several formats: .*a.csv is csv; .*nightly. Name the"):
        read_history(tmp_path)
    assert len(read_history(tmp_path, format="csv").series) == 2
    assert read_history(tmp_path, format="csv").warnings == (
        f"{tmp_path}: left out ctest-20210124.json (different format).",
    )
    both = read_history(tmp_path, format=["csv", "nightly"])
    assert {each.name.case for each in both.series} == {"a", CASE}
    assert both.warnings == ()
    with pytest.raises(DataError, match="contains no file of the format asv"):
        read_history(tmp_path, format="asv")
    with pytest.raises(DataError, match=r"a\.csv does not have the format nightly or asv"):
        read_history(tmp_path / "a.csv", format=["nightly", "asv"])


def test_a_folder_is_searched_two_levels_down(tmp_path: Path) -> None:
    write_asv(tmp_path / "results")
    (tmp_path / ".asv").mkdir()
    (tmp_path / ".asv" / "hidden.csv").write_text(TABLE)
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "deep.csv").write_text(TABLE)
    (tmp_path / "README").write_text("Nothing, really.\n")
    history = read_history(tmp_path)
    assert {each.name.machine for each in history.series} == {"m1"}
    assert history.warnings == (f"{tmp_path}: left out README (different format).",)


def test_bad_files_are_left_out_beside_good_ones(tmp_path: Path) -> None:
    write_night(tmp_path)
    bad = write_night(tmp_path, 20210125)
    bad.write_text(bad.read_text()[:-30])
    history = read_history(tmp_path)
    assert all(len(each.values) == 1 for each in history.series)
    assert len(history.warnings) == 1
    assert "ctest-20210125.json, line" in history.warnings[0]
    assert history.warnings[0].endswith("cut off. The file is left out.")
    with pytest.raises(DataError, match=r"line \d+, column \d+: not JSON"):
        read_history(bad)
    (tmp_path / "ctest-20210124.json").unlink()
    with pytest.raises(DataError, match="not JSON"):
        read_history(tmp_path)


def test_values_that_are_no_measurements(tmp_path: Path) -> None:
    timers = {
        "good": 1,
        "zero": 0.0,
        "negative": -1.5,
        "nan": float("nan"),
        "infinite": float("inf"),
        "huge": 10**400,
        "text": "1.5",
        "truth": True,
        "nothing": None,
        "list": [1.0],
    }
    path = write_night(tmp_path, timers=timers)
    history = read_history(path)
    assert [(each.name.timer, each.values.tolist()) for each in history.series] == [("good", [1])]
    begin = f"{path}: {CASE}, "
    *told, more = history.warnings
    assert more == "4 more of this sort: values that are not measurements."
    why = ", which is not a finite number above zero; left out."
    assert sorted(each.removeprefix(begin).removesuffix(why) for each in told) == [
        f"huge is 1{'0' * 36}...",
        *("infinite is Infinity", "nan is NaN", "negative is -1.5", "zero is 0.0"),
    ]


def test_what_is_there_twice_counts_once(tmp_path: Path) -> None:
    path = write_night(tmp_path, timers={"a": 1.0, "b": 2.0})
    write_night(tmp_path, 20210125, passed=False)
    copy = tmp_path / "zz-copy.json"
    shutil.copy(path, copy)
    shutil.copy(tmp_path / "ctest-20210125.json", tmp_path / "zz-failed.json")
    history = read_history([tmp_path, path])
    assert [each.values.tolist() for each in history.series] == [[1.0], [2.0]]
    assert len(history.failures) == 1
    assert history.warnings == (
        f"{copy} repeats 2 results of {path} (same time, value and commits); left out.",
    )


def test_several_runs_a_day_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["2025-01-02,x,3", "2025-01-01,x,2", "2025-01-01,x,1", "2025-01-01,x,2"]
    path.write_text("\n".join(["date,commit,solve", *rows, "2025-01-01,y,2"]) + "\n")
    history = read_history(path)
    # In the order of the rows where the dates are the same.
    assert history.series[0].values.tolist() == [2, 1, 2, 3]
    assert history.series[0].commits == ("x", "x", "y", "x")
    assert history.warnings == (
        f"{path}, line 5 repeats 1 result of {path}, line 3 (same time, value and commits); "
        "left out.",
    )


def test_a_unit_unlike_the_others_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["01,GB,3", "02,bytes,2", "03,bytes,2"]
    rows = [f"2025-01-{row[:2]},memory,{row[3:]}" for row in rows]
    path.write_text("\n".join(["date,metric,unit,value", *rows]) + "\n")
    history = read_history(path)
    (series,) = history.series
    assert (series.unit, series.values.tolist()) == ("bytes", [2, 2])
    assert history.warnings == (
        f"{path}, line 2: a, memory has the unit 'GB', elsewhere 'bytes'; left out.",
    )


def test_a_part_may_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "blake").mkdir()
    write_night(tmp_path / "blake", case="ant [x]_np8")
    write_night(tmp_path / "blake", 20210125, passed=False)
    (tmp_path / "weaver").mkdir()
    write_night(tmp_path / "weaver")
    names = [each.name for each in read_history(tmp_path, machine="weaver").series]
    assert {(name.machine, name.case) for name in names} == {("weaver", CASE)}
    assert read_history(tmp_path, machine="weaver").failures == ()
    assert len(read_history(tmp_path, machine="b*", timer="*Total*").series) == 2
    found = read_history(tmp_path, case="ant [x]*", timer="Albany Total Time:")
    assert [each.name.case for each in found.series] == ["ant [x]_np8"]
    assert found.parents == {}
    only = read_history(tmp_path, machine="blake", case=CASE, timer="Albany Total Time:")
    assert (len(only.series), len(only.failures)) == (0, 1)
    for request, choices in (
        ({"machine": "waterman"}, "blake or weaver"),
        ({"case": "ant"}, r"ant \[x\]_np8 or green-3"),
        ({"timer": "Total"}, "Albany Fill: Residual:, "),
    ):
        word = next(iter(request))
        with pytest.raises(UsageError, match=rf"No {word} '\w+' in .*; choose {choices}"):
            read_history(tmp_path, **request)


def test_requests_that_are_not_possible(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_history(tmp_path / "b")
    with pytest.raises(UsageError, match="No file to read a history from"):
        read_history([])
    with pytest.raises(UsageError, match="Unknown format 'xml'; choose runs, pytest-bench"):
        read_history(tmp_path, format="xml")
    with pytest.raises(
        DataError, match=r"contains no file of a known format\. Known formats are runs: "
    ):
        read_history(tmp_path)
