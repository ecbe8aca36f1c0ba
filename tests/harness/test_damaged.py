"""Damaged files are read only on request, by a child process that may crash or hang."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import hindmost
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile.damaged import lines_of_damaged
from hindmost.harness.runfile.part_file import Disk


def test_what_is_left_can_be_read(run_file: Path) -> None:
    solve_time = hindmost.open(run_file).solve_time
    broken = run_file.with_name("broken.h5")
    data = bytearray(run_file.read_bytes())
    with h5py.File(run_file) as file:
        data[file["duration"].id.get_chunk_info(0).byte_offset + 7] ^= 0x80
    broken.write_bytes(bytes(data))
    with pytest.raises(DamagedFileError, match="hindmost show --damaged"):
        hindmost.open(broken)
    said = "\n".join(lines_of_damaged(broken))
    assert "DAMAGED: what follows is not verified" in said
    assert "solver gmres" in said
    assert f"{solve_time.min():.6g} to {solve_time.max():.6g}" in said
    [line] = [line for line in said.splitlines() if line.startswith("  duration ")]
    assert "40 x 3  -" in line, "the changed sign is shown"
    assert "unreadable" not in said


def test_a_child_that_hangs_or_crashes_is_told_apart(
    run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = subprocess.run

    def child(code: str) -> None:
        def start(command: list[str], **options: object) -> object:
            return real([sys.executable, "-c", code], **options)  # type: ignore[call-overload]

        monkeypatch.setattr(subprocess, "run", start)

    child("import time; time.sleep(30)")
    with pytest.raises(DataError, match=r"hangs on it \(ended after 1 s\)"):
        lines_of_damaged(run_file, longest_s=1.0)
    child("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(DataError, match=r"crashes on it \(signal 11\)"):
        lines_of_damaged(run_file)


def test_what_is_no_hdf5_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.h5"
    other.write_text("not HDF5")
    with pytest.raises(DataError, match="cannot open it"):
        lines_of_damaged(other)


class FullDisk(Disk):
    """A disk that takes so many bytes."""

    room = 3000

    def write(self, data: bytes | memoryview) -> int:
        real = os.pwrite

        def pwrite(file: int, part: memoryview, at: int) -> int:
            if at >= self.room:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(file, part[: self.room - at], at)

        os.pwrite = pwrite  # type: ignore[assignment]
        try:
            return super().write(data)
        finally:
            os.pwrite = real


@pytest.mark.filterwarnings("error")
def test_hdf5_goes_on_when_the_disk_is_full_and_the_failure_is_told(tmp_path: Path) -> None:
    path = tmp_path / "full.h5"
    path.touch()
    disk = FullDisk(path)
    numbers = np.arange(5000.0)
    with h5py.File(disk, "w") as file:
        file["x"] = numbers
        file.flush()
        np.testing.assert_array_equal(file["x"][:], numbers)
    disk.close()
    with pytest.raises(OSError, match="No space"):
        disk.check()
    assert path.stat().st_size <= FullDisk.room
