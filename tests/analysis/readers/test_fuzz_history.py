"""Damaged files of every format: an error that says so, or a sound history."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.readers.history_files import WRITTEN, assert_sound

from hindmost.analysis.readers.read import read_history
from hindmost.analysis.readers.registry import HISTORY_FORMATS
from hindmost.errors import DataError

FUZZ = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = [
    *("nan", "inf", "-1", "0", "{", "}", "[", "]", ":", ",", ";", '"', "null", "true", "1e999"),
    *('"timers"', '"date"', '"times"', '"results"', '"benchmarks"', '"context"', '"stats"'),
    *("NaN", "Infinity", "time", "commit", "\n", "\r", "\t", "\0", "\ufeff", "é", "1" * 400),
    *("1" * 5000, "[" * 3000),
]


def try_to_read(folder: Path, data: bytes, format: str | None) -> None:
    file = folder / "results"
    file.write_bytes(data)
    try:
        history = read_history(file, format=format)
    except DataError:
        return
    assert_sound(history)


def join(words: list[str]) -> bytes:
    return " ".join(words).encode()


@FUZZ
@given(data=st.data())
@pytest.mark.parametrize("name", WRITTEN)
def test_damaged_files(tmp_path: Path, name: str, data: st.DataObject) -> None:
    whole = WRITTEN[name].encode()
    begin = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 30) | st.integers(0, len(whole)))
    instead = data.draw(
        st.binary(max_size=20) | st.lists(st.sampled_from(WORDS), max_size=4).map(join)
    )
    damaged = whole[:begin] + instead + whole[begin + length :]
    try_to_read(tmp_path, damaged, data.draw(st.sampled_from([name, None])))


@pytest.mark.parametrize("name", WRITTEN)
def test_files_that_were_cut_off(tmp_path: Path, name: str) -> None:
    whole = WRITTEN[name].encode()
    for length in range(0, len(whole), 23):
        try_to_read(tmp_path, whole[:length], name)


@FUZZ
@given(data=st.data())
@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in ("csv", "tests")])
def test_json_of_another_shape(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Any value of the document becomes something else."""
    import json

    document = json.loads(WRITTEN[name])
    holders: list[tuple[object, object]] = []

    def collect(value: object) -> None:
        inside = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
        for key, each in inside:
            holders.append((value, key))
            if isinstance(each, dict | list):
                collect(each)

    collect(document)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(holders))
        holder[key] = data.draw(  # type: ignore[index]
            st.none()
            | st.booleans()
            | st.floats()
            | st.integers(-(10**400), 10**400)
            | st.text(max_size=5)
            | st.sampled_from([[], {}, [[]], [None], {"a": 1}, [[1], [2]], "2021-13-45"])
        )
    try_to_read(tmp_path, json.dumps(document).encode(), name)


@FUZZ
@given(
    data=st.binary(max_size=300) | st.lists(st.sampled_from(WORDS), max_size=40).map(join),
    name=st.sampled_from([None, *HISTORY_FORMATS.names]),
)
def test_garbage(tmp_path: Path, data: bytes, name: str | None) -> None:
    try_to_read(tmp_path, data, name)
