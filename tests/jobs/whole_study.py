"""A real study from its submission to its collected files, cancelled and resumed on the way."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.conftest import BIN
from tests.jobs.conftest import fingerprint

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.scheduler import Scheduler
from hindmost.jobs.state import RunState, state_of

STUDY = """\
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
    """Run the command in a folder."""
    return subprocess.run(
        [BIN / "hindmost", *words], capture_output=True, text=True, check=False,
        timeout=600, cwd=folder,
    )  # fmt: skip


def wait(study: StudyFolder, scheduler: Scheduler, limit_s: float, *states: RunState) -> None:
    """Wait until no run is in any of those states."""
    end = time.monotonic() + limit_s
    while any(map(state_of(study, scheduler).counts.get, states)):  # one look for all states
        assert time.monotonic() < end, (state_of(study, scheduler), study.records())
        time.sleep(0.1)


def collected_after_a_stop(
    folder: Path, text: str, scheduler: Scheduler, limit_s: float
) -> tuple[StudyFolder, list[dict[str, Any]]]:
    """Submit, cancel once a run is done, resume and collect; return the table of the files."""
    (folder / "study.toml").write_text(text)
    done = ask(folder, "study", "submit", "study.toml")
    assert done.returncode == 0, done.stderr
    study = StudyFolder.open(folder / "solvers")
    end = time.monotonic() + limit_s
    while not (before := fingerprint(study)) and time.monotonic() < end:
        time.sleep(0.02)
    assert before, (state_of(study, scheduler), study.records())
    assert ask(folder, "study", "cancel", "solvers").returncode == 0
    wait(study, scheduler, limit_s, RunState.RUNNING, RunState.WAITING)
    left = ask(folder, "study", "status", "solvers")
    assert (left.returncode, "cancelled (" in left.stdout) == (75, True), left.stdout
    assert ask(folder, "study", "submit", "solvers").returncode == 0
    wait(study, scheduler, limit_s, RunState.RUNNING, RunState.WAITING, RunState.LEFT)
    assert before.items() <= fingerprint(study).items()
    assert ask(folder, "study", "collect", "solvers").returncode == 0
    table = json.loads((study.path / "collected" / "collected.json").read_text())
    assert len(table["files"]) == 4
    fitted = json.loads(ask(folder, "fit", "solvers/collected", "--json").stdout)
    assert sorted(run["solver"] for run in fitted["runs"]) == ["gmres"] * 2 + ["pgmres"] * 2
    return study, list(table["files"])
