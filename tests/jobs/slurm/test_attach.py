"""Programs under `hindmost attach` in allocations of a real Slurm: srun, mpiexec, a script."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import BIN, ROOT
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.mpich import mpich_python
from tests.jobs.slurm.waiting import submit, wait
from tests.programs.attaching import ATTACH, PROGRAMS, close_books, compiled, shared_petsc

import hindmost
from hindmost.harness.runfile.reader import Run
from hindmost.jobs.schedulers.scheduler import JobState

pytestmark = [
    pytest.mark.slurm_slow,
    pytest.mark.skipif(
        len(os.sched_getaffinity(0)) < 2, reason="two ranks on a node need two cores"
    ),
]

HINDMOST = BIN / "hindmost"
TWO_NODES = ("--nodes=2", "--ntasks-per-node=1", "--exclusive", "--time=3")


def batch(folder: Path, *commands: str, ranks: int = 2) -> tuple[list[Run], str]:
    """Run commands in an allocation of two nodes; return the runs and the output they leave."""
    path = shlex.quote(str(ROOT / "src"))
    lines = (f"cd {shlex.quote(str(folder))}", f"export PYTHONPATH={path}", "set -e", *commands)
    id = submit(folder / "job", "\n".join(lines), *TWO_NODES)
    job = wait([id], 120.0)[id]
    said = (folder / "job" / f"{id}.out").read_text()
    assert job.state is JobState.COMPLETED, (job, said)
    runs = [hindmost.open(path) for path in sorted((folder / "runs").glob("*.h5"))]
    assert not list((folder / "runs").glob("*.raw")), said
    for run in runs:
        assert run.header.ranks == ranks
        assert run.header.complete
        assert ranks == 1 or run.header.scheduler["SLURM_JOB_ID"] == id
        close_books(run)
    return runs, said


@pytest.fixture(scope="module")
def mpich() -> Path:
    """Return the folder of MPICH's commands."""
    python = mpich_python()
    if python is None:
        pytest.skip("the wheels of MPICH and mpi4py cannot be had: no network?")
    return python.parent


@pytest.fixture
def loop(mpich: Path, tmp_path: Path) -> Path:
    """Return a loop with marks, compiled with MPICH."""
    program = tmp_path / "loop"
    words = (mpich / "mpicc", "-o", program, PROGRAMS / "loop.c", f"-I{ATTACH}")
    subprocess.run(words, check=True, timeout=120)
    return program


def test_srun_starts_attach_on_every_rank(
    slurm: Cluster, mpich: Path, loop: Path, tmp_path: Path
) -> None:
    attach = f"{HINDMOST} attach --mpicc {mpich / 'mpicc'} --out runs"
    ((run,), _) = batch(tmp_path, f"srun --mpi=pmi2 {attach} -- {loop} header")
    assert run.durations.shape == (19, 2)
    assert run.phase("halo").sum() > 0


def test_processes_that_srun_starts_on_their_own(
    slurm: Cluster, mpich: Path, loop: Path, tmp_path: Path
) -> None:
    attach = f"{HINDMOST} attach --mpicc {mpich / 'mpicc'} --out runs"
    commands = (f"srun --mpi=none {attach} -- {loop} header", f"{HINDMOST} show runs")
    said = batch(tmp_path, *commands, ranks=1)[1]
    assert said.count("srun started 2 processes, but MPI in loop sees 1: each ran on its own") == 1


def test_attach_starts_srun(slurm: Cluster, mpich: Path, loop: Path, tmp_path: Path) -> None:
    """Python starts once, and its ranks on two nodes find all they need in the environment."""
    attach = f"{HINDMOST} attach --mpicc {mpich / 'mpicc'} --out runs"
    ((run,), _) = batch(tmp_path, f"{attach} -- srun --mpi=pmi2 {loop} header")
    assert run.durations.shape == (19, 2)


def test_a_script_that_sets_the_environment_itself(
    slurm: Cluster, mpich: Path, loop: Path, tmp_path: Path
) -> None:
    attach = f"{HINDMOST} attach --mpicc {mpich / 'mpicc'}"
    ((run,), _) = batch(
        tmp_path,
        f'eval "$({attach} --print env --out runs)"',
        f"srun --mpi=pmi2 {loop} pcontrol",
        "unset HINDMOST_ATTACH LD_PRELOAD",
        f"{attach} --convert runs",
    )
    assert run.durations.shape == (19, 2)


def test_what_was_recorded_when_the_time_was_up(
    slurm: Cluster, mpich: Path, tmp_path: Path
) -> None:
    """Slurm ends the job a minute after its start, with TERM and then KILL."""
    ring = tmp_path / "ring"
    words = (mpich / "mpicc", "-o", ring, PROGRAMS / "ring.c")
    subprocess.run(words, check=True, timeout=120)
    attach = f"{HINDMOST} attach --mpicc {mpich / 'mpicc'}"
    lines = (
        f"cd {shlex.quote(str(tmp_path))}",
        f"export PYTHONPATH={shlex.quote(str(ROOT / 'src'))}",
        f"srun --mpi=pmi2 {attach} --out runs -- {ring} 1000000 300000",
    )
    id = submit(tmp_path / "job", "\n".join(lines), "--nodes=2", "--ntasks-per-node=1", "--time=1")
    job = wait([id], 240.0)[id]
    assert job.state is JobState.TIME_LIMIT, job
    subprocess.run((HINDMOST, "attach", "--convert", tmp_path / "runs"), check=True, timeout=120)
    (run,) = (hindmost.open(path) for path in (tmp_path / "runs").glob("*.h5"))
    assert run.header.ranks == 2
    assert not run.header.complete
    assert run.bodies > 10
    assert run.header.scheduler["SLURM_JOB_ID"] == id


def test_mpiexec_starts_attach_on_every_rank(slurm: Cluster, tmp_path: Path) -> None:
    petsc = shared_petsc()
    solves = compiled(tmp_path, "solves", petsc, f"-Wl,-rpath,{petsc.parent}")
    mpiexec = Path(sys.prefix) / "bin" / "mpiexec"
    runs, _ = batch(tmp_path, f"{mpiexec} -n 2 {HINDMOST} attach --out runs -- {solves} well")
    assert sum(run.header.spec["attached"]["solves"] for run in runs) == 3


def test_a_site_records_the_jobs_that_ask_for_it(
    slurm: Cluster, mpich: Path, loop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its prolog of tasks and its epilog of jobs; its folder has the finding."""
    scripts, recorders = tmp_path / "always-on", tmp_path / "recorders"
    shutil.copytree(ROOT / "packaging" / "always-on", scripts)
    for script in scripts.glob("slurm-*.sh"):  # adapted, as a site does
        text = script.read_text().replace("/opt/hindmost/bin/hindmost", str(HINDMOST))
        script.write_text(text.replace("/opt/hindmost/always-on", str(scripts)))
    build = (HINDMOST, "doctor", "--build-recorders", recorders, "--mpicc", mpich / "mpicc")
    subprocess.run(build, check=True, timeout=120)
    monkeypatch.chdir(tmp_path)
    conf = slurm.folder / "slurm.conf"
    before = conf.read_text()
    conf.write_text(
        f"{before}TaskProlog={scripts}/slurm-task-prolog.sh\nEpilog={scripts}/slurm-epilog.sh\n"
    )
    slurm.call("scontrol", "reconfigure")
    try:
        lines = (
            f"export HINDMOST_COMMAND={HINDMOST} HINDMOST_RECORDERS={recorders}",
            f"HINDMOST=1 srun --mpi=pmi2 {loop} header",
            f"srun --mpi=pmi2 {loop} header",
        )
        id = submit(tmp_path / "job", "\n".join(lines), *TWO_NODES)
        assert wait([id], 120.0)[id].state is JobState.COMPLETED
        folder = tmp_path / f"hindmost-{id}"
        deadline = time.monotonic() + 60.0
        while not (finding := text_of(folder)) and time.monotonic() < deadline:
            time.sleep(0.5)
    finally:
        conf.write_text(before)
        slurm.call("scontrol", "reconfigure")
    assert [path.name for path in folder.glob("*.h5")] == ["loop-loop-p2-0.h5"]
    assert "19 iterations of its loop" in finding


def text_of(folder: Path) -> str:
    path = folder / "finding.txt"
    return path.read_text() if path.exists() else ""
