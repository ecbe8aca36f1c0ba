"""What ``hindmost whatif`` says of runs that say little."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.whatif.files import answer, document, said, slower_values
from tests.conftest import run_values

from hindmost.analysis.whatif.prediction import ALONE, REPEATED, repeat_width
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole


def recorded(
    folder: Path, header: Header, iterations: int, restart: int, *, seed: int = 1, slow: float = 1.0
) -> str:
    """Write a run; with times that are all slower by a factor."""
    values = slower_values(slow, iterations=iterations, ranks=3, restart=restart, seed=seed)
    of_run = replace(header, iterations=iterations, restart=restart)
    return str(write_whole(folder, of_run, values))


@pytest.mark.parametrize(
    ("iterations", "restart", "words", "why"),
    [
        (3, 30, ["--iterations", "1000"], "3 recorded iterations, and at least 20 are needed"),
        (25, 30, ["--iterations", "1000"], "no run has a whole restart cycle of 30 iterations"),
    ],
)
def test_few_bodies_give_no_interval(
    tmp_path: Path,
    header: Header,
    capsys: pytest.CaptureFixture[str],
    iterations: int,
    restart: int,
    words: list[str],
    why: str,
) -> None:
    file = recorded(tmp_path, header, iterations, restart)
    assert f"no interval: {why})" in said(capsys, file, *words)
    (found,) = document(capsys, file, *words)["predictions"]
    assert (found["interval_s"], found["no_interval"]) == (None, why)


def test_repeats_far_apart_give_no_interval(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [recorded(tmp_path, header, 200, 20, slow=slow) for slow in (1.0, 16.0)]
    printed = said(capsys, *files)
    assert "no interval: one end would be a factor of over 10 away" in printed
    assert "; repeats differ by a factor of 16.0)" in printed


def test_two_repeats_that_agree_by_chance_differ_as_their_parts(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [recorded(tmp_path, header, 200, 20, slow=slow) for slow in (1.0, 1.0001, 0.9999)]

    def half_width(given: list[str]) -> float:
        (found,) = document(capsys, *given)["predictions"]
        return float(np.log(found["interval_s"][1] / found["predicted_s"]))

    alone, two, three = (half_width(files[:count]) for count in (1, 2, 3))
    by_repeats = repeat_width([1.0, 1.0001])
    assert alone > 2.0 * by_repeats
    assert two == pytest.approx(alone, rel=1e-3)
    assert three == pytest.approx(repeat_width([1.0, 1.0001, 0.9999]), rel=1e-3)


def test_an_interval_says_what_it_assumes(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [recorded(tmp_path, header, 200, 20, seed=seed) for seed in (1, 2)]
    for given, assumed in ((files[:1], ALONE), (files, REPEATED)):
        assert f"{assumed})." in said(capsys, *given)


@pytest.mark.filterwarnings("error")
def test_no_solve_takes_less_than_nothing(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_values(iterations=200, ranks=3, restart=20, seed=1)
    later = 20e-3 * (np.arange(200) // 20)  # restarts take longer than cycles
    values["start"] = np.asarray(values["start"]) + later[:, None]
    values["solve_time"] = np.asarray(values["solve_time"]) + later[-1]
    values["restart_duration"] = np.asarray(values["restart_duration"]) + 20e-3
    (found,) = answer(capsys, write_whole(tmp_path, header, values), "--iterations", "1")
    assert 0.0 < found["interval_s"][0] <= found["predicted_s"]
