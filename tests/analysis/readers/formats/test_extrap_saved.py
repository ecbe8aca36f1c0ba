"""Saved experiments of Extra-P 4, also damaged and hostile ones."""

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.readers.experiment_files import SMALL, assert_sound
from tests.analysis.readers.saved_files import (
    INDEX,
    VALUES,
    archive,
    document,
    value_files,
    version_4,
)

from hindmost.analysis.readers.experiment import Experiment
from hindmost.analysis.readers.formats import extrap
from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError

MEDIANS = {"main": [2.0, 4.05, 8.05], "main->compute": [20.0, 40.0, 80.0]}


def read(path: Path, data: bytes) -> Experiment:
    """Write and read a file."""
    path.write_bytes(data)
    return read_experiment(path)


def change(**members: Any) -> bytes:
    """Return a file of version 4 with other members of its document."""
    return archive({"experiment.json": json.dumps(document(SMALL) | members).encode()})


@pytest.mark.parametrize("name", ["a.extra-p", "a.zip"])
def test_repetitions_that_were_kept_are_read(tmp_path: Path, name: str) -> None:
    found = read(tmp_path / name, version_4(SMALL, kept=True))
    assert found.parameters == SMALL.parameters
    assert found.series == SMALL.series()
    assert found.warnings == ()


def test_without_repetitions_medians_are_read_and_it_is_said(tmp_path: Path) -> None:
    found = read(tmp_path / "saved", version_4(SMALL))
    assert_sound(found)
    assert {each.kernel: each.values[:, 0].tolist() for each in found.series} == MEDIANS
    assert [each.points.tolist() for each in found.series] == [
        each.points.tolist() for each in SMALL.series()
    ]
    (warning,) = found.warnings
    assert "no repetitions" in warning


def test_values_of_every_rank_are_summed_up_by_extra_p(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.ones((2, 4)))
    entry = {"coordinate": [2, 10], "median": 7.0, "repetitions": 2, "values": [0, 0]}
    data = archive(
        {
            "values/0.vals": VALUES + stream.getvalue(),
            "values/0.indx": INDEX + struct.pack("<QQ", 1, len(VALUES)),
            "experiment.json": json.dumps(
                document(SMALL) | {"measurements": {"main": {"time": [entry]}}}
            ).encode(),
        }
    )
    assert read(tmp_path / "a.extra-p", data).series[0].values.tolist() == [[7.0]]


KEPT = json.dumps(document(SMALL, kept=True)).encode()
FILES = value_files(SMALL) | {"experiment.json": KEPT}
OBJECTS = FILES["values/0.vals"].replace(b"<f8", b"|O8")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (change(**{"Extra-P": "5.0.1"}), "Extra-P 5.0.1 wrote it; version 4 is read"),
        (archive({"experiment.json": b"{}"}), "lacks 'Extra-P'"),
        (change(measurements={"main": {"time": [{"coordinate": [1]}]}}), "neither 'median'"),
        (archive({"other.json": b"{}"}), "not an archive that can be read"),
        (version_4(SMALL)[:200], "not an archive that can be read"),
        (archive({"experiment.json": KEPT}), "no item named 'values/0.indx'"),
        (archive(FILES | {"values/0.indx": FILES["values/0.indx"][:40]}), "out of bounds"),
        (archive(FILES | {"values/0.vals": OBJECTS}), "Object arrays cannot be loaded"),
    ],
    ids=range(8),  # the bytes of an archive have the time at which it was made
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path / "a.extra-p", data)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extrap, "MAX_UNPACKED", 1 << 20)
    data = archive({"experiment.json": b" " * (1 << 24)})
    assert len(data) < 1 << 15
    with pytest.raises(DataError, match="has more than 1,048,576 bytes"):
        read(tmp_path / "a.extra-p", data)


def test_files_of_extra_p_3_are_refused_with_a_remedy(tmp_path: Path) -> None:
    data = b"\x01\x00\x11\x00\x00\x00EXTRAP_EXPERIMENT"
    with pytest.raises(DataError, match="open and save it with Extra-P 4"):
        read(tmp_path / "a", data)
