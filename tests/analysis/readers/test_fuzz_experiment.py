"""Damaged files of every text format: an error that says so, or a sound experiment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.readers.experiment_files import SMALL, WRITERS, assert_sound

from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import DataError, MissingError

FUZZ = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = [
    *("PARAMETER", "POINTS", "METRIC", "REGION", "DATA", "(", ")", "#", "nan", "inf", "-1", "0"),
    *('"params"', '"value"', '"measurements"', "{", "}", "[", "]", ":", ",", ";", '"', "null"),
    *("true", "1e999", "\n", "\r", "\t", "\0", "\ufeff", "é", "1" * 400, "kernel"),
]


def try_to_read(path: Path, data: bytes, format: str | None) -> None:
    file = path / "experiment"
    file.write_bytes(data)
    try:
        experiment = read_experiment(file, format=format)
    except (DataError, MissingError):  # garbage may look like a format of an optional package
        return
    assert_sound(experiment)


@FUZZ
@given(data=st.data())
@pytest.mark.parametrize("writer", WRITERS)
def test_damaged_files(tmp_path: Path, writer: str, data: st.DataObject) -> None:
    name, write = WRITERS[writer]
    whole = write(SMALL).encode()
    begin = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 30) | st.integers(0, len(whole)))
    instead = data.draw(
        st.binary(max_size=20) | st.lists(st.sampled_from(WORDS), max_size=4).map(join)
    )
    damaged = whole[:begin] + instead + whole[begin + length :]
    try_to_read(tmp_path, damaged, data.draw(st.sampled_from([name, None])))


def join(words: list[str]) -> bytes:
    return " ".join(words).encode()


@FUZZ
@given(
    data=st.binary(max_size=300) | st.lists(st.sampled_from(WORDS), max_size=40).map(join),
    name=st.sampled_from([None, "text", "json", "json-lines", "talpas", "csv", "runs"]),
)
def test_garbage(tmp_path: Path, data: bytes, name: str | None) -> None:
    try_to_read(tmp_path, data, name)
