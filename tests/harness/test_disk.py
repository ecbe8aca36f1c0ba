from __future__ import annotations

import errno
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from hindmost.harness.runfile.disk import Disk


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
