"""Files stay open between readings where that is asked for, and changes are still noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import ref

import h5py
import numpy as np
import pytest

from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.hdf5 import kept_open
from hindmost.harness.runfile.reader import open_run


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[ref[h5py.File]]:
    """Return the files that are opened; a file is closed when nobody has it."""
    files: list[ref[h5py.File]] = []
    plain = h5py.File

    def noted(*arguments: Any, **options: Any) -> h5py.File:
        file = plain(*arguments, **options)
        files.append(ref(file))
        return file

    monkeypatch.setattr("hindmost.harness.runfile.hdf5.h5py.File", noted)
    return files


def is_open(file: ref[h5py.File]) -> bool:
    found = file()
    return found is not None and bool(found.id.valid)


def test_a_file_is_opened_once_and_closed_at_the_end(
    run_file: Path, opened: list[ref[h5py.File]]
) -> None:
    run = open_run(run_file)
    before = len(opened)
    with kept_open():
        first, again = run.durations, run.durations
        with kept_open():  # within another it changes nothing
            assert run.has("event_kind")
        assert is_open(opened[-1])
        assert len(opened) == before + 1
    assert not any(map(is_open, opened))
    np.testing.assert_array_equal(first, again)
    assert run.bodies == len(run.durations)  # opened again
    assert len(opened) == before + 2


def test_a_change_is_noticed_while_the_file_is_open(run_file: Path) -> None:
    run = open_run(run_file)
    with kept_open():
        assert run.durations.size
        with run_file.open("ab") as file:
            file.write(b"more")
        with pytest.raises(DamagedFileError, match="has changed since it was verified"):
            run.variable("start")
