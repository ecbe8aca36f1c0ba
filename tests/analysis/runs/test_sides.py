"""Two folders of runs side by side: case by case, in what they differ, and why their times do."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.runs.test_over_ranks import LOOP, lockstep_values

from hindmost.cli import main
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

LONG = "-a_long_option_that_both_have_and_that_says_nothing_here 12345678901234567890 -more_of_it 1"


def write(folder: Path, header: Header, ranks: int, words: str, work_s: float, **more: Any) -> None:
    folder.mkdir(exist_ok=True)
    iterations = more.pop("iterations", 40)
    own = replace(
        header,
        workload="app",
        solver=more.pop("solver", "loop"),
        ranks=ranks,
        iterations=iterations,
        restart=0,
        spec={**LOOP, **more},
        environment={"petsc": "none", "command": words.split(), "machine": {"host": "n"}},
        petsc_options={},
    )
    write_whole(folder, own, lockstep_values([work_s] * ranks, 0.0, iterations))


def compared(capsys: pytest.CaptureFixture[str], *folders: Path) -> tuple[str, dict[str, Any]]:
    words = ["compare", *map(str, folders)]
    assert main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert main([*words, "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)


def test_folders_of_several_ranks_are_compared_rank_by_rank(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = tmp_path / "a", tmp_path / "b"
    for folder, name, factor in zip(sides, ("slow", "fast"), (1.0, 0.5), strict=True):
        for repeat in range(3):
            for ranks in (1, 16, 2):
                words = f"app {LONG} -kind {name} -px {ranks}"
                matrix = "seqaij" if ranks == 1 else "mpiaij"
                work_s = factor * (1.0 + 0.01 * repeat) * ranks * 1e-3
                write(folder, header, ranks, words, work_s, mat_type=matrix)
    text, answer = compared(capsys, *sides)
    assert "b (-kind fast) compared with A" in text
    assert "a (-kind slow) app, 1 rank: B takes 0.5 times the time of A" in text
    assert "a_long_option" not in text  # both have it
    names = [case["name"] for case in answer["cases"]]
    assert names == ["app, 1 rank", "app, 2 ranks", "app, 16 ranks"]
    for case in answer["cases"]:
        assert case["time_ratio"] == pytest.approx(0.5, rel=1e-4)
        assert case["runs"] == [3, 3]
        assert "Undecided" not in case["text"]
    assert [each["timer"] for each in answer["series"][:3]] == ["solve"] * 3
    assert answer["only_first"] == answer["only_second"] == []


def test_the_time_of_a_solve_is_iterations_times_that_of_each(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    # Half the iterations, each three times as long: waiting would be another story.
    ending = {"asked": 1000, "reason": "CONVERGED_RTOL", "rtol": 1e-6, "atol": 0.0}
    for repeat in range(2):
        for folder, solver, done, work_s in (("a", "cg", 80, 1e-3), ("b", "gmres", 40, 3e-3)):
            write(tmp_path / folder, header, 2, "app", work_s * (1 + 0.001 * repeat), solver=solver,
                  iterations=done, ending={**ending, "done": done})  # fmt: skip
    text, answer = compared(capsys, tmp_path / "a", tmp_path / "b")
    (case,) = answer["cases"]
    assert case["time_ratio"] == pytest.approx(1.5, rel=1e-3)
    assert case["iterations_ratio"] == 0.5
    assert case["iteration_ratio"] == pytest.approx(3.0, rel=1e-3)
    assert "0.5 times the iterations (40, not 80), 3 times the time of each." in text
    assert "by chance in 1 of 3" in text  # two repeats decide nothing
    assert answer["differ"] == ["cg", "gmres"] or answer["differ"] == ["solver cg", "solver gmres"]


def test_long_options_that_differ_late_are_two_cases(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        for last, work_s in (("-tail x", 1e-3), ("-tail y", 4e-3)):
            write(folder, header, 2, f"app {LONG} {last}", work_s)
    _, answer = compared(capsys, tmp_path / "a", tmp_path / "b")
    assert [case["name"] for case in answer["cases"]] == [
        "app, 2 ranks, -tail x",
        "app, 2 ranks, -tail y",
    ]
    assert [case["time_ratio"] for case in answer["cases"]] == pytest.approx([1.0, 1.0])
