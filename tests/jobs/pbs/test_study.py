"""Studies and attached programs on a real OpenPBS, with ranks on both of its nodes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT
from tests.jobs.conftest import fingerprint
from tests.jobs.pbs.waiting import output, submit, wait
from tests.jobs.two_nodes import HOME
from tests.programs.attaching import compiled, shared_petsc

import hindmost
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.state import RunState, state_of

LIMIT_S = 120.0
AGENT = """\
#!/bin/sh
host=$1; shift; exec pbs_tmrsh "$host" /bin/sh -c "$*"
"""
"""Starts a command on another node of the job, as ssh does: with a shell there."""
OPEN_MPI = {
    "OMPI_MCA_plm_rsh_agent": str(HOME / "agent"),  # the distribution's Open MPI knows no PBS
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24",
    "OMPI_MCA_oob_tcp_if_include": "10.77.0.0/24",
}
STUDY = f"""\
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
[machine.site]
scheduler = "pbs"
launcher = "mpiexec"
cores_per_node = 1
nodes = 2
exclusive = false
partition = "workq"
setup = [
    "export PYTHONPATH='{ROOT / "src"}'",
    "export OMPI_MCA_orte_default_hostfile=$PBS_NODEFILE",
]
environment = {{{", ".join(f'{name} = "{value}"' for name, value in OPEN_MPI.items())}}}
"""


@pytest.fixture(autouse=True)
def agent() -> None:
    """Write the command by which Open MPI reaches the other node."""
    (HOME / "agent").write_text(AGENT)
    (HOME / "agent").chmod(0o755)


def ask(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "hindmost", *words], capture_output=True, text=True, check=False,
        timeout=LIMIT_S, cwd=folder,
    )  # fmt: skip


def settle(study: StudyFolder, *states: RunState) -> None:
    """Wait until no run is in any of those states."""
    end = time.monotonic() + LIMIT_S
    while any(map(state_of(study, PBS).counts.get, states)):
        assert time.monotonic() < end, (state_of(study, PBS), study.records())
        time.sleep(0.2)


def test_cancelled_resumed_and_collected(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    done = ask(tmp_path, "study", "submit", "study.toml")
    assert done.returncode == 0, done.stderr
    study = StudyFolder.open(tmp_path / "solvers")
    end = time.monotonic() + LIMIT_S
    while not (before := fingerprint(study)) and time.monotonic() < end:
        time.sleep(0.05)
    assert before, (state_of(study, PBS), study.records())
    assert ask(tmp_path, "study", "cancel", "solvers").returncode == 0
    settle(study, RunState.RUNNING, RunState.WAITING)
    assert "cancelled" in ask(tmp_path, "study", "status", "solvers").stdout
    assert ask(tmp_path, "study", "submit", "solvers").returncode == 0
    settle(study, RunState.RUNNING, RunState.WAITING, RunState.LEFT)
    assert before.items() <= fingerprint(study).items()
    assert ask(tmp_path, "study", "collect", "solvers").returncode == 0
    table = json.loads((study.path / "collected" / "collected.json").read_text())
    assert len(table["files"]) == 4
    for row in table["files"]:
        run = hindmost.open(study.path / "collected" / row["file"])
        assert sorted(set(run.hosts)) == ["n0", "n1"]
        assert run.header.scheduler["PBS_JOBID"] == row["job"]


def test_running_and_queued_jobs_are_cancelled(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    ids = [submit(folder, "exec sleep 60", "-l select=2:ncpus=1") for _ in range(3)]
    wait(ids[:1], while_in=frozenset({JobState.PENDING}))
    states = [job.state for job in PBS.look(ids).values()]
    assert states == [JobState.RUNNING, JobState.PENDING, JobState.PENDING]
    PBS.cancel(ids)
    assert {job.state for job in wait(ids).values()} == {JobState.CANCELLED}


def test_attach_to_a_program_on_two_nodes(tmp_path: Path) -> None:
    petsc = shared_petsc()
    solves = compiled(tmp_path, "solves", petsc, f"-Wl,-rpath,{petsc.parent}")
    lines = (
        f"cd '{tmp_path}'",
        f"export PYTHONPATH='{ROOT / 'src'}'",
        *(f"export {name}='{value}'" for name, value in OPEN_MPI.items()),
        f"'{Path(sys.prefix) / 'bin' / 'mpiexec'}' -n 2 --hostfile $PBS_NODEFILE "
        f"--map-by ppr:1:node {BIN / 'hindmost'} attach --out runs -- {solves} well",
    )
    folder = tmp_path / "job"
    id = submit(folder, "\n".join(lines), "-l select=2:ncpus=1:mpiprocs=1", "-l place=scatter")
    job = wait([id], LIMIT_S)[id]
    assert job.state is JobState.COMPLETED, (job, output(folder, id))
    runs = [hindmost.open(path) for path in sorted((tmp_path / "runs").glob("*.h5"))]
    assert sum(run.header.spec["attached"]["solves"] for run in runs) == 3
    for run in runs:
        assert sorted(set(run.hosts)) == ["n0", "n1"]
        assert run.header.scheduler["PBS_JOBID"] == id
