"""Files that name other files are refused, and nothing of the others is opened."""

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest

import hindmost
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.adaptive.checkpoint import read_setting
from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.runfile.damaged import lines_of_damaged

SECRET = b"root:x:0:0:the administrator of this machine:/root:/bin/bash...."
LONGEST_S = 20


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """End a test that a pipe keeps waiting."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder with a secret, a file of HDF5, and a pipe."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret").write_bytes(SECRET)
    os.mkfifo(folder / "pipe")
    with h5py.File(folder / "other.h5", "w") as file:
        file["host"] = np.array([SECRET[:16]] * 3, "S16")
        file["lead_in"] = np.zeros(3)
    return folder


def external(file: h5py.File, name: str, source: Path) -> None:
    del file[name]
    kind = "S16" if name == "host" else "f8"
    size = 3 * np.dtype(kind).itemsize
    file.create_dataset(name, (3,), kind, external=[(str(source), 0, size)])


def virtual(file: h5py.File, name: str, source: Path) -> None:
    del file[name]
    kind = "S16" if name == "host" else "f8"
    layout = h5py.VirtualLayout((3,), kind)
    layout[:] = h5py.VirtualSource(str(source), name, (3,), kind)
    file.create_virtual_dataset(name, layout)


def growing(file: h5py.File, name: str, source: Path) -> None:
    """Add a virtual dataset whose shape is that of its source."""
    del file[name]
    layout = h5py.VirtualLayout((3,), "f8", maxshape=(None,))
    origin = h5py.VirtualSource(str(source), name, (3,), "f8", maxshape=(None,))
    layout[: h5py.h5s.UNLIMITED] = origin[: h5py.h5s.UNLIMITED]
    file.create_virtual_dataset(name, layout)


def linked(file: h5py.File, name: str, source: Path) -> None:
    del file[name]
    file[name] = h5py.ExternalLink(str(source), name)


FOREIGN = (external, virtual, growing, linked)


def resealed(path: Path, change: Callable[[h5py.File], None]) -> Path:
    """Change a copy of a file and give it a right checksum."""
    broken = path.with_name("broken.h5")
    broken.write_bytes(path.read_bytes()[:-TRAILER_LENGTH])
    with h5py.File(broken, "r+") as file:
        change(file)
    append_checksum(broken)
    return broken


@pytest.mark.parametrize("way", FOREIGN)
@pytest.mark.parametrize("name", ["host", "lead_in"])
@pytest.mark.parametrize("source", ["secret", "other.h5", "pipe"])
def test_a_run_file_holds_nothing_of_other_files(
    run_file: Path,
    elsewhere: Path,
    way: Callable[..., None],
    name: str,
    source: str,
) -> None:
    broken = resealed(run_file, lambda file: way(file, name, elsewhere / source))
    with pytest.raises(DamagedFileError, match=name) as refused:
        hindmost.open(broken)
    assert SECRET[:8].decode() not in str(refused.value)


def test_damaged_files_show_nothing_of_other_files(run_file: Path, elsewhere: Path) -> None:
    for way, source in ((external, "secret"), (growing, "pipe"), (linked, "other.h5")):
        broken = resealed(run_file, partial(way, name="lead_in", source=elsewhere / source))
        said = "\n".join(lines_of_damaged(broken, LONGEST_S / 2))
        assert "lead_in            unreadable" in said
        assert re.search(r"duration +40 x 3", said)
        assert SECRET[:8].decode() not in said


def soft(file: h5py.File) -> None:
    file["more"] = h5py.SoftLink("/duration")


def circle(file: h5py.File) -> None:
    file["more"] = file


def group(file: h5py.File) -> None:
    file.create_group("more")


def reference(file: h5py.File) -> None:
    file.create_dataset("more", data=[file["duration"].ref], dtype=h5py.ref_dtype)


def ragged(file: h5py.File) -> None:
    file.create_dataset("more", (3,), dtype=h5py.vlen_dtype("f8"))


def compressed(file: h5py.File) -> None:
    file.create_dataset("more", data=np.zeros(10000), chunks=(1000,), compression="gzip")


def unwritten(file: h5py.File) -> None:
    file.create_dataset("more", (10**8,), "f8", chunks=(256,))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (soft, "a link"),
        (circle, "only datasets|group"),
        (group, "only datasets"),
        (reference, "numbers nor texts"),
        (ragged, "numbers nor texts"),
        (compressed, "compressed"),
        (unwritten, "800,000,000 bytes"),
    ],
)
def test_what_hindmost_does_not_write_is_refused(
    run_file: Path, change: Callable[[h5py.File], None], word: str
) -> None:
    with pytest.raises(DamagedFileError, match=word):
        hindmost.open(resealed(run_file, change))


def test_a_file_that_changes_after_it_was_opened_is_refused(run_file: Path) -> None:
    run = hindmost.open(run_file)
    other = resealed(run_file, lambda file: linked(file, "lead_in", run_file))
    other.replace(run_file)
    with pytest.raises(DamagedFileError, match="changed"):
        _ = run.lead_in


def test_checkpoints_hold_nothing_of_other_files(tmp_path: Path, elsewhere: Path) -> None:
    path = tmp_path / "state.h5"
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema": "hindmost-checkpoint", "schema_version": 1, "cycle": 1})
        file.attrs.update({"time": 0.5, "deck": "", "choices": "{}", "base": [2, 2]})
        file.attrs["cells"] = [4]
        for name, kind in (("i", "i4"), ("j", "i4"), ("level", "i1")):
            file[name] = np.zeros(4, kind)
        file["state"] = np.zeros((4, 4))
    append_checksum(path)
    assert read_setting(path).cells == (4,)
    for way in FOREIGN:
        broken = resealed(path, partial(way, name="level", source=elsewhere / "pipe"))
        with pytest.raises(DamagedFileError, match="level"):
            read_setting(broken)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "what.h5"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(DataError, match=kind):
        hindmost.open(path)
