"""Studies and attached programs on a real OpenPBS, with ranks on both of its nodes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT
from tests.jobs.pbs.waiting import output, submit, wait
from tests.jobs.two_nodes import HOME
from tests.jobs.whole_study import STUDY, collected_after_a_stop
from tests.programs.attaching import compiled, shared_petsc

import hindmost
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import JobState

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
MACHINE = f"""
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


def test_cancelled_resumed_and_collected(tmp_path: Path) -> None:
    study, files = collected_after_a_stop(tmp_path, STUDY + MACHINE, PBS, LIMIT_S)
    for row in files:
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
