"""Files that are written whole, and folders of the user."""

import errno
import os
import pwd
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import ROOT

from hindmost import files
from hindmost.errors import MissingError, UsageError
from hindmost.failure import describe
from hindmost.files import (
    append_line,
    cache_folder,
    home,
    make_folder,
    open_regular,
    publish,
    replacing,
    user_folder,
    write_atomically,
    write_output,
)
from hindmost.harness.stack import RECORD, current_stack


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_atomically(path, "one")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~files_mask()
    path.chmod(0o640)
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(TypeError), replacing(path) as file:
        file.write(None)  # type: ignore[call-overload]
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_told_with_what_is_in_the_way(tmp_path: Path) -> None:
    make_folder(tmp_path / "a/b", "--out")
    make_folder(tmp_path / "a/b", "--out")
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "b"):
        with pytest.raises(UsageError) as caught:
            make_folder(path, "--out")
        assert str(caught.value) == (
            f"--out {path}: files cannot be written there ({file} is not a folder); choose a "
            "writable folder."
        )


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "plan.json"
    for write in (write_atomically, append_line):
        with pytest.raises(OSError, match="No space left") as caught:
            write(path, "x")
        assert describe(caught.value)[0] == f"{path}: No space left on device"


@pytest.mark.parametrize("links", [True, False])
def test_a_finished_file_takes_only_a_free_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def no_link(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", no_link)
    part, path = tmp_path / "run.part", tmp_path / "run"
    part.write_text("one")
    publish(part, path)
    part.write_text("two")
    with pytest.raises(FileExistsError):
        publish(part, path)
    assert (part.read_text(), path.read_text()) == ("two", "one")


def test_a_damaged_record_of_a_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for text in ("", "[]", '{"stack": "own"}'):
        (tmp_path / RECORD).write_text(text)
        with pytest.raises(MissingError, match="Set hindmost up again"):
            current_stack()


def test_output_goes_into_a_pipe_and_replaces_a_file(tmp_path: Path) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / "page"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write_output(pipe, "r\udce9sum\u00e9")
        assert read.result(timeout=10) == b"r\\udce9sum\xc3\xa9"
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    write_output(path, b"one")
    inode = path.stat().st_ino
    write_output(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_ino != inode


def test_a_line_stands_apart_from_one_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_line(path, "one")
    append_line(path, "two")
    assert path.read_text() == "one\ntwo\n"
    path.write_text("one\ntw")
    append_line(path, "three")
    assert path.read_text() == "one\ntw\nthree\n"


def files_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_links_are_replaced_and_never_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "private", tmp_path / "page.html"
    target.write_text("mine")
    link.symlink_to(target)
    for name in ("page.html.part", ".page.html.part", ".part-page.html"):
        (tmp_path / name).symlink_to(target)
    write_atomically(link, "page")
    assert target.read_text() == "mine"
    assert link.read_text() == "page"
    assert not link.is_symlink()


def test_only_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    os.mkfifo(path)
    for each in (path, Path("/dev/zero")):
        with pytest.raises(OSError, match="a pipe, a device or a socket, not a file"):
            open_regular(each)


def test_a_user_without_a_home_has_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nobody(_: int) -> None:
        raise KeyError("no such user")

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert home() == Path("/")
    assert user_folder("XDG_CACHE_HOME", ".cache") == Path("/.cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert user_folder("XDG_CACHE_HOME", ".cache") == Path("/.cache")
    monkeypatch.setattr(files, "user_folder", lambda *_: Path("/proc/nothing"))
    folder = cache_folder("recorder")
    assert folder == tmp_path / f"hindmost-{os.geteuid()}" / "recorder"
    assert folder.stat().st_mode & 0o077 == 0


def test_a_temporary_folder_that_somebody_else_made_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(files, "user_folder", lambda *_: Path("/proc/nothing"))
    planted = tmp_path / "hindmost-0"
    planted.mkdir()
    os.chown(planted, 12345, -1)
    folder = cache_folder()
    assert folder != planted
    assert folder.stat().st_mode & 0o077 == 0


def test_no_file_is_replaced_but_through_the_one_function() -> None:
    own = re.compile(
        r"mkstemp|NamedTemporaryFile|\bpart\.(open|write_text|write_bytes|touch)\("
        r"|fsync|O_APPEND|copyfileobj"
    )
    allowed = {
        "harness/runfile/part_file.py",  # reserves a name: fails where there is one already
        "harness/runfile/checksum.py",  # adds to the HDF5 file that is not yet under its name
        "harness/attach/stop.py",  # a note that is soon replaced: it waits for no disk
        "harness/runfile/rank_windows.py",  # the same
    }
    found = {
        str(path.relative_to(ROOT))
        for room in ("analysis", "harness", "jobs", "models")
        for path in (ROOT / room).rglob("*.py")
        if own.search(path.read_text(encoding="utf-8"))
    }
    assert found <= allowed
