"""What takes minutes of a real Slurm's time: limits, daemons that die, memories, accounts."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.scripts import script
from tests.jobs.slurm.cluster import ACCOUNT_PROGRAMS, CannotStartError, Cluster, lacking
from tests.jobs.slurm.conftest import start
from tests.jobs.slurm.test_study import MACHINE
from tests.jobs.slurm.waiting import submit, wait
from tests.jobs.whole_study import STUDY, collected_after_a_stop, held, hold_to_no_answer

from hindmost.errors import UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.schedulers.slurm import SLURM

pytestmark = pytest.mark.slurm_slow

LIMIT_S = 120.0
FORGOTTEN_S = 150.0
"""Slurm looks once a minute for jobs that are older than MinJobAge."""

Start = Callable[..., Cluster]

DRIVER = """\
#!/usr/bin/env -S python3 -u
import signal, sys, time
begun = time.time()
def told(number, frame):
    print(signal.Signals(number).name, round(time.time() - begun), flush=True)
    if {leaves} and number == signal.SIGUSR1:
        sys.exit(75)
signal.signal(signal.SIGUSR1, told)
signal.signal(signal.SIGTERM, told)
print("ready", flush=True)
while True:
    time.sleep(0.2)
"""


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return what starts another Slurm, which commands of this test talk to."""
    started: list[Cluster] = []

    def begin(**choices: Any) -> Cluster:
        started.append(start(**choices))
        monkeypatch.setenv("SLURM_CONF", str(started[-1].folder / "slurm.conf"))
        return started[-1]

    yield begin
    for each in started:
        each.stop()


def submit_driver(folder: Path, *, leaves: bool) -> str:
    """Submit our script with a driver that tells of its signals in the interpreter's place."""
    study = folder / f"leaves-{leaves}"
    (study / "output").mkdir(parents=True)
    stands_for_python = study / "python"
    stands_for_python.write_text(DRIVER.format(leaves=leaves))
    stands_for_python.chmod(0o755)
    machine = MachineProfile(
        name="test",
        scheduler="slurm",
        launcher="srun",
        exclusive=False,
        python=str(stands_for_python),
    )
    path = study / "script.sh"
    path.write_text(
        SLURM.render(
            script(
                machine,
                folder=study,
                id="a",
                nodes=1,
                ranks_per_node=1,
                walltime_s=60.0,
                stop_before_s=20.0,
            )
        )
    )
    return SLURM.submit(path)


def test_time_limits(slurm: Cluster, tmp_path: Path) -> None:
    stubborn = submit_driver(tmp_path, leaves=False)
    leaving = submit_driver(tmp_path, leaves=True)
    found = wait([stubborn, leaving], 150.0)
    assert found[stubborn].state is JobState.TIME_LIMIT, found
    assert found[leaving].state is JobState.LEFT, found
    # The warning reaches the driver, which took the shell's place, before the end does.
    for id, leaves, words in (
        (stubborn, False, ["ready", "SIGUSR1", "SIGTERM"]),
        (leaving, True, ["ready", "SIGUSR1"]),
    ):
        output = tmp_path / f"leaves-{leaves}" / "output" / f"a-{id}.out"
        lines = output.read_text().splitlines()
        said = [line.split()[0] for line in lines if line.startswith(("ready", "SIG"))]
        assert said == words, lines


def test_a_node_that_dies(another: Start, tmp_path: Path) -> None:
    cluster = another()
    id = submit(tmp_path / "x", "exec sleep 200", "--nodelist=n1", "--no-requeue")
    wait([id], while_in=frozenset({JobState.PENDING}))
    cluster.kill_node("n1")
    job = wait([id], 90.0)[id]
    assert job.state is JobState.NODE_FAILED, job
    assert "exit 0:0" in job.reason  # which is why the exit status is not asked


@pytest.mark.mpi
def test_a_study_whose_controller_dies_meanwhile(another: Start, tmp_path: Path) -> None:
    """There are no accounts, and squeue soon forgets what has ended."""
    cluster = another(min_job_age_s=2)

    def meanwhile() -> None:
        cluster.kill("slurmctld")
        hold_to_no_answer(tmp_path)
        cluster.start_controller()

    text = held(STUDY + MACHINE, tmp_path)
    collected_after_a_stop(tmp_path, text, SLURM, LIMIT_S, meanwhile=meanwhile, forgets=True)


def test_jobs_that_slurm_forgot_without_accounts(another: Start, tmp_path: Path) -> None:
    another(min_job_age_s=2)
    id = submit(tmp_path / "x", "exit 0")
    known = frozenset(JobState) - {JobState.UNKNOWN}
    assert wait([id])[id].state is JobState.COMPLETED
    assert wait([id], FORGOTTEN_S, while_in=known)[id].state is JobState.UNKNOWN


def test_accounts_remember(another: Start, tmp_path: Path) -> None:
    if missing := lacking(ACCOUNT_PROGRAMS):
        pytest.skip(f"accounts need slurmdbd and mariadb-server (no {missing[0]})")
    cluster = another(accounts=True, min_job_age_s=2)
    folder = tmp_path / "x"
    failed = submit(folder, "exit 7")
    asleep = submit(folder, "exec sleep 100")
    waiting = submit(folder, "exit 0", f"--dependency=afterany:{asleep}")
    given_up = submit(
        folder, "exit 0", f"--dependency=afterok:{failed}", "--kill-on-invalid-dep=yes"
    )
    ids = {
        submit(folder, "exit 0"): JobState.COMPLETED,
        failed: JobState.FAILED,
        submit(folder, "exit 75"): JobState.LEFT,
        given_up: JobState.DEPENDENCY,
        asleep: JobState.CANCELLED,
        waiting: JobState.CANCELLED,
        "99999": JobState.UNKNOWN,
    }
    with pytest.raises(UsageError, match=r"sbatch refused .*Invalid account"):
        submit(folder, "exit 0", "--account=nobody")
    wait([asleep], while_in=frozenset({JobState.PENDING}))
    SLURM.cancel([waiting, asleep])
    wait(list(ids))
    end = time.monotonic() + FORGOTTEN_S
    while cluster.call("squeue", "--noheader", "--states=all")[1].strip():
        assert time.monotonic() < end, "Slurm does not forget"
        time.sleep(1)
    found = SLURM.query(list(ids))
    assert {id: job.state for id, job in found.items()} == ids, found
    assert "no such job" in found["99999"].reason


def test_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        cluster = Cluster(nodes=1, cgroups=True)
    except CannotStartError as error:
        pytest.skip(f"no memory limits on this machine: {str(error).splitlines()[0]}")
    try:
        monkeypatch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
        greedy = 'exec python3 -c "x = bytearray(600 << 20); print(len(x))"'
        id = submit(tmp_path / "x", greedy, "--mem=60")
        job = wait([id], 60.0)[id]
        assert job.state is JobState.MEMORY, (job, (tmp_path / "x" / f"{id}.out").read_text())
    finally:
        cluster.stop()
