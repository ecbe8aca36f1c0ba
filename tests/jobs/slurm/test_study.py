"""A study on a real Slurm, as the README has it, from its submission to models of its runs."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import BIN
from tests.jobs.conftest import fingerprint
from tests.jobs.slurm.cluster import Cluster

import hindmost
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.slurm import SLURM
from hindmost.jobs.state import RunState, state_of

LIMIT_S = 90.0
SOURCE = Path(__file__).parents[3] / "src"
MACHINE = f"""
[machine.site]
scheduler = "slurm"
launcher = "mpiexec"
cores_per_node = 2
setup = ["export PYTHONPATH='{SOURCE}'"]
"""
SOLVERS = """\
schema = 1
[study]
name = "solvers"
repeats = 2
[sweep]
ranks = 2
solver = ["gmres", "pgmres"]
problem = "diagonal"
unknowns = 600
iterations = 200
[limits]
job = "10m"
run = "1m"
stop_before = "30s"
"""


def ask(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "hindmost", *words], capture_output=True, text=True, check=False,
        timeout=LIMIT_S, cwd=folder,
    )  # fmt: skip


def wait(study: StudyFolder, *states: RunState) -> None:
    """Wait until no run is in any of those states."""
    end = time.monotonic() + LIMIT_S
    while any(map(state_of(study, SLURM).counts.get, states)):  # one look for all states
        assert time.monotonic() < end, state_of(study, SLURM)
        time.sleep(0.1)


@pytest.mark.mpi
def test_stopped_half_way_resumed_collected_and_modelled(slurm: Cluster, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SOLVERS + MACHINE)
    done = ask(tmp_path, "study", "submit", "study.toml")
    assert done.returncode == 0, done.stderr
    study = StudyFolder.open(tmp_path / "solvers")
    end = time.monotonic() + LIMIT_S
    while not (before := fingerprint(study)) and time.monotonic() < end:
        time.sleep(0.02)
    assert before, state_of(study, SLURM).failures  # none was ever done: not the cancelling's doing
    assert ask(tmp_path, "study", "cancel", "solvers").returncode == 0
    wait(study, RunState.RUNNING, RunState.WAITING)
    left = ask(tmp_path, "study", "status", "solvers")
    assert left.returncode == 75, (left.stdout, study.records())
    assert "cancelled (CANCELLED" in left.stdout
    assert ask(tmp_path, "study", "submit", "solvers").returncode == 0
    assert (
        "already queued or running: 1 allocation"
        in ask(tmp_path, "study", "submit", "solvers").stdout
    )
    wait(study, RunState.RUNNING, RunState.WAITING, RunState.LEFT)
    assert before.items() <= fingerprint(study).items()
    assert ask(tmp_path, "study", "collect", "solvers").returncode == 0
    collected = study.path / "collected"
    table = json.loads((collected / "collected.json").read_text())
    assert {each["job"] for each in table["files"]} == {each.job for each in study.jobs()}
    fitted = json.loads(ask(tmp_path, "fit", "solvers/collected", "--json").stdout)
    assert sorted(run["solver"] for run in fitted["runs"]) == ["gmres"] * 2 + ["pgmres"] * 2
    for row in table["files"]:
        run = hindmost.open(collected / row["file"])
        assert run.header.ranks == 2
        assert run.header.scheduler["SLURM_JOB_ID"] == row["job"]
        assert run.header.scheduler["HINDMOST_NODES"].split(",") == row["nodes"]
        assert row["nodes"] in (["n0"], ["n1"])
