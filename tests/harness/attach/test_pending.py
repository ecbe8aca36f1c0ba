"""Raw folders that wait: what verbs do with them."""

import errno
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.harness.attach.raw_files import US, gmres, two_ranks

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.files import matching, open_regular
from hindmost.harness.attach import raw as raw_module
from hindmost.harness.attach import raw_program
from hindmost.harness.attach.convert import convert, convert_all, convert_finished, locked
from hindmost.harness.runfile.reader import open_run


def left_by(folder: Path, *, finished: bool = True, **program: object) -> Path:
    """Write what a program of two ranks left."""
    ranks = two_ranks(**program)
    for rank in ranks:
        rank.section(
            gmres(0, 120, work=(5 + rank.rank) * US, step=9 * US), ((1 - rank.rank, 120, 960),)
        )
        if finished:
            rank.end()
        rank.write(folder)
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


def test_a_process_that_has_ended_does_not_run(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie until it is waited for
    left_by(tmp_path / "app-0.raw", finished=False, pid=child.pid, host=socket.gethostname())
    assert len(convert_all(tmp_path, tmp_path)) == 1
    child.wait()


def test_one_process_converts_at_a_time(tmp_path: Path) -> None:
    raw = left_by(tmp_path / "app-0.raw")
    with locked(raw), pytest.raises(DataError, match="another process"):
        convert(raw, tmp_path)
    assert len(convert(raw, tmp_path)) == 1


def test_what_cannot_be_used_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(left_by(tmp_path / "good-0.raw"), tmp_path)
    bad = tmp_path / "app-0.raw"
    ranks = two_ranks()
    ranks[0].section(gmres(0, 9, work=5 * US, step=9 * US))
    for rank in ranks:
        rank.end().write(bad)
    assert main(["show", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "only 1 of 2 ranks have a record of it" in said
    assert f"{bad}: nothing in it can be used" in said
    assert "What some ranks recorded stays in it." in said
    assert "rm -r" not in said
    assert main(["show", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(DataError, match="stays in it"):  # who asks is told
        convert_all(tmp_path, tmp_path)
    left_by(tmp_path / "next-0.raw")
    assert [path.name for path in convert_all(tmp_path, tmp_path)] == ["next-gmres-p2-0.h5"]


def test_files_that_nobody_can_read_are_said(tmp_path: Path) -> None:
    raw = tmp_path / "app-0.raw"
    raw.mkdir()
    (raw / "node-0000000.raw").write_bytes(b"")
    said: list[str] = []
    convert_finished(tmp_path, said.append)
    assert "node-0000000.raw is empty" in said[0]
    assert "rm" not in said[0]  # its program may be starting


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_this_user_may_not_read_is_never_called_useless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    raw = left_by(tmp_path / "app-0.raw")
    for path in (*raw.iterdir(), raw):
        os.utime(path, (0, 0))
    before = sorted(raw.iterdir())

    def refused(path: Path, *_: object) -> Any:
        if path == (raw if what == "folder" else before[1]):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return os.fdopen(os.open(path, os.O_RDONLY), "rb") if path != raw else before

    monkeypatch.setattr(raw_program, "matching", refused if what == "folder" else matching)
    monkeypatch.setattr(raw_module, "open_regular", open_regular if what == "folder" else refused)
    with pytest.raises(DataError, match="cannot be read: Permission denied") as caught:
        convert_all(raw, tmp_path)
    assert "rm -r" not in str(caught.value)
    assert sorted(raw.iterdir()) == before


def test_a_folder_with_leftovers_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'hindmost run' and 'hindmost attach' write them"):
        main(["show", str(tmp_path)])
    left_by(tmp_path / "app-0.raw", finished=False)
    with pytest.raises(UsageError, match=r"could not convert \(\*\.raw\)\. .* attach --convert"):
        main(["show", str(tmp_path)])


def test_a_program_whose_processes_were_killed_is_converted(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    raw = left_by(tmp_path / "app-0.raw", finished=False, pid=child.pid, host=socket.gethostname())
    (path,) = convert_finished(tmp_path, lambda _: None)
    assert open_run(path).header.spec["attached"]["finished"] is False
    assert not raw.exists()


def test_nothing_to_convert(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no raw folder"):
        convert_all(tmp_path, tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        convert_all(tmp_path / "absent", tmp_path)
