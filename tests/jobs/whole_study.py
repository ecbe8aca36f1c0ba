"""A real study from its submission to its collected files, cancelled and resumed on the way."""

import hashlib
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import BIN
from tests.jobs.conftest import fingerprint

import hindmost
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


GATE = "sleep 600"


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


def hold_to_no_answer(folder: Path) -> None:
    """Ask for a study whose scheduler is down: nothing is said of its jobs, or done to them."""
    jobs = (folder / "solvers" / "jobs.jsonl").read_text()
    status = ask(folder, "study", "status", "solvers")
    assert (status.returncode, "job states are unknown" in status.stdout) == (75, True), status
    for verb in ("cancel", "submit"):
        refused = ask(folder, "study", verb, "solvers")
        assert (refused.returncode, refused.stdout) == (4, ""), refused
        assert "ask again later" in refused.stderr
    anew = ask(folder, "study", "submit", "study.toml", "--folder", "anew")
    assert (anew.returncode, "Correct the script" in anew.stderr) == (4, False), anew
    assert (folder / "solvers" / "jobs.jsonl").read_text() == jobs


def held(text: str, folder: Path) -> str:
    """Return a study with a job for each run; all but the first wait until scripts are edited."""
    gate = f"mkdir '{folder}/first' 2>/dev/null || {GATE}"
    text = text.replace("[limits]", '[pack]\nby = "none"\n[limits]')
    return text.replace("setup = [", f'setup = ["{gate}", ')


def nothing() -> None:
    """Do nothing."""


def collected_after_a_stop(
    folder: Path,
    text: str,
    scheduler: Scheduler,
    limit_s: float,
    *,
    meanwhile: Callable[[], None] = nothing,
    forgets: bool = False,
) -> tuple[StudyFolder, list[dict[str, Any]]]:
    """Submit, cancel once a run is done, edit, resume and collect; return the table of the files.

    Parameters
    ----------
    folder : Path
    text : str
        The study.
    scheduler : Scheduler
    limit_s : float
        Of each wait.
    meanwhile : callable
        Done when a run is done, before the rest is cancelled.
    forgets : bool
        Whether the scheduler may know no more of a job that has ended.
    """
    (folder / "study.toml").write_text(text)
    done = ask(folder, "study", "submit", "study.toml")
    assert done.returncode == 0, done.stderr
    study = StudyFolder.open(folder / "solvers")
    end = time.monotonic() + limit_s
    while not (before := fingerprint(study)) and time.monotonic() < end:
        time.sleep(0.02)
    assert before, (state_of(study, scheduler), study.records())
    meanwhile()
    assert ask(folder, "study", "cancel", "solvers").returncode == 0
    wait(study, scheduler, limit_s, RunState.RUNNING, RunState.WAITING)
    left = ask(folder, "study", "status", "solvers")
    said = "cancelled (" in left.stdout or (forgets and "unknown (unknown to" in left.stdout)
    assert (left.returncode, said) == (75, True), left.stdout
    # Ids of jobs do not tell: a controller that died may begin with them anew.
    done_before = {name.split("/")[0] for name in fingerprint(study)}
    for script in (study.path / "scripts").iterdir():
        script.write_text(f"{script.read_text()}# edited\n".replace(GATE, "true"))
    assert ask(folder, "study", "submit", "solvers").returncode == 0
    wait(study, scheduler, limit_s, RunState.RUNNING, RunState.WAITING, RunState.LEFT)
    assert before.items() <= fingerprint(study).items()
    assert ask(folder, "study", "collect", "solvers").returncode == 0
    table = json.loads((study.path / "collected" / "collected.json").read_text())
    assert len(table["files"]) == 4
    for row in table["files"]:
        told = hindmost.open(study.path / "collected" / row["file"]).header.scheduler
        script = study.script(told["HINDMOST_ALLOCATION"])
        edited = hashlib.sha256(script.read_bytes()).hexdigest()
        was_done = any(run in row["file"] for run in done_before)
        assert (told["HINDMOST_SCRIPT_SHA256"] != edited) == was_done
    fitted = json.loads(ask(folder, "fit", "solvers/collected", "--json").stdout)
    assert sorted(run["solver"] for run in fitted["runs"]) == ["gmres"] * 2 + ["pgmres"] * 2
    return study, list(table["files"])
