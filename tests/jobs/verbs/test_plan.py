"""``hindmost study plan``: what is printed, and what cannot be planned."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.documents import as_declared

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
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
    assert found["core_hours"] == pytest.approx(10 / 60 * 4)


def test_the_example_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "plan", "--example"]) == 0
    assert capsys.readouterr().out == example()


def test_a_plan_reads_no_arrays(study: Path) -> None:
    program = (
        "import sys; from hindmost.cli import main; main(['study', 'plan', sys.argv[1]]);"
        "print(sorted({'numpy', 'h5py', 'scipy', 'rich', 'mpi4py'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, study], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_split_block_is_warned_of(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace('"20m"', '"5m"'))
    assert main(["study", "plan", str(study)]) == 0
    assert "3 blocks too large for one allocation" in capsys.readouterr().err


def test_what_cannot_be_planned(study: Path) -> None:
    with pytest.raises(UsageError, match="--example"):
        main(["study", "plan"])
    with pytest.raises(UsageError, match=r"--machine four: choose two or local"):
        main(["study", "plan", str(study), "--machine", "four"])
    study.write_text(STUDY.replace('solver = ["gmres", "cg"]', "solver = [[1]]"))
    with pytest.raises(DataError, match=r"small.toml: sweep.solver\[0\] is \[1\]; "):
        main(["study", "plan", str(study)])
