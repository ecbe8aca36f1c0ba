"""Histories of github-action-benchmark: suites, repetitions, units, directions, damaged runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.readers.history_files import action, by_name

from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

BEGIN = "window.BENCHMARK_DATA = "


def read(folder: Path, document: dict[str, Any], before: str = BEGIN, after: str = "") -> History:
    path = folder / "data.js"
    path.write_text(before + json.dumps(document, indent=2) + after)
    return read_history(path)


@pytest.mark.parametrize(("before", "after"), [(BEGIN, ""), (BEGIN, ";\n"), ("", "")])
def test_runs_of_a_page(tmp_path: Path, before: str, after: str) -> None:
    history = read(tmp_path, action(2.5, [1.0, 4.0, 2.0]), before, after)
    (series,) = history.series
    assert (series.name.case, series.name.timer, series.unit) == ("BM_dot", "time", "s")
    assert series.times.tolist() == [1611466451, 1611552851]
    assert series.values == pytest.approx([2.5e-9, 2e-9])
    assert series.commits == ("0" * 12, "1" * 12)
    assert series.smaller_is_better
    assert history.warnings == ()


@pytest.mark.parametrize(("folder", "machine"), [("dev/bench", "bench"), ("blake", "blake")])
def test_a_page_in_the_folder_of_its_site(tmp_path: Path, folder: str, machine: str) -> None:
    site = tmp_path / folder
    site.mkdir(parents=True)
    (site / "data.js").write_text(BEGIN + json.dumps(action(2.5)))
    (site / "index.html").write_text("<!DOCTYPE html>\n<html></html>")
    history = read_history(tmp_path)
    assert [each.name.machine for each in history.series] == [machine]
    assert history.warnings == ()


def test_suites_but_the_default_one_are_named(tmp_path: Path) -> None:
    document = action(1.0)
    document["entries"] |= action(2.0, suite="GPU")["entries"]
    assert {each.name.case for each in read(tmp_path, document).series} == {"BM_dot", "GPU: BM_dot"}


@pytest.mark.parametrize(
    ("unit", "tool", "timer", "read_as", "smaller"),
    [
        ("ns/iter", "googlecpp", "time", "s", True),
        ("ns/op", "go", "time", "s", True),
        ("msec", "customSmallerIsBetter", "time", "s", True),
        ("iter/sec", "pytest", "value", "iter/sec", False),
        ("ops/sec", "benchmarkjs", "value", "ops/sec", False),
        ("B/op", "go", "value", "B/op", True),
        ("Percent", "customSmallerIsBetter", "value", "Percent", True),
        ("Percent", "customBiggerIsBetter", "value", "Percent", False),
    ],
)
def test_units_and_directions(
    tmp_path: Path, unit: str, tool: str, timer: str, read_as: str, smaller: bool
) -> None:
    document = action(1.0, tool=tool)
    document["entries"]["Benchmark"][0]["benches"][0]["unit"] = unit
    (series,) = read(tmp_path, document).series
    assert (series.name.timer, series.unit, series.smaller_is_better) == (timer, read_as, smaller)


def test_fits_are_passed_over_and_a_missing_value_is_not(tmp_path: Path) -> None:
    document = action(1.0)
    document["entries"]["Benchmark"][0]["benches"] += [
        {"name": "BM_dot_BigO", "unit": "ns/iter"},
        {"name": "BM_dot_RMS", "unit": "undefined/iter"},
        {"name": "BM_cross", "unit": "ns/iter"},
    ]
    history = read(tmp_path, document)
    assert set(by_name(history)) == {("", "BM_dot", "time")}
    (told,) = history.warnings
    assert "BM_cross, time is null, which is not" in told


def test_the_line_of_an_error_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.js"
    path.write_text('\nwindow.BENCHMARK_DATA = {\n"entries": {"a": [{"benches": [,]}]}}')
    with pytest.raises(DataError, match=r"data.js, line 3, column"):
        read_history(path)
