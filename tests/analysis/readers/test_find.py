"""Formats found in files and folders, repeats, order, and what is said of them."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.readers.experiment_files import SMALL, WRITERS, Written, text
from tests.analysis.readers.experiment_files import assert_sound as assert_sound_experiment
from tests.analysis.readers.history_files import (
    CASE,
    TABLE,
    WRITTEN,
    assert_sound,
    write_asv,
    write_night,
)

from hindmost.analysis.readers.formats.csv_tables import EXPERIMENT_ROLES
from hindmost.analysis.readers.read import (
    EXPERIMENT_FORMATS,
    HISTORY_FORMATS,
    read_experiment,
    read_history,
    recognise,
)
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
    with pytest.raises(DataError, match=r"several formats: .*a.csv is csv; .*nightly. Give the"):
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


def test_histories_that_cannot_be_read(tmp_path: Path) -> None:
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


def test_several_files_are_one_experiment(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(text(SMALL))
    experiment = read_experiment([tmp_path / "a", tmp_path / "a", str(tmp_path / "b")])
    assert experiment.series[1].values.tolist() == [[20, 20], [40, 40], [80, 80]]
    assert experiment.source == f"{tmp_path / 'a'}, {tmp_path / 'b'}"
    assert read_experiment(tmp_path).series == experiment.series


@pytest.mark.parametrize(
    "other", ["[section]\nkey = 1\n", '[project]\nname = "a"\n', '{"a": 1}\n', "[1, 2]\n", "a, b\n"]
)
def test_other_files_beside_an_experiment_are_left_out(tmp_path: Path, other: str) -> None:
    """Such as the settings that a viewer of profiles leaves, whatever they begin with."""
    (tmp_path / "times.csv").write_text("p,time\n2,1\n4,2\n")
    (tmp_path / "other.ini").write_text(other)
    experiment = read_experiment(tmp_path)
    assert len(experiment.series) == 1
    (remark,) = experiment.warnings
    assert "left out other.ini" in remark


def test_the_table_of_collected_runs_is_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text(SMALL))
    (tmp_path / "collected.json").write_text(
        '{\n "version": 1,\n "study_sha256": "0", "files": []}'
    )
    assert read_experiment(tmp_path).warnings == ()
    assert read_experiment(tmp_path, format="text").warnings == ()


def test_the_numbers_of_a_figure_are_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text(SMALL))
    (tmp_path / "scaling").mkdir()
    (tmp_path / "scaling" / "plot.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "scaling" / "plot.csv").write_text("ranks,seconds\n1,2\n2,3\n")
    (tmp_path / "report.html").write_text("<!DOCTYPE html>\n<html></html>\n")
    assert read_experiment(tmp_path).warnings == ()


@pytest.mark.parametrize(
    "content", [b"nothing to see\n", b"\0\1\2\3" * 300, b"# only a comment\n", b"1,2\n3,4\n"]
)
def test_a_file_of_no_known_format_lists_them(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert recognise(tmp_path / "a", EXPERIMENT_FORMATS) is None
    with pytest.raises(DataError, match=r"format of .*a is unknown") as raised:
        read_experiment(tmp_path / "a")
    assert all(f"{name}: " in str(raised.value) for name in EXPERIMENT_FORMATS.names)
    with pytest.raises(DataError, match="contains no file of a known format"):
        read_experiment(tmp_path)


@pytest.mark.parametrize("name", ["text", "json", "csv", "caliper"])
def test_empty_files_and_other_encodings_are_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a"
    for content in (b"", b" \n\n"):
        file.write_bytes(content)
        with pytest.raises(DataError, match="is empty"):
            read_experiment(file, format=name)
    file.write_bytes(b"# one\n# gr\xfc\xdfe\n")
    with pytest.raises(DataError, match=r"line 2: byte 0xfc is not UTF-8.*iconv"):
        read_experiment(file, format=name)
    file.write_bytes(b"# one\n\0\n")
    with pytest.raises(DataError, match="line 2: a zero byte"):
        read_experiment(file, format=name)


def test_requests_that_are_not_possible(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text(SMALL))
    with pytest.raises(UsageError, match="Unknown format 'xml'; choose runs, cube"):
        read_experiment(tmp_path, format="xml")
    with pytest.raises(UsageError, match="Unknown way over ranks 'median'; choose mean"):
        read_experiment(tmp_path, over_ranks="median")


NUMBERS = st.floats(1e-300, 1e300)
NAMES = st.text("abXY09_->()<>,;:'éß\"\\[] ", min_size=1, max_size=12).filter(
    lambda name: name == " ".join(name.split())
)
PARAMETERS = st.text("abcxyz", min_size=1, max_size=3).filter(
    lambda name: name not in EXPERIMENT_ROLES
)


@st.composite
def experiments(draw: st.DrawFn) -> Written:
    parameters = draw(st.lists(PARAMETERS, min_size=1, max_size=3, unique=True))
    point = st.tuples(*[NUMBERS] * len(parameters))
    points = draw(st.lists(point, min_size=1, max_size=6, unique=True))
    kernels = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    metrics = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    repetitions = st.lists(NUMBERS, min_size=1, max_size=4)
    return Written(
        parameters=tuple(parameters),
        points=tuple(points),
        values={
            (kernel, metric): [draw(repetitions) for _ in points]
            for kernel in kernels
            for metric in metrics
        },
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(written=experiments())
@pytest.mark.parametrize("writer", WRITERS)
def test_what_was_written_is_read(tmp_path: Path, writer: str, written: Written) -> None:
    name, write = WRITERS[writer]
    file = tmp_path / "experiment"
    file.write_text(write(written), encoding="utf-8")
    experiment = read_experiment(file, format=name)
    assert_sound_experiment(experiment)
    assert experiment.parameters == written.parameters
    assert experiment.series == written.series()
    assert experiment.warnings == ()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("writer", WRITERS)
def test_formats_are_found_by_content(tmp_path: Path, writer: str, mark: str, ends: str) -> None:
    name, write = WRITERS[writer]
    file = tmp_path / "experiment.dat"
    file.write_bytes((mark + write(SMALL).replace("\r\n", "\n").replace("\n", ends)).encode())
    found = recognise(file, EXPERIMENT_FORMATS)
    assert found is EXPERIMENT_FORMATS[name]
    assert read_experiment(file).series == SMALL.series()


def test_files_that_begin_like_a_format_are_no_results(tmp_path: Path) -> None:
    write_night(tmp_path)
    (tmp_path / "tox.ini").write_text("[timers]\nsolve = 3\n")
    (tmp_path / "settings.json").write_text('{"timers": {"solve": true}}')
    (tmp_path / "list.json").write_text("[1, 2]")
    history = read_history(tmp_path)
    assert {each.name.case for each in history.series} == {CASE}
    assert history.warnings == (
        f"{tmp_path}: left out list.json, settings.json, tox.ini (different format).",
    )
