"""The paper's HOMME example: published points and functions."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.examples.conftest import DATA

from hindmost.analysis.readers.read import read_experiment
from hindmost.models.pmnf.kernels import KernelModel

Example = Callable[[str], ModuleType]


def models(example: Example, method: str) -> list[KernelModel]:
    found = example("findings").found(DATA / "homme.txt", method)
    return [model for _, _, model in found]


def test_the_papers_rule_takes_the_last_constant_point_as_common(example: Example) -> None:
    for model in models(example, "paper"):
        assert model.segmentation.segmented
        assert model.segmentation.pattern == "0000011100"
        (change,) = model.segmentation.changes
        assert (change.low, change.high) == (15000, 15000)
        assert [part.points for part in model.segments] == [9, 6]  # 15,000 is in both


def test_one_function_is_the_papers(example: Example) -> None:
    homme = example("homme")
    constant, factor = homme.one_function()
    # The paper fitted its measurements, which are not published; these are its functions.
    assert constant == pytest.approx(homme.UNSEGMENTED[0], rel=0.01)
    assert factor == pytest.approx(homme.UNSEGMENTED[1], rel=0.015)


def test_the_shipped_file_is_what_the_program_writes(
    example: Example,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["homme.py", str(tmp_path / "homme.txt")])
    example("homme").main()
    assert capsys.readouterr().out.count("changes between 15000 and 16224") == 3
    assert (tmp_path / "homme.txt").read_text() == (DATA / "homme.txt").read_text()
    assert not read_experiment(DATA / "homme.txt").warnings
