"""Tables: columns by name, dates, units, and rows that are left out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.analysis.readers.history_files import TABLE, by_name

from hindmost.analysis.readers.history import SeriesName
from hindmost.analysis.readers.read import read_history
from hindmost.errors import DataError

JANUARY_S = datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def table(folder: Path, text: str, name: str = "local.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_every_metric_has_a_column(tmp_path: Path) -> None:
    history = read_history(table(tmp_path, TABLE))
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
    first, second = read_history(table(tmp_path, text)).series
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
    found = by_name(read_history(table(tmp_path, text)))
    assert set(found) == {("blake", "ant", "solve"), ("blake", "ant", "halo")}
    solve = found["blake", "ant", "solve"]
    assert (solve.unit, solve.values.tolist()) == ("s", pytest.approx([0.0015, 0.002]))
    assert solve.commits == ("Albany a1, Trilinos b1", "Albany a2")


def test_time_is_a_metric_beside_a_date(tmp_path: Path) -> None:
    text = "date,time,build\n20250101,3.5,nightly\n1735776000,4.5,nightly\n"
    (series,) = read_history(table(tmp_path, text)).series
    assert series.name.timer == "time"
    assert series.times.tolist() == [JANUARY_S, JANUARY_S + 86400]


def test_branches_are_not_mixed(tmp_path: Path) -> None:
    text = "time,branch,solve\n2025-01-01,main,1\n2025-01-01,next,2\n"
    cases = {each.name.case for each in read_history(table(tmp_path, text)).series}
    assert cases == {"local [main]", "local [next]"}


def test_runs_that_did_not_pass(tmp_path: Path) -> None:
    text = "time,passed,solve\n2025-01-01,true,1\n2025-01-02,False,2\n2025-01-03,,3\n"
    history = read_history(table(tmp_path, text))
    assert history.series[0].values.tolist() == [1, 3]
    assert [(each.case, each.time) for each in history.failures] == [("local", JANUARY_S + 86400)]


def test_a_file_a_night_is_one_case(tmp_path: Path) -> None:
    for day in (1, 2):
        table(tmp_path, f"time,solve\n2025-01-0{day},{day}\n", f"perf-2025-01-0{day}.csv")
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
    path = table(tmp_path, text)
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
        read_history(table(tmp_path, text), format="csv")
