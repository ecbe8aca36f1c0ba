"""``hindmost study plan``: what is printed, and estimates from run files of known times."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values
from tests.documents import as_declared

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.jobs.plan.estimate import START_S, upper
from hindmost.jobs.study.read import example

STUDY = """\
[study]
name = "small"
repeats = 3
[machine.two]
scheduler = "slurm"
cores_per_node = 4
[sweep]
ranks = [3]
solver = ["gmres", "cg"]
problem = "laplacian-1d"
unknowns = 300
iterations = [40, 400]
[limits]
job = "20m"
run = "2m"
stop_before = "1m"
"""


@pytest.fixture(autouse=True)
def no_machines_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


def earlier(folder: Path, header: Header, solve_s: list[float]) -> None:
    """Write runs whose solves took so long on their slowest rank."""
    folder.mkdir(parents=True, exist_ok=True)
    values = run_values(iterations=40, ranks=3, restart=10, seed=0)
    for seconds in solve_s:
        write_whole(folder, header, {**values, "solve_time": np.array([0.5, 1, 0.9]) * seconds})


def plan_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert main(["study", "plan", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = as_declared("study plan", capsys.readouterr().out)
    return found


def test_the_plan_in_words(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(study.parent.iterdir())
    assert main(["study", "plan", str(study)]) == 0
    printed = capsys.readouterr().out
    assert "small on two (slurm, srun, 4 cores a node)" in printed
    assert "12 runs: 3 blocks of 4 configurations, seed 0" in printed
    # Two blocks of four 2 min, 1 min before and 1 after, then one: 18 and 10 min on 4 cores.
    assert "at most 1.867 core-hours in 2 allocations" in printed
    assert "0:18:00   scripts/a000.sh" in printed
    assert "--iterations 400 --out {out}" in printed
    assert sorted(study.parent.iterdir()) == before


def test_the_plan_as_json(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan_json(capsys, study, "--set", "repeats=1")
    assert (found["version"], found["study"], found["seed"]) == (1, "small", 0)
    assert len(found["runs"]) == 4
    assert found["machine"]["scheduler"] == "slurm"
    assert found["scripts"] == ["scripts/a000.sh"]
    assert found["core_hours"]["most"] == pytest.approx(10 / 60 * 4)
    assert found["estimate"] is None


def test_the_example_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "plan", "--example"]) == 0
    assert capsys.readouterr().out == example()


def test_estimates_from_earlier_runs(
    study: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier(tmp_path / "old" / "deep", header, [1.0, 3.0, 2.0])
    other = [
        replace(header, workload="diagonal"),
        replace(header, solver="pgmres"),
        replace(header, spec={"unknowns": 200}),
        replace(header, spec={"unknowns": 300, "petsc_options": ["-ksp_rtol", "1"]}),
        replace(header, complete=False, records_lost=1),
    ]
    for each in other:
        earlier(tmp_path / "old", each, [99.0])
    found = plan_json(capsys, study, "--estimate", tmp_path / "old")
    times = {
        (run["configuration"]["solver"], run["configuration"]["iterations"]): run["expected_s"]
        for run in found["runs"]
    }
    # Of three, the slowest solve takes 3 s for 40 iterations; a warm-up is done as well.
    assert times == {
        ("gmres", 40): pytest.approx(START_S + 2 * 3.0),
        ("gmres", 400): pytest.approx(START_S + 2 * 30.0),
        ("cg", 40): None,
        ("cg", 400): None,
    }
    said = found["estimate"]
    assert (said["earlier_runs"], said["runs_without"], said["runs_from_few"]) == (7, 6, 6)
    assert len(said["left_out"]) == 1
    assert found["core_hours"]["expected"] == pytest.approx(3 * (21 + 75 + 120 + 120) / 3600 * 4)


def test_estimates_in_words(
    study: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier(tmp_path / "old", header, [6.0, 7.0])
    (tmp_path / "old" / "foreign.h5").write_text("no")
    assert main(["study", "plan", str(study), "--estimate", str(tmp_path / "old")]) == 0
    said = capsys.readouterr()
    assert "quantile 0.95 of 2 earlier runs; no earlier run for 6 of 12 runs" in said.out
    assert "too few earlier runs for that quantile for 6 runs" in said.out
    assert "3 runs will probably be stopped" in said.err
    assert "expected to take 155 s, but limits.run is 120 s" in said.err
    assert "left out:" in said.err


def test_a_shorter_plan_needs_less_time(
    study: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for solver in ("gmres", "cg"):
        earlier(tmp_path / "old", replace(header, solver=solver), [0.1] * 20)
    found = plan_json(capsys, study, "--estimate", tmp_path / "old")
    (allocation,) = found["allocations"]
    # The start (1 min), eleven short ones, then the limit of the last (2 min) and the end (1 min),
    # in whole minutes.
    sums = 6 * (START_S + 0.2) + 5 * (START_S + 2.0)
    assert allocation["walltime_s"] == 60 * np.ceil((60 + sums + 120 + 60) / 60)
    assert found["estimate"]["runs_from_few"] == 0


def test_options_have_to_be_the_same(
    study: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-ksp_gmres_restart", "10", "-ksp_rtol", "1e-05"]
    spec = {"unknowns": 300, "petsc_options": options, "warmup": 0}
    earlier(tmp_path / "old", replace(header, spec=spec), [1.0] * 3)
    study.write_text(
        STUDY.replace("iterations = [40, 400]", "iterations = 40\nrestart = [10, 20]\ntol = 1e-5")
        + '[run]\noptions = ["-ksp_gmres_restart", "{restart}", "-ksp_rtol", "{tol}"]\n'
    )
    found = plan_json(capsys, study, "--estimate", tmp_path / "old", "--set", "repeats=1")
    times = {
        (run["configuration"]["solver"], run["configuration"]["restart"]): run["expected_s"]
        for run in found["runs"]
    }
    assert times == {
        ("gmres", 10): pytest.approx(START_S + 2.0), ("gmres", 20): None,
        ("cg", 10): None, ("cg", 20): None,
    }  # fmt: skip


def test_a_plan_without_estimate_reads_no_arrays(study: Path) -> None:
    program = (
        "import sys; from hindmost.cli import main; main(['study', 'plan', sys.argv[1]]);"
        "print(sorted({'numpy', 'h5py', 'scipy', 'rich', 'mpi4py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, study], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_quantile_holds_for_a_further_run() -> None:
    random = np.random.default_rng(3)
    for count, quantile in ((19, 0.95), (9, 0.8), (4, 0.5)):
        draws = random.lognormal(size=(4000, count + 1))
        inside = [row[-1] <= upper(list(row[:-1]), quantile) for row in draws]
        # The share of the order statistic is at least the quantile; 4 standard errors.
        assert np.mean(inside) >= quantile - 4 * np.sqrt(quantile * (1 - quantile) / 4000)
    assert upper([3.0, 1.0, 2.0], 0.95) == 3.0
    assert upper([3.0, 1.0, 2.0], 0.5) == 2.0


def test_a_split_block_is_warned_of(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace('"20m"', '"5m"'))
    assert main(["study", "plan", str(study)]) == 0
    said = capsys.readouterr()
    assert "12 runs in blocks too large for one allocation" in said.err
    assert "(split)" in said.out


def test_what_cannot_be_planned(study: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--example"):
        main(["study", "plan"])
    with pytest.raises(UsageError, match=r"--machine four: choose two or local"):
        main(["study", "plan", str(study), "--machine", "four"])
    with pytest.raises(UsageError, match="no run files"):
        main(["study", "plan", str(study), "--estimate", str(tmp_path / "none")])
    study.write_text(STUDY.replace('solver = ["gmres", "cg"]', "solver = [[1]]"))
    with pytest.raises(DataError, match=r"small.toml: sweep.solver\[0\] is \[1\]; "):
        main(["study", "plan", str(study)])
