"""Runs with one thing wrong each, and whether it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.check import longest_stretch
from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

Values = dict[str, Any]


def slowed(values: Values, factor: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Make bodies longer by a factor each, books closed."""
    before = values["duration"].sum(axis=0)
    for name, shape in (("duration", (-1, 1)), ("phase_duration", (-1, 1, 1))):
        values[name] = values[name] * factor.reshape(shape)
    values["solve_time"] = values["solve_time"] + values["duration"].sum(axis=0) - before


def drift(values: Values) -> None:
    slowed(values, np.linspace(1.0, 1.2, 600))


def outliers(values: Values) -> None:
    slowed(values, np.where(np.arange(600) % 100 == 50, 6.0, 1.0))


def slow_stretch(values: Values) -> None:
    slowed(values, np.where((np.arange(600) >= 200) & (np.arange(600) < 340), 1.5, 1.0))


def unattributed(values: Values) -> None:
    values["mpi_other"] = 0.02 * values["solve_time"]


def switched(values: Values) -> None:
    values["context_switches"] = np.array([0, 3, 100])


def uncertain(values: Values) -> None:
    values["clock_uncertainty"] = np.array([0, 0, 4e-5])


def books_open(values: Values) -> None:
    values["lead_in"] = values["lead_in"] + 1e-3


SPOILT: dict[str, tuple[Callable[[Values], None], str]] = {
    "drift": (drift, "note"),
    "outliers": (outliers, "note"),
    "slow-stretch": (slow_stretch, "note"),
    "unattributed-mpi": (unattributed, "error"),
    "context-switches": (switched, "note"),
    "clock": (uncertain, "note"),
    "books-open": (books_open, "error"),
}
HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "incomplete": ({"complete": False, "records_lost": 7}, "error"),
    "load": ({"environment": {"machine": {"cores": 3, "load_before": 2.5}}}, "note"),
    "crowded": ({"environment": {"machine": {"cores": 2, "load_before": 0.0}}}, "error"),
}


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str]]:
    status = main(["check", "--json", str(path)])
    answer = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1
    for finding in answer["findings"]:
        assert finding.keys() == {"file", "code", "severity", "text", "advice"}
    return status, {finding["code"]: finding["severity"] for finding in answer["findings"]}


@pytest.fixture
def good() -> Values:
    return run_values(iterations=600, ranks=3, restart=30, seed=4)


def test_a_good_run_has_no_findings(
    tmp_path: Path, header: Header, good: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_whole(tmp_path, header, good)
    assert check(file, capsys) == (0, {})
    assert main(["check", str(file)]) == 0
    assert "nothing to find fault with" in capsys.readouterr().out


@pytest.mark.parametrize("code", SPOILT)
def test_what_is_wrong_with_the_times_is_found_and_nothing_else(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    code: str,
) -> None:
    spoil, severity = SPOILT[code]
    spoil(good)
    status, found = check(write_whole(tmp_path, header, good), capsys)
    assert found == {code: severity}
    assert status == (1 if severity == "error" else 0)


@pytest.mark.parametrize("code", HEADERS)
def test_what_is_wrong_with_the_machine_is_found_and_nothing_else(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    code: str,
) -> None:
    change, severity = HEADERS[code]
    status, found = check(write_whole(tmp_path, replace(header, **change), good), capsys)
    assert found == {code: severity}
    assert status == (1 if severity == "error" else 0)


def test_few_bodies_and_repeats_that_differ(
    tmp_path: Path,
    header: Header,
    values: Values,
    good: Values,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "few").mkdir()
    assert check(write_whole(tmp_path / "few", header, values), capsys)[1] == {
        "few-bodies": "error"
    }
    write_whole(tmp_path, header, good)
    slowed(good, np.full(600, 1.2))
    write_whole(tmp_path, header, good)
    assert check(tmp_path, capsys) == (1, {"repeats-differ": "error"})
    assert main(["check", str(tmp_path)]) == 1
    assert "differ by 20 %" in capsys.readouterr().out


def test_longest_stretch() -> None:
    assert longest_stretch(np.array([], bool)) == 0
    assert longest_stretch(np.array([1, 1, 0, 1, 1, 1, 0], bool)) == 3
