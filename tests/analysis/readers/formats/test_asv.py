"""Results of asv: parameters, versions, environments, failures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from scipy import stats
from tests.analysis.readers.history_files import by_name, write_asv

from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

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
    assert {each.case.removesuffix(environment) for each in history.failures} == {
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
