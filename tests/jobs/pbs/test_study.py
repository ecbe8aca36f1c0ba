"""Studies and attached programs on a real OpenPBS, with ranks on both of its nodes."""

import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT
from tests.jobs import across_nodes
from tests.jobs.pbs import server
from tests.jobs.pbs.waiting import output, submit, wait
from tests.jobs.slurm.mpich import mpich_python
from tests.jobs.two_nodes import HOME
from tests.jobs.whole_study import STUDY, ask, collected_after_a_stop, held, hold_to_no_answer
from tests.programs.attaching import PROGRAMS, compiled

import hindmost
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import JobState

LIMIT_S = 120.0
BOTH = ("-l select=2:ncpus=1:mpiprocs=1", "-l place=scatter")
AGENT = """\
#!/bin/sh
host=$1; shift; exec pbs_tmrsh "$host" /bin/sh -c "$*"
"""
"""Starts a command on another node of the job, as ssh does: with a shell there."""
OPEN_MPI = {
    **across_nodes.OPEN_MPI,
    "OMPI_MCA_plm_rsh_agent": str(HOME / "agent"),  # the distribution's Open MPI knows no PBS
}
ENOUGH = 100_000
"""Bytes of raw records: hundreds of iterations."""
REACHED = f"--hostfile $PBS_NODEFILE --mca plm_rsh_agent {HOME / 'agent'} -x PYTHONPATH"
MACHINE = f"""
[machine.site]
scheduler = "pbs"
launcher = "mpiexec"
# What starts ranks on the other node passes no environment on. A node is a core, its MoM's.
launch_args = ["-x", "PYTHONPATH", "--bind-to", "none"]
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
        across_nodes.check_nodes(run)
        assert run.header.scheduler["PBS_JOBID"] == row["job"]


def test_a_server_that_stops_meanwhile_and_keeps_no_history(tmp_path: Path) -> None:
    def meanwhile() -> None:
        server.stop_server()
        hold_to_no_answer(tmp_path)
        server.start_server()

    server.ask("qmgr", "-c", "set server job_history_enable = False")
    try:
        text = held(STUDY + MACHINE, tmp_path)
        collected_after_a_stop(tmp_path, text, PBS, LIMIT_S, meanwhile=meanwhile, forgets=True)
    finally:
        server.ask("qmgr", "-c", "set server job_history_enable = True")


def test_a_study_of_somebody_else() -> None:
    across_nodes.hold_to_study_of_somebody_else(STUDY + MACHINE, PBS, LIMIT_S)


def test_running_and_queued_jobs_are_cancelled(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    ids = [submit(folder, "exec sleep 60", "-l select=2:ncpus=1") for _ in range(3)]
    wait(ids[:1], while_in=frozenset({JobState.PENDING}))
    states = [job.state for job in PBS.query(ids).values()]
    assert states == [JobState.RUNNING, JobState.PENDING, JobState.PENDING]
    PBS.cancel(ids)
    assert {job.state for job in wait(ids).values()} == {JobState.CANCELLED}


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """Return a program whose ranks exchange messages and sums."""
    return compiled(tmp_path, "ring")


def run(folder: Path, lines: str) -> str:
    """Run a script on both nodes, and return the id of its job."""
    id = submit(folder / "job", lines, *BOTH)
    job = wait([id], LIMIT_S)[id]
    assert job.state is JobState.COMPLETED, (job, output(folder / "job", id))
    return id


def test_attach_to_a_program_on_two_nodes(tmp_path: Path, ring: Path) -> None:
    id = run(tmp_path, across_nodes.attach(tmp_path, ring, "runs", REACHED))
    (found,) = across_nodes.recorded(tmp_path, "runs")
    assert found.header.scheduler["PBS_JOBID"] == id


def test_attach_with_mpich(tmp_path: Path) -> None:
    """Its mpiexec reads $PBS_NODEFILE by itself."""
    python = mpich_python()
    if python is None:
        pytest.skip("the wheel of MPICH cannot be had: no network?")
    program, mpicc = tmp_path / "ring", python.with_name("mpicc")
    subprocess.run((mpicc, "-o", program, PROGRAMS / "ring.c"), check=True, timeout=120)
    there = f"-launcher rsh -launcher-exec {HOME / 'agent'}"
    mpiexec = f"{python.with_name('mpiexec')} -n 2 -ppn 1 {there}"
    attach, words = f"{BIN / 'hindmost'} attach --mpicc {mpicc}", f"{program} 100 300000"
    lines = (
        f"cd '{tmp_path}'",
        f"export PYTHONPATH='{ROOT / 'src'}'",
        f"{mpiexec} {attach} --out inside -- {words}",
        f"{attach} --out around -- {mpiexec} {words}",
    )
    id = run(tmp_path, "\n".join(lines))
    for out in ("inside", "around"):
        (found,) = across_nodes.recorded(tmp_path, out)
        assert found.header.scheduler["PBS_JOBID"] == id
        assert found.header.mpi_library.startswith("MPICH")


def test_what_was_recorded_when_the_time_was_up(tmp_path: Path, ring: Path) -> None:
    lines = across_nodes.attach(tmp_path, ring, "runs", REACHED, steps=1_000_000)
    id = submit(tmp_path / "job", lines, *BOTH, "-l walltime=00:10:00")
    end = time.monotonic() + LIMIT_S
    while sum(part.stat().st_size for part in (tmp_path / "runs").glob("*.raw/*")) < ENOUGH:
        assert time.monotonic() < end, output(tmp_path / "job", id)
        time.sleep(0.5)
    server.ask("qalter", "-l", "walltime=00:00:01", id)
    job = wait([id], LIMIT_S)[id]
    assert job.state is JobState.TIME_LIMIT, job
    ask(tmp_path, "attach", "--convert", "runs")
    (found,) = (hindmost.open(path) for path in (tmp_path / "runs").glob("*.h5"))
    across_nodes.check_nodes(found)
    assert not found.header.complete
    assert found.bodies > 10
    assert found.header.scheduler["PBS_JOBID"] == id


def test_a_slow_link_is_named_and_foretold(tmp_path: Path, ring: Path) -> None:
    across_nodes.hold_to_slow_link(
        tmp_path,
        lambda out: across_nodes.attach(tmp_path, ring, out, REACHED),
        lambda lines: run(tmp_path, lines),
    )


def test_a_slow_node_is_named(tmp_path: Path, ring: Path) -> None:
    across_nodes.hold_to_slow_node(
        tmp_path,
        lambda out: across_nodes.attach(tmp_path, ring, out, REACHED),
        lambda lines: run(tmp_path, lines),
    )
