"""Checkpoints: what is written is read, and what cannot be written leaves the one before."""

import resource
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, NotARunFileError
from hindmost.harness.adaptive.checkpoint import (
    CheckpointSetting,
    read_part,
    read_setting,
    write_checkpoint,
)
from hindmost.harness.adaptive.mesh.order import Cells
from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.solo import Solo

COUNT = 12


class Reader(Solo):
    """One of several ranks that read."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size


@pytest.fixture
def setting() -> CheckpointSetting:
    return CheckpointSetting(
        cycle=7,
        time=0.25,
        deck='name = "sod"',
        choices={"threshold": 1.1},
        base=(4, 3),
        cells=(COUNT,),
    )


@pytest.fixture
def cells() -> Cells:
    column = np.arange(COUNT, dtype=np.int32)
    return Cells(i=column % 4, j=column // 4, level=np.zeros(COUNT, np.int8))


@pytest.fixture
def state() -> NDArray[np.float64]:
    return np.random.default_rng(3).random((COUNT + 5, 4))


def test_what_was_written_is_read(
    tmp_path: Path, setting: CheckpointSetting, cells: Cells, state: NDArray[np.float64]
) -> None:
    path = tmp_path / "new" / "run.checkpoint.h5"
    size = write_checkpoint(path, setting, cells, state, Solo())
    assert size == path.stat().st_size
    assert list(path.parent.iterdir()) == [path]
    assert read_setting(path) == setting
    read, values = read_part(path, setting, Solo())
    np.testing.assert_array_equal(values, state[:COUNT])
    for name in ("i", "j", "level"):
        np.testing.assert_array_equal(getattr(read, name), getattr(cells, name))


@pytest.mark.parametrize("ranks", [2, 5])
def test_other_numbers_of_ranks_read_every_cell_once(
    tmp_path: Path, setting: CheckpointSetting, cells: Cells, state: NDArray[np.float64], ranks: int
) -> None:
    path = tmp_path / "run.checkpoint.h5"
    write_checkpoint(path, setting, cells, state, Solo())
    parts = [read_part(path, setting, Reader(rank, ranks))[1] for rank in range(ranks)]
    np.testing.assert_array_equal(np.concatenate(parts), state[:COUNT])
    uneven = replace(setting, cells=(5, 7))
    assert [len(read_part(path, uneven, Reader(rank, 2))[1]) for rank in range(2)] == [5, 7]


@pytest.mark.parametrize("room", [0, 3000, 6000])
def test_a_full_disk_leaves_the_checkpoint_before(
    tmp_path: Path, setting: CheckpointSetting, cells: Cells, state: NDArray[np.float64], room: int
) -> None:
    path = tmp_path / "run.checkpoint.h5"
    assert write_checkpoint(path, setting, cells, state, Solo()) > 6000
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(DataError, match=r"File too large. The earlier one is kept"):
            write_checkpoint(path, replace(setting, cycle=8), cells, state, Solo())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_no_checkpoints_are_refused(
    tmp_path: Path,
    setting: CheckpointSetting,
    cells: Cells,
    state: NDArray[np.float64],
    run_file: Path,
) -> None:
    with pytest.raises(DataError, match=r"is no checkpoint: its schema is .hindmost-run."):
        read_setting(run_file)
    text = tmp_path / "text.h5"
    text.write_text("no HDF5")
    with pytest.raises(NotARunFileError):
        read_setting(text)
    path = tmp_path / "run.checkpoint.h5"
    write_checkpoint(path, setting, cells, state, Solo())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFileError):
        read_setting(path)


def test_contents_that_do_not_fit_are_refused(
    tmp_path: Path, setting: CheckpointSetting, cells: Cells, state: NDArray[np.float64]
) -> None:
    path = tmp_path / "run.checkpoint.h5"
    write_checkpoint(path, setting, cells, state, Solo())
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - TRAILER_LENGTH)
    with h5py.File(path, "r+") as file:
        file.attrs["cells"] = [COUNT + 1]
    append_checksum(path)
    with pytest.raises(DamagedFileError, match=r"not the contents of a checkpoint: 'i' is int32"):
        read_setting(path)
