"""Tables: which column is what, and what is said of rows that are not right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError, UsageError


def read(folder: Path, text: str, parameters: str | list[str] | None = None) -> Experiment:
    file = folder / "table"
    file.write_text(text)
    return read_experiment(file, format="csv", parameters=parameters)


def test_a_column_for_every_metric(tmp_path: Path) -> None:
    experiment = read(
        tmp_path,
        "# from the scheduler\np, n, kernel, time [s], flops\n"
        '4, 10, "a, b", 1.5, 4e9\n\n4, 10, "a, b", 1.6, \n2, 10, "a, b", 0.5, 2e9\n',
    )
    assert experiment.parameters == ("p", "n")
    time, flops = experiment.series
    assert (time.kernel, time.metric, time.unit) == ("a, b", "time", "s")
    assert (flops.metric, flops.unit) == ("flops", "")
    assert time.points.tolist() == [[2, 10], [4, 10]]
    np.testing.assert_array_equal(time.values, [[0.5, np.nan], [1.5, 1.6]])
    assert experiment.warnings == ()


@pytest.mark.parametrize(
    "text",
    ["kernel,p,time\nmain,4,1\n", "p,kernel,time\n4,main,1\n", "REGION,p [ranks],time\nmain,4,1\n"],
)
def test_the_kernel_may_stand_first_or_between(tmp_path: Path, text: str) -> None:
    experiment = read(tmp_path, text)
    assert experiment.parameters == ("p",)
    (series,) = experiment.series
    assert (series.kernel, series.metric) == ("main", "time")


def test_two_columns_are_a_parameter_and_a_metric(tmp_path: Path) -> None:
    (series,) = read(tmp_path, "p,time\n4,1\n4,2\n2,1\n").series
    assert series.kernel == "<root>"
    np.testing.assert_array_equal(series.values, [[1.0, np.nan], [1.0, 2.0]])


def test_a_row_for_every_measurement(tmp_path: Path) -> None:
    experiment = read(
        tmp_path,
        "Kernel\tMetric\tp\tn\tvalue\trepetition\tunit\nmain\ttime\t4\t10\t1.5\t1\tsec\n"
        "main\ttime\t4\t10\t1.6\t2\tsec\nmain\tbytes\t4\t10\t\t1\tbytes\nmain\tbytes\t8\t10\t7\t1\t\n",
    )
    assert experiment.parameters == ("p", "n")
    time, volume = experiment.series
    assert (time.unit, volume.unit) == ("s", "bytes")
    assert time.values.tolist() == [[1.5, 1.6]]
    assert volume.points.tolist() == [[8, 10]]


def test_decimal_commas_come_with_semicolons(tmp_path: Path) -> None:
    (series,) = read(tmp_path, "p;time\n4;1,5\n8;2.5\n").series
    assert series.values.ravel().tolist() == [1.5, 2.5]


def test_named_parameters_leave_the_rest_as_metrics_or_to_tell_kernels_apart(
    tmp_path: Path,
) -> None:
    wide = read(tmp_path, "time,n,p\n1,10,4\n2,20,8\n", ["p", "n"])
    assert wide.parameters == ("p", "n")
    assert wide.series[0].points.tolist() == [[4, 10], [8, 20]]
    long = read(
        tmp_path, "p,compiler,seed,value\n2,gcc,1,1\n2,clang,1,2\n4,gcc,1,3\n", parameters="p"
    )
    assert [series.kernel for series in long.series] == [
        "<root>, compiler = gcc",
        "<root>, compiler = clang",
    ]


def test_rows_of_another_length_are_left_out(tmp_path: Path) -> None:
    experiment = read(tmp_path, "p,time\n4,1\n8\n16,1,1\n32,2\n")
    assert experiment.series[0].points.ravel().tolist() == [4, 32]
    assert [warning.split(": ")[1] for warning in experiment.warnings] == [
        "1 fields where the header has 2; left out.",
        "3 fields where the header has 2; left out.",
    ]
    assert "line 3" in experiment.warnings[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "p,n,time\n1,2,3\n",
            "line 1: cannot distinguish parameters from metrics among p, n, time",
        ),
        ("p,time\n", "no rows below its header; a table has columns"),
        (
            "p,time\n4,fast\n",
            "line 2: 'fast' in column 'time' is not a number. Leave a field empty",
        ),
        (
            "p,host,value\n4,a,1\n",
            "line 2: 'a' in column 'host' is not a number.*not a parameter, name.*--parameter",
        ),
        ("kernel,value\na,1\n", "the columns are kernel, value; a table"),
        ("p,kernel,region,time\n4,a,b,1\n", "more than one column for the kernel"),
        ("p,kernel,time,time\n4,a,1,2\n", "line 1: more than one column is named 'time'; rename"),
        ("p,time\n4," + "9" * 140_000 + "\n", "line 2: not a row of a table"),
    ],
)
def test_faults_say_line_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_a_parameter_that_no_column_has_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column 'q'; choose p or time"):
        read(tmp_path, "p,time\n1,2\n", "q")
