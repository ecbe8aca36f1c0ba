"""Saved experiments of Extra-P 4, also damaged and hostile ones."""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Callable
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
from hindmost.analysis.readers.formats import extrap_saved
from hindmost.analysis.readers.read import read_experiment, recognise
from hindmost.analysis.readers.registry import EXPERIMENT_FORMATS
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


def test_measurements_with_a_mean_only_are_read(tmp_path: Path) -> None:
    entries = [{"coordinate": [p, 10], "mean": 2.5 * p} for p in (1, 2, 4)]
    data = change(measurements={"main": {"time": entries}})
    assert read(tmp_path / "a", data).series[0].values[:, 0].tolist() == [2.5, 5.0, 10.0]


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


def test_other_archives_are_not_experiments(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.ones(3))
    assert recognise(path, EXPERIMENT_FORMATS) is None


WRONG: dict[str, bytes] = {
    "Extra-P 5.0.1 wrote it; version 4 is read": change(**{"Extra-P": "5.0.1"}),
    "should be a text": change(**{"Extra-P": 4}),
    "lacks 'Extra-P'": archive({"experiment.json": b"{}"}),
    "not JSON": archive({"experiment.json": b"[" * 5000}),
    'key "a" comes twice': archive({"experiment.json": b'{"a": 1, "a": 2}'}),
    "byte 0: not UTF-8": archive({"experiment.json": b"\xff"}),
    "experiment.json is missing from the archive": archive({"other.json": b"{}"}),
    "should be an object": change(measurements=[]),
    "neither 'median'": change(measurements={"main": {"time": [{"coordinate": [1]}]}}),
    "a point of 1 numbers": change(
        measurements={"main": {"time": [{"coordinate": [1], "median": 1}]}}
    ),
    "must be finite": change(
        measurements={"main": {"time": [{"coordinate": [10**400, 1], "median": 1}]}}
    ),
    "appears twice; every parameter": change(parameters=["p", "p"]),
    "not an archive that can be read": version_4(SMALL)[:200],
    "values/0.indx is missing": archive(
        {"experiment.json": json.dumps(document(SMALL, kept=True)).encode()}
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_with_version_4_is_said(tmp_path: Path, words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        read(tmp_path / "a.extra-p", WRONG[words])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda files: {"values/0.indx": files["values/0.indx"][:40]}, "no array 2"),
        (lambda files: {"values/0.vals": files["values/0.vals"][:60]}, "no array of values"),
        (
            lambda files: {"values/0.vals": files["values/0.vals"].replace(b"<f8", b"|O8")},
            "no array of values",
        ),
        (
            lambda files: {"values/0.vals": files["values/0.vals"].replace(b"(2,)", b"(9 " * 1)},
            "no array of values",
        ),
        (
            lambda files: {
                "values/0.vals": files["values/0.vals"].replace(b"(2,), }     ", b"(99999999,)}")
            },
            "no array of values",
        ),
    ],
)
def test_damaged_values_are_named(
    tmp_path: Path, changed: Callable[[dict[str, bytes]], dict[str, bytes]], words: str
) -> None:
    files = value_files(SMALL)
    text = json.dumps(document(SMALL, kept=True)).encode()
    data = archive(files | changed(files) | {"experiment.json": text})
    with pytest.raises(DataError, match=words):
        read(tmp_path / "a.extra-p", data)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extrap_saved, "MOST_UNPACKED", 1 << 20)
    data = archive({"experiment.json": b" " * (1 << 24)})
    assert len(data) < 1 << 15
    with pytest.raises(DataError, match="unpacks to more than 1,048,576 bytes"):
        read(tmp_path / "a.extra-p", data)


def test_files_of_extra_p_3_are_refused_with_a_remedy(tmp_path: Path) -> None:
    data = b"\x01\x00\x11\x00\x00\x00EXTRAP_EXPERIMENT"
    with pytest.raises(DataError, match="open and save it with Extra-P 4"):
        read(tmp_path / "a", data)
