"""Tables: which column is what, dates, units, and what is said of rows that are not right."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.readers.history_files import TABLE, by_name

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.analysis.readers.text_files import HOST, RANK, name_and_unit, role_of
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
            "p,compiler,value\n4,a,1\n",
            "line 2: 'a' in column 'compiler' is not a number.*not a parameter, name.*--parameter",
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


@pytest.mark.parametrize(
    ("column", "name", "unit"),
    [
        ("time [s]", "time", "s"),
        ("Compute(s)", "Compute", "s"),
        ("min_time (seconds)", "min_time", "seconds"),
        ("bandwidth (MB/s)", "bandwidth", "MB/s"),
        ("latency (us)", "latency", "us"),
        ("rate [things per fortnight]", "rate", "things per fortnight"),
        ("rate (GFLOP/s)", "rate", "GFLOP/s"),
        ("time (mean)", "time (mean)", ""),
        ("f(x)", "f(x)", ""),
        ("(s)", "(s)", ""),
        ("wait (rank 0)", "wait (rank 0)", ""),
    ],
)
def test_units_stand_in_brackets_or_parentheses(column: str, name: str, unit: str) -> None:
    assert name_and_unit(column) == (name, unit)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("MPI Rank", RANK),
        ("rank_id", RANK),
        ("RankId", RANK),
        ("hostname", HOST),
        ("Node", HOST),
        ("job_id", "identifier"),
        ("seed", "identifier"),
        ("commit", "identifier"),
        ("Trial", "repetition"),
        ("cpu", "place"),
        *((name, None) for name in ("ranks", "nodes", "threads", "time", "idle")),
    ],
)
def test_columns_that_are_no_measurement_have_their_usual_names(
    name: str, role: str | None
) -> None:
    assert role_of(name) == role


@pytest.mark.parametrize("asked", ["size", "size (bytes)"])
def test_a_parameter_is_named_with_or_without_its_unit(tmp_path: Path, asked: str) -> None:
    """As of point-to-point benchmarks, whose first size is 0."""
    text = "size (bytes),time (us),rate (MB/s)\n" + "".join(
        f"{size},{1.0 + size},{2.0 + size}\n" for size in (0, 4, 8)
    )
    experiment = read(tmp_path, text, asked)
    assert experiment.parameters == ("size",)
    assert [(each.metric, each.unit) for each in experiment.series] == [
        ("time", "us"),
        ("rate", "MB/s"),
    ]
    assert experiment.series[0].points.tolist() == [[4.0], [8.0]]
    (remark,) = experiment.warnings
    assert "line 2: size = 0; a parameter must be above zero" in remark
    one = read_experiment(tmp_path / "table", format="csv", parameters=asked, metric="time (us)")
    assert [each.metric for each in one.series] == ["time"]


def test_identifiers_hosts_and_repetitions_are_no_metrics(tmp_path: Path) -> None:
    text = "job_id,ranks,hostname,run,time [s]\n" + "".join(
        f"{9000 + 7 * ranks + run},{ranks},n{run},{run},{1.0 / ranks}\n"
        for ranks in (1, 2, 4)
        for run in (1, 2)
    )
    experiment = read(tmp_path, text)
    assert experiment.parameters == ("ranks",)
    (series,) = experiment.series
    assert (series.kernel, series.metric) == ("<root>", "time")
    np.testing.assert_array_equal(series.values, [[1.0, 1.0], [0.5, 0.5], [0.25, 0.25]])
    assert "job_id, hostname left out" in experiment.warnings[0]


@pytest.mark.parametrize("header", ["# made by a script\n# ranks,time (s)\n", "#ranks,time (s)\n"])
def test_a_header_may_be_a_comment(tmp_path: Path, header: str) -> None:
    path = tmp_path / "times.csv"
    path.write_text(header + "1,4.0\n2,2.5\n")
    experiment = read_experiment(path)
    assert experiment.parameters == ("ranks",)
    (series,) = experiment.series
    assert (series.metric, series.unit) == ("time", "s")
    assert series.values.ravel().tolist() == [4.0, 2.5]


def test_texts_separate_kernels(tmp_path: Path) -> None:
    text = "ranks,solver,time\n" + "".join(
        f"{ranks},{solver},{ranks * len(solver)}\n"
        for ranks in (1, 2)
        for solver in ("cg", "gmres")
    )
    experiment = read(tmp_path, text)
    assert {each.kernel: each.values.ravel().tolist() for each in experiment.series} == {
        "<root>, solver = cg": [2.0, 4.0],
        "<root>, solver = gmres": [5.0, 10.0],
    }


def test_a_parameter_that_no_column_has_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column 'q'; choose p or time"):
        read(tmp_path, "p,time\n1,2\n", "q")


JANUARY_S = datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def write_table(folder: Path, text: str, name: str = "local.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_every_metric_has_a_column(tmp_path: Path) -> None:
    history = read_history(write_table(tmp_path, TABLE))
    memory, solve = history.series
    assert solve.name == SeriesName(machine="", case="local", timer="solve")
    assert (solve.unit, memory.unit) == ("s", "bytes")
    assert solve.times.tolist() == [JANUARY_S + 3 * 3600, JANUARY_S + 27 * 3600]
    assert (solve.values.tolist(), memory.values.tolist()) == ([1.25, 1.5], [1024, 2048])
    assert solve.commits == ("aaa0", "aaa1")
    assert solve.commit_parts[0] == {"": "aaa0"}
    assert history.warnings == ()


def test_dates_as_otava_has_them_in_its_examples(tmp_path: Path) -> None:
    text = (
        "time,commit,metric1,metric2\n"
        "2025.01.02 3:00:00 +0100,aaa1,138455,10.23\n"
        "2025.01.01 3:00:00 +0100,aaa0,154023,10.43\n"
    )
    first, second = read_history(write_table(tmp_path, text)).series
    assert first.times.tolist() == [JANUARY_S + 2 * 3600, JANUARY_S + 26 * 3600]
    assert first.values.tolist() == [154023, 138455]
    assert (second.commits, second.unit) == (("aaa0", "aaa1"), "")


def test_a_row_may_have_one_value(tmp_path: Path) -> None:
    text = (
        "date;machine;case;metric;unit;value;Albany commit;Trilinos git commit id\n"
        "2025-01-01;blake;ant;solve;ms;1,5;a1;b1\n"
        "2025-01-01;blake;ant;halo;us;2,5;a1;b1\n"
        "2025-01-02;blake;ant;solve;s;0,002;a2;\n"
    )
    found = by_name(read_history(write_table(tmp_path, text)))
    assert set(found) == {("blake", "ant", "solve"), ("blake", "ant", "halo")}
    solve = found["blake", "ant", "solve"]
    assert (solve.unit, solve.values.tolist()) == ("s", pytest.approx([0.0015, 0.002]))
    assert solve.commits == ("Albany a1, Trilinos b1", "Albany a2")


def test_time_is_a_metric_beside_a_date(tmp_path: Path) -> None:
    text = "date,time,build\n20250101,3.5,nightly\n1735776000,4.5,nightly\n"
    (series,) = read_history(write_table(tmp_path, text)).series
    assert series.name.timer == "time"
    assert series.times.tolist() == [JANUARY_S, JANUARY_S + 86400]


def test_branches_are_not_mixed(tmp_path: Path) -> None:
    text = "time,branch,solve\n2025-01-01,main,1\n2025-01-01,next,2\n"
    cases = {each.name.case for each in read_history(write_table(tmp_path, text)).series}
    assert cases == {"local [main]", "local [next]"}


def test_runs_that_did_not_pass(tmp_path: Path) -> None:
    text = "time,passed,solve\n2025-01-01,true,1\n2025-01-02,False,2\n2025-01-03,,3\n"
    history = read_history(write_table(tmp_path, text))
    assert history.series[0].values.tolist() == [1, 3]
    assert [(failure.case, failure.time) for failure in history.failures] == [
        ("local", JANUARY_S + 86400)
    ]


def test_a_file_a_night_is_one_case(tmp_path: Path) -> None:
    for day in (1, 2):
        write_table(tmp_path, f"time,solve\n2025-01-0{day},{day}\n", f"perf-2025-01-0{day}.csv")
    (series,) = read_history(tmp_path).series
    assert (series.name.case, series.values.tolist()) == ("perf", [1, 2])


def test_what_is_no_measurement_is_left_out_by_name(tmp_path: Path) -> None:
    text = (
        "time,commit,solve,halo\n"
        "2025-01-01,a,1,0\n"
        "2025-01-02,b,-2,nan\n"
        "2025-01-03,c,fast,inf\n"
        "2025-01-04,d,,5\n"
        "2025-01-05,e,6\n"
        ",f,7,8\n"
        "tomorrow,g,9,10\n"
    )
    path = write_table(tmp_path, text)
    history = read_history(path)
    found = {each.name.timer: each.values.tolist() for each in history.series}
    assert found == {"halo": [5], "solve": [1]}
    why = ", which is not a finite number above zero; left out."
    assert set(history.warnings) == {
        f"{path}, line 2: local, halo is 0.0{why}",
        f"{path}, line 3: local, solve is -2.0{why}",
        f"{path}, line 3: local, halo is NaN{why}",
        f'{path}, line 4: local, solve is "fast"{why}',
        f"{path}, line 4: local, halo is Infinity{why}",
        f"{path}, line 6: 3 fields where the header has 4; left out.",
        f"{path}, line 7: '' is not a date; a date is written as 2021-01-24, 2021-01-24T05:34:11Z "
        "or in seconds since 1970. The row is left out.",
        f"{path}, line 8: 'tomorrow' is not a date; a date is written as 2021-01-24, "
        "2021-01-24T05:34:11Z or in seconds since 1970. The row is left out.",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,solve\n", "no rows below its header; a table has"),
        ("solve,halo\n1,2\n", "the columns are solve, halo; a table has a header with a column"),
        ("time,a,a\n2025-01-01,1,2\n", "and each name once"),
        ("time,solve\n2025-01-01,0\n", "contains no usable result.*line 2: local, solve"),
    ],
)
def test_tables_of_no_use(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_history(write_table(tmp_path, text), format="csv")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("texts", [("0,5", "12,132"), ("0.5", "12.132")])
def test_a_table_shows_its_decimal_mark(
    tmp_path: Path, separator: str, texts: tuple[str, str]
) -> None:
    rows = [["date", "solve [s]"], ["2025-01-01", texts[0]], ["2025-01-02", texts[1]]]
    lines = [separator.join(f'"{field}"' for field in row) for row in rows]
    (series,) = read_history(write_table(tmp_path, "\n".join(lines) + "\n")).series
    assert series.values.tolist() == [0.5, 12.132]


def test_a_row_without_a_name_is_left_out(tmp_path: Path) -> None:
    text = "date,case,metric,value\n2025-01-01,a,t,1\n2025-01-02,,t,2\n2025-01-03,a,,3\n"
    history = read_history(write_table(tmp_path, text))
    assert [each.values.tolist() for each in history.series] == [[1.0]]
    assert [warning.endswith("The row is left out.") for warning in history.warnings] == [
        True,
        True,
    ]


LABELS = {
    "build_number": [4711.0, 4712.0, 4715.0],
    "build": [17.0, 18.0, 21.0],
    "pid": [9120.0, 311.0, 4410.0],
    "jobId": [77.0, 80.0, 90.0],
    "seed": [42.0, 42.0, 7.0],
    "finished": [1735693200.0, 1735779600.0, 1735866000.0],
    "started_ms": [1735693200e3, 1735779600e3, 1735866000e3],
}
METRICS = {
    "build": [17.5, 18.25, 17.0],
    "run": [120.0, 118.0, 121.0],
    "iterations": [300.0, 301.0, 305.0],
    "grid": [5.0, 6.0, 7.0],
    "memory": [571432960.0, 571432960.0, 571500000.0],
}


@pytest.mark.parametrize(
    ("name", "values", "is_metric"),
    [
        *((name, values, False) for name, values in LABELS.items()),
        *((name, values, True) for name, values in METRICS.items()),
    ],
)
def test_numbers_that_name_or_date_a_run_are_no_metrics(
    tmp_path: Path, name: str, values: list[float], is_metric: bool
) -> None:
    rows = [f"2025-01-0{at + 1},10.{at},{value!r}" for at, value in enumerate(values)]
    table = "\n".join([f"date,solve,{name}", *rows]) + "\n"
    history = read_history(write_table(tmp_path, table))
    assert {each.name.timer for each in history.series} == {"solve", *([name] if is_metric else [])}
    assert any("not a measurement" in warning for warning in history.warnings) is not is_metric
