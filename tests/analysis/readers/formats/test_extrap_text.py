"""Extra-P's text format: what is read, and what is said of what is not."""

from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "experiment.txt"


def read(file: Path, text: str) -> Experiment:
    file.write_text(text)
    return read_experiment(file, format="text")


HEAD = "PARAMETER p\nPOINTS 2 4 8\nMETRIC time\nREGION main\n"


@pytest.mark.parametrize(
    "points",
    [
        "POINTS ( 1 10 ) ( 2 10 ) ( 3 20 )",
        "POINTS (1 10)(2 10)(3 20)",
        "POINTS ( 1 10 ) ( 2 10 )\n# between\n\nPOINTS ( 3 20 ) ",
        "POINTS ((1) (10)) ((2) (10)) ((3) (20))",
        "  POINTS\t( 3 20 )\t( 2 10 ) ( 1.0 1e1 )",
    ],
)
@pytest.mark.parametrize("parameters", ["PARAMETER p n", "PARAMETER p\nPARAMETER n"])
def test_points_of_several_parameters(file: Path, parameters: str, points: str) -> None:
    data = "DATA 1\nDATA 2\nDATA 3\n" if "\t" not in points else "DATA 3\nDATA 2\nDATA 1\n"
    experiment = read(file, f"# first\n{parameters}\n{points}\nMETRIC t\nREGION a\n{data}")
    assert experiment.parameters == ("p", "n")
    assert experiment.series[0].points.tolist() == [[1, 10], [2, 10], [3, 20]]
    assert experiment.series[0].values.tolist() == [[1], [2], [3]]
    assert experiment.warnings == ()


@pytest.mark.parametrize("points", ["2 4 8", "( 2 ) ( 4 ) ( 8 )", "(2)(4)(8)", "((2)) ((4)) ((8))"])
def test_points_of_one_parameter(file: Path, points: str) -> None:
    experiment = read(file, f"PARAMETER p\nPOINTS {points}\nDATA 1 2\nDATA 2\nDATA 3\n")
    (series,) = experiment.series
    assert (series.kernel, series.metric) == ("<root>", "<default>")
    assert series.points.tolist() == [[2], [4], [8]]
    np.testing.assert_array_equal(series.values, [[1.0, 2.0], [2.0, np.nan], [3.0, np.nan]])


def test_a_point_named_twice_is_one_point(file: Path) -> None:
    points = "PARAMETER p\nPOINTS 2 4 4 8\nREGION a\n"
    each = read(file, points + "DATA 2\nDATA 4\nDATA 44\nDATA 8\n")
    np.testing.assert_array_equal(
        each.series[0].values, [[2.0, np.nan], [4.0, 44.0], [8.0, np.nan]]
    )
    # Extra-P 4.2 reads one line for each different point.
    different = read(file, points + "DATA 2\nDATA 4\nDATA 8\n")
    assert different.series[0].values.tolist() == [[2], [4], [8]]


def test_a_section_that_comes_again_repeats(file: Path) -> None:
    data = "DATA 1\nDATA 2\nDATA 3\n"
    experiment = read(file, HEAD + data + "REGION main\n" + data)
    assert experiment.series[0].values.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_data_that_do_not_match_points_cost_their_series_only(file: Path) -> None:
    rest = "REGION whole\nDATA 1\nDATA 2\nDATA 3\n"
    for lines in (2, 4):
        experiment = read(file, HEAD + "DATA 1\n" * lines + rest)
        assert [series.kernel for series in experiment.series] == ["whole"]
        (warning,) = experiment.warnings
        assert f"line 5: main (time) has {lines} lines of DATA for 3 points" in warning
        assert "a line with DATA alone" in warning


def test_a_line_of_data_without_numbers_keeps_its_place(file: Path) -> None:
    experiment = read(file, HEAD + "DATA 1\nDATA\nDATA 3\nREGION b\nDATA 1\nDATA 2\nDATA 3\n")
    assert experiment.series[0].points.ravel().tolist() == [2, 8]
    assert experiment.warnings == (
        "No value of time at p = 4 for main: modelled from the other points.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "DATUM 1\n",
            r"line 5: unknown keyword 'DATUM'.* PARAMETER, POINTS, METRIC, REGION",
        ),
        (HEAD + "data 1\n", "unknown keyword 'data'"),
        ("PARAMETER p\nPOINTS 1_000 2\n", "line 2: '1_000' is not a number"),
        (HEAD + "DATA 1,5\n", "line 5: '1,5' is not a number.*decimal point"),
        (HEAD, "has no DATA"),
        ("PARAMETER p\nDATA 1\n", "line 2: DATA before POINTS"),
        ("PARAMETER p\nPOINTS 1\nPARAMETER n\n", "line 3: PARAMETER after POINTS"),
        ("PARAMETER p\nPOINTS (1\n", "line 2: parentheses that do not match"),
        ("PARAMETER p n\nPOINTS 1 2\n", "line 2: 1 outside of parentheses; with 2 parameters"),
        ("PARAMETER p n\nPOINTS (1)\n", "line 2: a point of 1 numbers; the parameters are p, n"),
        ("PARAMETER p\nPOINTS 1\nMETRIC\n", "line 3: METRIC without a name"),
    ],
)
def test_malformed_files_say_line_and_remedy(file: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        read(file, text)
    assert str(file) in str(raised.value)
