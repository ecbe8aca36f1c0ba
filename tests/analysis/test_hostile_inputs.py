"""Inputs of other tools that promise too much, and pipes in their place."""

import json
import os
from pathlib import Path

import pytest

from hindmost.analysis.ranks.read_tables import read_table
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.analysis.scaling.study import MAX_POINTS, study_scaling
from hindmost.cli import main
from hindmost.errors import DataError, HindmostError
from hindmost.jobs.study.read import read_study


def test_a_product_of_parameters_is_not_multiplied_out(tmp_path: Path) -> None:
    many = [[str(number) for number in range(100)]] * 8
    results = {"suite.time_x": [None, many], "suite.time_y": [[1.0], [["a"]]]}
    about = {"commit_hash": "c", "date": 1795282854000, "params": {"machine": "m"}}
    path = tmp_path / "c-env.json"
    path.write_text(
        json.dumps({**about, "result_columns": ["result", "params"], "results": results})
    )
    history = read_history(path)
    assert [series.name.case for series in history.series] == ["suite.time_y(a) [env]"]
    assert any("10000000000000000 combinations" in warning for warning in history.warnings)


@pytest.mark.parametrize("rank", ["9" * 30, "2147483648", "9" * 200])
def test_ranks_of_profiles_fit_into_an_array(tmp_path: Path, rank: str) -> None:
    path = tmp_path / f"profile.{rank}.0.0"
    path.write_text('1 templated_functions_MULTI_TIME\n# x\n"f" 1 0 1.0 1.0 0 GROUP="x"\n')
    with pytest.raises(DataError, match="numbered from 0"):
        read_table(tmp_path)


def test_series_of_very_many_points_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "points.txt"
    points = range(1, 20_001)
    path.write_text(
        f"PARAMETER p\nPOINTS {' '.join(map(str, points))}\n"
        + "".join(f"DATA {point}.5\n" for point in points)
    )
    with pytest.raises(DataError, match=f"20,000 points, and at most {MAX_POINTS:,}"):
        study_scaling(read_experiment(path))


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("show", "--ranks"),
        ("scale",),
        ("history",),
        ("study plan",),
        ("show", "--damaged"),
        ("compare", "pipe"),
    ],
)
def test_verbs_do_not_wait_for_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(HindmostError, match="pipe"):
        main([*words[0].split(), "pipe", *words[1:]])


def test_studies_are_not_read_from_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(HindmostError, match="pipe"):
        read_study(tmp_path / "pipe.toml")
