"""A study on a real Slurm, as the README has it, from its submission to models of its runs."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import BIN
from tests.jobs.slurm.cluster import Cluster

import hindmost

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
repeats = 3
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


class Place:
    """A folder in which a person works on a study."""

    def __init__(self, folder: Path, study: str) -> None:
        self.folder = folder
        (folder / "study.toml").write_text(study)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "hindmost", *words], capture_output=True, text=True, check=False,
            timeout=LIMIT_S, cwd=self.folder, env=os.environ,
        )  # fmt: skip

    def state(self, name: str) -> dict[str, Any]:
        return dict(json.loads(self.ask("status", name, "--json").stdout))

    def wait(self, name: str, *states: str) -> None:
        """Wait until no run is in any of those states."""
        end = time.monotonic() + LIMIT_S
        while any(self.state(name)["counts"][each] for each in states):
            assert time.monotonic() < end, self.ask("status", name).stdout
            time.sleep(0.3)

    def files(self, name: str) -> dict[Path, tuple[bytes, int]]:
        found = (self.folder / name / "runs").glob("*/*.h5")
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


@pytest.mark.mpi
def test_stopped_half_way_resumed_collected_and_modelled(slurm: Cluster, tmp_path: Path) -> None:
    place = Place(tmp_path, SOLVERS + MACHINE)
    done = place.ask("submit", "study.toml")
    assert done.returncode == 0, done.stderr
    end = time.monotonic() + LIMIT_S
    while not place.files("solvers") and time.monotonic() < end:
        time.sleep(0.05)
    assert "1 allocation has a job already" in place.ask("resume", "solvers").stdout
    assert place.ask("cancel", "solvers").returncode == 0
    place.wait("solvers", "running", "waiting")
    left = place.ask("status", "solvers")
    assert left.returncode == 75
    assert "cancelled (CANCELLED" in left.stdout
    before = place.files("solvers")
    assert 0 < len(before) < 6
    assert place.ask("resume", "solvers").returncode == 0
    place.wait("solvers", "running", "waiting", "left")
    assert place.ask("status", "solvers").returncode == 0
    after = place.files("solvers")
    assert before.items() <= after.items()
    assert len(after) == 6
    assert place.ask("collect", "solvers").returncode == 0
    table = json.loads((tmp_path / "solvers" / "collected" / "collected.json").read_text())
    assert {each["job"] for each in table["files"]} == {
        json.loads(line)["job"]
        for line in (tmp_path / "solvers" / "jobs.jsonl").read_text().splitlines()
    }
    fitted = json.loads(place.ask("fit", "solvers/collected", "--quick", "--json").stdout)
    assert sorted(run["solver"] for run in fitted["runs"]) == ["gmres"] * 3 + ["pgmres"] * 3
    for row in table["files"]:
        run = hindmost.open(tmp_path / "solvers" / "collected" / row["file"])
        assert run.header.ranks == 2
        assert run.header.scheduler["SLURM_JOB_ID"] == row["job"]
        assert run.header.scheduler["HINDMOST_NODES"].split(",") == row["nodes"]
        assert row["nodes"] in (["n0"], ["n1"])
