"""Extra-P's JSON and JSON lines: variants, and what is said of faults."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.readers.experiment_files import SMALL, older_json

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError


def read(folder: Path, text: str) -> Experiment:
    file = folder / "experiment"
    file.write_text(text)
    return read_experiment(file)


def document(**changes: Any) -> str:
    entries = [{"point": [4], "values": [6.0, 6.08]}, {"point": [8], "values": [7]}]
    whole = {"parameters": ["p"], "measurements": {"main": {"time": entries}}}
    return json.dumps({**whole, **changes})


def test_missing_and_impossible_numbers_are_left_out(tmp_path: Path) -> None:
    values = f"[1.5, null, NaN, Infinity, 0, -2, 1{'0' * 400}]"
    text = '{"parameters": ["p"], "measurements": {"a": {"t": [{"point": [2], "values": %s}]}}}'
    experiment = read(tmp_path, text % values)
    np.testing.assert_array_equal(experiment.series[0].values, [[1.5]])
    *told, more = experiment.warnings
    assert all("measurements['a']['t'][0]: " in warning for warning in told)
    assert (len(told), more[:6]) == (5, "1 more")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (document()[:-20], r"line 1, column \d+: not JSON .*cut off"),
        ("[1, 2]", "format of .* is unknown"),
        (document(parameters="p"), "parameters should be a list; it is 'p'"),
        (document(parameters=["p", "n"]), r"\['time'\]\[0\]: a point of 1 numbers.*p, n"),
        (
            document(measurements={"a": {"t": [{"point": [1], "values": ["1"]}]}}),
            r"\[0\] values: \"1\" is not a number",
        ),
        (
            document(measurements={"a": {"t": [{"point": [-4], "values": [1]}]}}),
            r"\['a'\]\['t'\]\[0\]: p = -4; a parameter must be above zero",
        ),
        ('{"parameters": ["p"], "measurements": {"a": {}, "a": {}}}', "key .*a.* comes twice"),
        ('{"parameters": ' + "[" * 100_000, "not JSON"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def older(change: Any) -> str:
    data = json.loads(older_json(SMALL))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["measurements"][3].pop("value"), r"measurements\[3\] lacks 'value'"),
        (lambda d: d["measurements"][3].update(metric_id=7), "no metric has the id 7"),
        (lambda d: d["measurements"][3].update(callpath_id=[]), "callpath_id is "),
        (lambda d: d["metrics"].append({"id": 1, "name": "b"}), r"metrics\[1\]: id 1 occurs twice"),
        (lambda d: d["coordinates"][0]["parameter_value_pairs"].pop(), "coordinates with id 1 has"),
    ],
)
def test_faults_of_the_older_form_name_their_place(
    tmp_path: Path, change: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, older(change))


def test_ids_may_start_anywhere_and_be_text(tmp_path: Path) -> None:
    def renumber(data: Any) -> None:
        for entry in data["metrics"]:
            entry["id"] = str(entry["id"] + 40)
        for entry in data["measurements"]:
            entry["metric_id"] += 40

    assert read(tmp_path, older(renumber)).series == SMALL.series()


def test_lines_need_only_parameters_and_a_value(tmp_path: Path) -> None:
    lines = '{"params": {"p": 4}, "value": 1}\n\n{"value": [2, 3], "params": {"p": 2}}\n'
    (series,) = read(tmp_path, lines).series
    assert (series.kernel, series.metric) == ("<root>", "<default>")
    np.testing.assert_array_equal(series.points, [[2], [4]])
    np.testing.assert_array_equal(series.values, [[2.0, 3.0], [1.0, np.nan]])


FIRST = '{"params": {"p": 4}, "value": 1}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"params": {"p": 4}, "val', "line 2, column .*not JSON.*cut off"),
        ("[1]", 'line 2: a line is an object with at least "params"'),
        ('{"params": {"p": 4}, "value": 1, "value": 2}', "line 2: .*value.* comes twice"),
        ('{"params": {"p": 4, "n": 2}, "value": 1}', "line 2: the parameters are p, n; the first"),
        ('{"params": {"p": 4}, "value": [[1]]}', "line 2: .* is not a number"),
        ('{"params": {"p": 4}, "value": 1, "metric": 5}', "line 2: metric is '5'; it should be a"),
    ],
)
def test_faulty_lines_have_their_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, FIRST + line)
