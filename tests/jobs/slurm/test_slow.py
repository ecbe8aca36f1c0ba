"""What takes minutes of a real Slurm's time: limits, and daemons that die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.scripts import script
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.conftest import start
from tests.jobs.slurm.test_study import MACHINE
from tests.jobs.slurm.waiting import submit, wait
from tests.jobs.whole_study import STUDY, collected_after_a_stop, held, hold_to_no_answer

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.schedulers.slurm import SLURM

pytestmark = pytest.mark.slurm_slow

LIMIT_S = 120.0

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
