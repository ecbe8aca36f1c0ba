"""Raw folders that wait: what verbs do with them."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from tests.harness.attach.raw_files import US, gmres, two_ranks

from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.folder import locked
from hindmost.harness.attach.pending import convert_all, convert_finished


def left_by(folder: Path, *, finished: bool = True, **program: object) -> Path:
    """Write what a program of two ranks left."""
    ranks = two_ranks(**program)
    for each in ranks:
        each.section(
            gmres(0, 120, work=(5 + each.rank) * US, step=9 * US), ((1 - each.rank, 120, 960),)
        )
        if finished:
            each.end()
        each.write(folder)
    return folder


def test_the_first_verb_that_opens_a_folder_converts_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left_by(tmp_path / "app-0.raw")
    assert main(["show", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [Path(run["file"]).name for run in said["runs"]] == ["app-gmres-p2-0.h5"]
    assert not (tmp_path / "app-0.raw").exists()


def test_a_program_that_has_not_ended_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(left_by(tmp_path / "first-0.raw"), tmp_path)
    left_by(tmp_path / "app-0.raw", finished=False)
    assert main(["show", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "first: /home/me/app -n 7, 2 ranks" in said.out
    assert "hindmost attach --convert" in said.err
    assert (tmp_path / "app-0.raw").exists()
    (path,) = convert_all(tmp_path, tmp_path)
    assert path.name == "app-gmres-p2-0.h5"


def test_a_running_program_is_never_converted(tmp_path: Path) -> None:
    raw = left_by(
        tmp_path / "app-0.raw", finished=False, pid=os.getpid(), host=socket.gethostname()
    )
    said: list[str] = []
    assert convert_finished(tmp_path, said.append) == []
    assert "still running" in said[0]
    with pytest.raises(DataError, match="still running"):
        convert_all(tmp_path, tmp_path)
    assert raw.exists()


def test_one_process_converts_at_a_time(tmp_path: Path) -> None:
    raw = left_by(tmp_path / "app-0.raw")
    with locked(raw), pytest.raises(DataError, match="another process"):
        convert(raw, tmp_path)
    assert len(convert(raw, tmp_path)) == 1


def test_nothing_to_convert(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no raw folder"):
        convert_all(tmp_path, tmp_path)
