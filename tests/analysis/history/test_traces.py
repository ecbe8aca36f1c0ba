"""What must never pass in silence, from files to the last line of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import NIGHTS, TOTAL, day, noise, write_nights

from hindmost.cli import main


def told(
    tmp_path: Path, values: NDArray[np.float64], capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str]:
    """Write a file for each night, and return the exit status and what is printed."""
    write_nights(tmp_path / "nights", {"ice_np4": {TOTAL: values}}, range(values.size))
    status = main(["history", str(tmp_path / "nights"), *words])
    return status, capsys.readouterr().out


def test_a_slowdown_after_a_spike_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = np.repeat([1.0, 9.0, 1.8], [60, 4, 8])
    status, printed = told(tmp_path, noise(0, 72, 1.0) * levels, capsys)
    assert status == 1
    assert "fail: 1 slowdown confirmed in 1 case" in printed


@pytest.mark.parametrize("first", [39, 20])
def test_weeks_of_slow_nights_leave_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: int
) -> None:
    values = noise(0, 60)
    values[first : first + 21] *= np.random.default_rng(1).uniform(2.0, 10.0, 21)
    _, printed = told(tmp_path, values, capsys, "--since", "60")
    _, found = printed.split(f"{day(first)}: ")
    assert " -> 54." in found


@pytest.mark.parametrize("other", [".", "newer"])
def test_a_subfolder_is_a_machine_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    cases = {"ice_np4": {TOTAL: noise(0, NIGHTS)}}
    write_nights(tmp_path / "old", cases, range(20))
    write_nights(tmp_path / other, cases, range(20, NIGHTS))
    assert main(["history", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "warn: " in printed.out
    assert f"silent: old has no result since {day(19)}" in printed.out
    assert "old, ice_np4" in printed.out
    said = printed.out.splitlines()[0].split(": ")[0]
    assert said == ("old, the unnamed machine" if other == "." else "newer, old")
