"""Google Benchmark, pytest-benchmark and hyperfine: values, repetitions, failures, dates."""

from __future__ import annotations

import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.readers.history_files import (
    aggregate,
    by_name,
    google,
    hyperfine,
    repetition,
    session,
)

from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

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
    assert [(each.case, each.reason) for each in history.failures] == [
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
    assert {each.reason for each in history.failures} == {"no statistics"}


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
    assert [(each.case, each.reason) for each in history.failures] == [
        ("bad", "ended with status 1")
    ]
    assert history.warnings == ()


def test_hyperfine_runs_that_failed(tmp_path: Path) -> None:
    history = read(tmp_path, hyperfine(0.1, 0.1, codes=[0, None]), name="nap-20210124")
    assert [each.reason for each in history.failures] == ["was killed"]
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
