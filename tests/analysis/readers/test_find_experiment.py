"""Formats found in files and folders, and what is said when they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.readers.experiment_files import SMALL, json_document, text

from hindmost.analysis.readers.read import read_experiment, recognise
from hindmost.analysis.readers.registry import EXPERIMENT_FORMATS
from hindmost.errors import DataError, UsageError


def test_several_files_are_one_experiment(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(text(SMALL))
    experiment = read_experiment([tmp_path / "a", tmp_path / "a", str(tmp_path / "b")])
    assert experiment.series[1].values.tolist() == [[20, 20], [40, 40], [80, 80]]
    assert experiment.source == f"{tmp_path / 'a'}, {tmp_path / 'b'}"
    assert read_experiment(tmp_path).series == experiment.series


def test_a_folder_is_searched_two_deep_and_says_what_it_left_out(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a").write_text(text(SMALL))
    (tmp_path / "inner" / "log").write_text("of no interest\n")
    (tmp_path / ".hidden").write_text(text(SMALL))
    (tmp_path / "README").write_text("Hello, world.\nThese are, as it were, 2 files.\n")
    experiment = read_experiment(tmp_path)
    assert experiment.series == SMALL.series()
    assert experiment.warnings == (f"{tmp_path}: left out README (different format).",)


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


def test_formats_are_not_mixed_unless_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text(SMALL))
    (tmp_path / "b").write_text(json_document(SMALL))
    with pytest.raises(DataError, match=r"several formats: .*a is text; .*b is json"):
        read_experiment(tmp_path)
    experiment = read_experiment(tmp_path, format="json")
    assert experiment.series == SMALL.series()
    assert "left out a" in experiment.warnings[0]
    with pytest.raises(DataError, match="contains no file of the format csv"):
        read_experiment(tmp_path, format="csv")


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
    with pytest.raises(UsageError, match="does not exist"):
        read_experiment(tmp_path / "b")
    with pytest.raises(UsageError, match="No file to read"):
        read_experiment([])
    with pytest.raises(UsageError, match="Unknown format 'xml'; choose runs, cube"):
        read_experiment(tmp_path, format="xml")
    with pytest.raises(UsageError, match="Unknown way over ranks 'median'; choose mean"):
        read_experiment(tmp_path, over_ranks="median")
    with pytest.raises(UsageError, match=r"No metric 'flops'.*choose time"):
        read_experiment(tmp_path, metric="flops")
    with pytest.raises(UsageError, match="No kernel 'x'"):
        read_experiment(tmp_path, kernel="x")
