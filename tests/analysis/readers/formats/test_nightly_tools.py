"""Nightly results of ctest, of benchmark tools and of asv: values, repetitions, failures, dates."""

import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.analysis.readers.history_files import (
    CASE,
    TIMERS,
    action,
    aggregate,
    by_name,
    google,
    hyperfine,
    night,
    repetition,
    session,
    write_asv,
    write_night,
)

from hindmost.analysis.readers.history import History, SeriesName
from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

BEGUN_S = datetime(2021, 1, 24, 5, 34, 11, tzinfo=UTC).timestamp()


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
    assert series.times.tolist() == [BEGUN_S]
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
    assert [(failure.time, failure.case, failure.reason) for failure in history.failures] == [
        (BEGUN_S + 86400, CASE, "did not pass"),
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


NIGHT = "2021-01-24T05:34:11+00:00"
NIGHT_S = datetime(2021, 1, 24, 5, 34, 11, tzinfo=UTC).timestamp()


def read(folder: Path, *documents: dict[str, Any], name: str = "night") -> History:
    for number, document in enumerate(documents):
        (folder / f"{name}-{number}.json").write_text(json.dumps(document, indent=2))
    return read_history(folder)


def test_google_benchmark(tmp_path: Path) -> None:
    entries = [
        repetition("sum/10", 588.5, 588.0),
        repetition("sum/10", 2205.0, 584.0),
        repetition("sum/10", 564.5, 564.0),
        aggregate("sum/10", "mean", 1119.5, 579.0),
        aggregate("sum/10", "stddev", 940.0, 12.0),
        repetition("copy", 2.0, 1.0, "us", bytes_per_second=4e9, items=7.0, label="x"),
    ]
    history = read(tmp_path, google(NIGHT, *entries, git_commit="6177ebf"))
    found = by_name(history)
    assert {key[1:] for key in found} == {
        *(("sums: sum/10", timer) for timer in ("cpu_time", "real_time")),
        *(("sums: copy", t) for t in ("cpu_time", "real_time", "bytes_per_second", "items")),
    }
    real = found["blake", "sums: sum/10", "real_time"]
    assert (real.unit, real.times.tolist()) == ("s", [NIGHT_S])
    assert real.values == pytest.approx([588.5e-9])
    error = np.std([588.5, 2205, 564.5], ddof=1) / math.sqrt(3) * 1.16018 * 1e-9
    assert real.spread == pytest.approx([error])
    assert real.commits == ("6177ebf",)
    copy = found["blake", "sums: copy", "bytes_per_second"]
    assert (copy.unit, copy.smaller_is_better, copy.spread) == ("1/s", False, None)
    assert found["blake", "sums: copy", "real_time"].values == pytest.approx([2e-6])
    assert history.warnings == ()


def test_google_benchmark_with_aggregates_alone(tmp_path: Path) -> None:
    entries = [
        aggregate("sum", "mean", 12.0, 11.0),
        aggregate("sum", "median", 10.0, 10.0),
        aggregate("sum", "stddev", 3.0, 6.0),
        aggregate("sum", "cv", 0.25, 0.5),
        aggregate("other", "BigO", 3.0, 3.0),
    ]
    history = read(tmp_path, google(NIGHT, *entries))
    cpu, real = history.series
    assert (real.values.item(), cpu.values.item()) == pytest.approx((12e-9, 11e-9))
    assert real.spread == pytest.approx([3e-9 / math.sqrt(3)])
    assert "other has neither a repetition nor a mean" in history.warnings[0]


def test_google_benchmarks_that_failed(tmp_path: Path) -> None:
    bad = repetition("bad", 0.0, 0.0, error_occurred=True, error_message="no luck")
    skipped = repetition("later", 0.0, 0.0, skipped=True, skip_message="not here")
    odd = repetition("odd", 0.0, 2.0)
    history = read(tmp_path, google(NIGHT, bad, skipped, odd))
    assert [(failure.case, failure.reason) for failure in history.failures] == [
        ("sums: bad", "no luck"),
        ("sums: later", "not here"),
    ]
    assert [each.name.timer for each in history.series] == ["cpu_time"]
    assert "sums: odd, real_time is 0.0, which is not" in history.warnings[0]


def test_pytest_benchmark(tmp_path: Path) -> None:
    (series,) = read(
        tmp_path,
        session("2021-01-24T05:34:11.250000", rounds=36),
        session("2021-01-23T05:34:11+00:00"),
    ).series
    assert series.name.machine == "blake"
    assert (series.name.case, series.name.timer) == ("test_b.py::test_sort[10]", "time")
    assert series.times.tolist() == [NIGHT_S - 86400, NIGHT_S + 0.25]
    assert series.values.tolist() == [2.0, 2.0]
    # Of 4 rounds the standard deviation, 9; of 36 the quartiles of a normal law of deviation 1.
    assert series.spread == pytest.approx([1.09216 * 9 / 2, math.sqrt(math.pi / 2) / 6])
    assert series.freedom == pytest.approx([3.0, 0.37 * 35])
    assert series.commits[0] == "albany aaaaaaaaaaaa"
    assert series.commit_parts[0] == {"albany": "a" * 40}


@pytest.mark.parametrize("commit", ["unversioned", None])
def test_pytest_benchmark_without_a_commit(tmp_path: Path, commit: str | None) -> None:
    (series,) = read(tmp_path, session(NIGHT, commit=commit)).series
    assert series.commits == ("",)


def test_pytest_benchmark_with_little_in_it(tmp_path: Path) -> None:
    document = session(NIGHT, iqr=0.0, stddev=3.0)
    document["benchmarks"].append({"name": "test_none", "stats": {}})
    (tmp_path / "a.json").write_text(json.dumps(document, sort_keys=True))
    del document["commit_info"], document["benchmarks"][0]["stats"]["median"]
    document["datetime"] = "2021-01-25"
    (tmp_path / "b.json").write_text(json.dumps(document))
    history = read_history([tmp_path / "a.json", tmp_path / "b.json"], format="pytest-benchmark")
    (series,) = history.series
    assert series.values.tolist() == [2.0, 2.5]
    assert series.spread == pytest.approx([1.09216 * 3 / 2, 3 / 2])
    assert {failure.reason for failure in history.failures} == {"no statistics"}


def test_hyperfine(tmp_path: Path) -> None:
    document = hyperfine(0.5, 0.25, 4.0, parameters={"threads": "8", "delay": "0.1"})
    history = read(tmp_path, document, name="nap-2021-01-24T05-34-11")
    (series,) = history.series
    assert series.name.case == "sleep 0.1 (threads=8)"
    assert (series.name.machine, series.name.timer) == ("", "time")
    assert (series.times.tolist(), series.values.tolist()) == ([NIGHT_S], [0.5])
    error = 1.16018 * np.std([0.5, 0.25, 4.0], ddof=1) / math.sqrt(3)
    assert series.spread == pytest.approx([error])
    assert history.warnings == ()


def test_hyperfine_without_a_date(tmp_path: Path) -> None:
    path = tmp_path / "nap.json"
    path.write_text(json.dumps(hyperfine(0.5)))
    os.utime(path, (NIGHT_S, NIGHT_S))
    history = read_history(path)
    assert history.series[0].times.tolist() == [NIGHT_S]
    assert (
        "nap.json has no date in its contents, its name or its folder's name; dated by"
        in history.warnings[0]
    )


def test_hyperfine_2(tmp_path: Path) -> None:
    run = {
        "time_wall_clock": {"value": 1.0, "unit": "second"},
        "time_user": {"value": 0.0, "unit": "second"},
        "memory_peak_resident": {"value": 4096.0, "unit": "byte"},
        "exit_code": 0,
    }
    document = {
        "schema_version": 2,
        "metadata": {"hyperfine_version": "2.0.0", "start_time": "2021-01-24T05:34:11Z"},
        "primary_metric": "time_wall_clock",
        "results": [
            {"command": "sleep 1", "name": "nap", "measurements": [run, run]},
            {"command": "false", "name": "bad", "measurements": [{**run, "exit_code": 1}]},
        ],
    }
    history = read(tmp_path, document)
    memory, time = history.series
    assert (time.name.case, time.unit, memory.unit) == ("nap", "s", "bytes")
    assert (time.times.tolist(), time.values.tolist()) == ([NIGHT_S], [1.0])
    assert memory.values.tolist() == [4096.0]
    assert [(failure.case, failure.reason) for failure in history.failures] == [
        ("bad", "ended with status 1")
    ]
    assert history.warnings == ()


def test_hyperfine_runs_that_failed(tmp_path: Path) -> None:
    history = read(tmp_path, hyperfine(0.1, 0.1, codes=[0, None]), name="nap-20210124")
    assert [failure.reason for failure in history.failures] == ["was killed"]
    assert history.series == ()


@pytest.mark.parametrize(
    ("format", "document", "said"),
    [
        ("google-benchmark", {"context": {}, "benchmarks": []}, "context lacks 'date'"),
        ("google-benchmark", google("soon"), "context date: 'soon' is not a date"),
        ("google-benchmark", google(NIGHT, {"x": 1}), r"benchmarks\[0\] lacks 'name'"),
        ("google-benchmark", google(NIGHT), "contains no usable result"),
        ("pytest-benchmark", {"benchmarks": []}, "lacks 'datetime'"),
        ("pytest-benchmark", {**session(NIGHT), "benchmarks": 3}, "should be a list"),
        ("hyperfine", {"results": [{"mean": 1.0}]}, r"results\[0\] lacks 'command'"),
        ("hyperfine", [], "the document should be an object"),
        ("asv", {"results": {}}, "lacks 'commit_hash'"),
    ],
)
def test_documents_of_another_shape(
    tmp_path: Path, format: str, document: object, said: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=said):
        read_history(path, format=format)


BEGIN = "window.BENCHMARK_DATA = "


def read_page(
    folder: Path, document: dict[str, Any], before: str = BEGIN, after: str = ""
) -> History:
    path = folder / "data.js"
    path.write_text(before + json.dumps(document, indent=2) + after)
    return read_history(path)


@pytest.mark.parametrize(("before", "after"), [(BEGIN, ""), (BEGIN, ";\n"), ("", "")])
def test_runs_of_a_page(tmp_path: Path, before: str, after: str) -> None:
    history = read_page(tmp_path, action(2.5, [1.0, 4.0, 2.0]), before, after)
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
    assert {each.name.case for each in read_page(tmp_path, document).series} == {
        "BM_dot",
        "GPU: BM_dot",
    }


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
    (series,) = read_page(tmp_path, document).series
    assert (series.name.timer, series.unit, series.smaller_is_better) == (timer, read_as, smaller)


def test_fits_are_passed_over_and_a_missing_value_is_not(tmp_path: Path) -> None:
    document = action(1.0)
    document["entries"]["Benchmark"][0]["benches"] += [
        {"name": "BM_dot_BigO", "unit": "ns/iter"},
        {"name": "BM_dot_RMS", "unit": "undefined/iter"},
        {"name": "BM_cross", "unit": "ns/iter"},
    ]
    history = read_page(tmp_path, document)
    assert set(by_name(history)) == {("", "BM_dot", "time")}
    (told,) = history.warnings
    assert "BM_cross, time is null, which is not" in told


def test_the_line_of_an_error_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.js"
    path.write_text('\nwindow.BENCHMARK_DATA = {\n"entries": {"a": [{"benches": [,]}]}}')
    with pytest.raises(DataError, match=r"data.js, line 3, column"):
        read_history(path)


SORT = "b.Suite.time_sort({}, 'a') [virtualenv-py3.11]"


def test_parameters_are_cases(tmp_path: Path) -> None:
    write_asv(tmp_path)
    write_asv(tmp_path, "dddd-virtualenv-py3.11", commit="d" * 40, date_ms=1611380051000)
    history = read_history(tmp_path)
    found = by_name(history)
    assert set(found) == {
        ("m1", SORT.format(10), "time"),
        ("m1", SORT.format(1000), "time"),
        ("m1", "b.track_size [virtualenv-py3.11]", "track"),
    }
    small, large, track = (found[key] for key in sorted(found))
    assert small.times.tolist() == [1611380051, 1611466451]
    assert small.values.tolist() == [2.5e-6, 2.5e-6]
    assert (small.unit, track.unit) == ("s", "things")
    # From a 99 % interval of 2e-6 to 3e-6.
    assert small.spread == pytest.approx([1e-6 / (2 * stats.t.ppf(0.995, 2))] * 2)
    assert small.freedom == pytest.approx([2.0] * 2)
    assert (large.spread, track.spread) == (None, None)
    assert small.commits == ("d" * 12, "c3b9" * 3)
    assert history.warnings == ()


def test_what_failed_and_what_was_skipped(tmp_path: Path) -> None:
    results = {
        "b.time_bad": [None, [], "1"],
        "b.time_some": [[1.0, None, math.nan], [["1", "2", "3"]], "1"],
        "b.time_all": [None, [["1", "2"]], "1"],
        "b.peakmem_odd": [[1.0, 2.0], [["1"]], "1"],
        "b.mem_old": 8.0,
    }
    write_asv(tmp_path, results=results)
    history = read_history(tmp_path)
    environment = " [virtualenv-py3.11]"
    assert {failure.case.removesuffix(environment) for failure in history.failures} == {
        *("b.time_bad", "b.time_some(2)", "b.time_all(1)", "b.time_all(2)"),
    }
    assert {key[1].removesuffix(environment): s.unit for key, s in by_name(history).items()} == {
        "b.mem_old": "bytes",
        "b.time_some(1)": "s",
    }
    told = "\n".join(history.warnings)
    assert "b.time_some(3) [virtualenv-py3.11], time is NaN, which is not a finite number" in told
    assert "b.peakmem_odd has 2 results for 1 combinations of parameters." in told


def test_the_first_version_of_the_format_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = write_asv(tmp_path)
    document = json.loads(path.read_text())
    del document["result_columns"]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="run 'asv update'"):
        read_history(path)


def test_a_benchmark_that_was_something_else(tmp_path: Path) -> None:
    results = {"b.track_size": [[1.0], [], "0000"], "b.new": [[2.0], [], "1"]}
    write_asv(tmp_path, results=results)
    history = read_history(tmp_path)
    assert [each.name.case for each in history.series] == ["b.new [virtualenv-py3.11]"]
    assert "b.track_size was measured in a version other than that in bench" in history.warnings[0]


def test_results_without_their_description(tmp_path: Path) -> None:
    path = write_asv(tmp_path)
    (tmp_path / "benchmarks.json").unlink()
    units = {each.name.timer: each.unit for each in read_history(path).series}
    assert units == {"time": "s", "track": ""}
    (tmp_path / "benchmarks.json").write_text("{")
    history = read_history(path)
    assert {each.name.timer: each.unit for each in history.series} == units
    assert "benchmarks.json, line 1" in history.warnings[0]


BARE = ("nan", "-nan", "-nan(ind)", "inf", "-inf", "infinity", "1.#INF", "NaN", "Infinity")


@pytest.mark.parametrize("number", BARE)
def test_numbers_that_are_not_finite_are_the_failure_of_their_benchmark(
    tmp_path: Path, number: str
) -> None:
    good = repetition("good", 2.0, 1.0, label='an inf, "nan" text')
    entries = [good, repetition("bad", "X", 1.0), repetition("rate", 3.0, 1.0, per_second="X")]
    document = json.dumps(google(NIGHT, *entries)).replace('"X"', number)
    path = tmp_path / "night.json"
    path.write_text(document)
    history = read_history(path)
    failures = {failure.case: failure.reason.partition(" is ")[0] for failure in history.failures}
    assert failures == {"sums: bad": "real_time", "sums: rate": "per_second"}
    found = {key[1:]: series.values.item() for key, series in by_name(history).items()}
    assert found == {
        ("sums: good", "real_time"): pytest.approx(2e-9),
        ("sums: good", "cpu_time"): pytest.approx(1e-9),
        ("sums: bad", "cpu_time"): pytest.approx(1e-9),
        ("sums: rate", "real_time"): pytest.approx(3e-9),
        ("sums: rate", "cpu_time"): pytest.approx(1e-9),
    }


NAMELESS: dict[str, tuple[dict[str, Any], str]] = {
    "google": (google(NIGHT, {"real_time": 1.0}, repetition("", 1, 1), repetition("a", 2, 2)), "a"),
    "pytest": (session(NIGHT), "a"),
    "hyperfine": (
        {"results": [{"command": "a", "median": 1.0}, {"median": 1.0}, 3, {"command": " "}]},
        "a",
    ),
    "nightly": ({**night(case="a"), **night(case="")}, "a"),
    "page": (action(2.5), "a"),
}
NAMELESS["pytest"][0]["benchmarks"] = [
    {"name": "a", "stats": {"median": 1.0}},
    {"stats": {"median": 1.0}},
    {"fullname": "", "stats": {"median": 1.0}},
]
NAMELESS["page"][0]["entries"]["Benchmark"][0]["benches"] = [
    {"name": "a", "value": 1.0, "unit": "s"},
    {"value": 1.0, "unit": "s"},
    {"name": "", "value": 1.0, "unit": "s"},
]


@pytest.mark.parametrize("kind", NAMELESS)
def test_results_without_a_name_are_left_out_and_no_others(tmp_path: Path, kind: str) -> None:
    document, name = NAMELESS[kind]
    path = tmp_path / "night-2026-11-20.json"
    path.write_text(json.dumps(document))
    history = read_history(path)
    assert {each.name.case.removeprefix("sums: ") for each in history.series} == {name}
    assert any(warning.endswith("is left out.") for warning in history.warnings)


def test_metrics_of_one_name_and_several_units_are_several_series(tmp_path: Path) -> None:
    document = action(1.0, 1.5)
    for run in document["entries"]["Benchmark"]:
        run["benches"] += [
            {"name": "BM_dot", "value": 64, "unit": "B/op"},
            {"name": "BM_dot", "value": 7, "unit": "allocs/op"},
        ]
    history = read_page(tmp_path, document)
    found = {(each.name.timer, each.unit): each.values.tolist() for each in history.series}
    assert found == {
        ("time", "s"): pytest.approx([1e-9, 1.5e-9]),
        ("value", "B/op"): [64, 64],
        ("value [allocs/op]", "allocs/op"): [7, 7],
    }
    assert history.warnings == ()


def test_numbers_that_name_a_run_are_no_timers(tmp_path: Path) -> None:
    for at in range(3):
        timers = {"Total": 10.0 + at, "build id": 4711 + 2 * at, "begun": NIGHT_S + 86400.0 * at}
        write_night(tmp_path, 20210124 + at, timers=timers)
    history = read_history(tmp_path)
    assert [each.name.timer for each in history.series] == ["Total"]
    assert sum("not a measurement" in warning for warning in history.warnings) == 2
