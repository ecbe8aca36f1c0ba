"""What became of jobs of a real Slurm."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.jobs.scripts import ARCHER, script
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.waiting import submit, wait

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.schedulers.scheduler import Job, JobState
from hindmost.jobs.schedulers.slurm import SLURM

NEVER_WAS = "999999"


@pytest.fixture(scope="module")
def jobs(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Job]]:
    """Return jobs that end in all the ways that need no waiting, by what they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(cluster.folder / "slurm.conf"))
        folder = tmp_path_factory.mktemp("jobs")
        failed = submit(folder, "exit 7")
        asleep = submit(folder, "exec sleep 60", "--nodelist=n1")
        waiting = submit(folder, "exit 0", f"--dependency=afterany:{asleep}")
        dropped = submit(folder, "exit 0", f"--dependency=afterany:{asleep}")
        ids = {
            "done": submit(folder, "exit 0"),
            "failed": failed,
            "left": submit(folder, "exit 75"),
            "killed": submit(folder, "kill -SEGV $$"),
            "too many nodes": submit(folder, "exit 0", "--nodes=9"),
            "too long": submit(folder, "exit 0", "--time=5-0"),
            "held": submit(folder, "exit 0", "--hold"),
            "never to begin": submit(folder, "exit 0", f"--dependency=afterok:{failed}"),
            "given up": submit(
                folder, "exit 0", f"--dependency=afterok:{failed}", "--kill-on-invalid-dep=yes"
            ),
        }
        ended = wait(list(ids.values()))
        held_back = SLURM.query([waiting])[waiting]
        wait([asleep], while_in=frozenset({JobState.PENDING}))
        running = SLURM.query([asleep])[asleep]
        SLURM.cancel([NEVER_WAS, asleep, dropped, ids["done"]])
        cancelled = wait([asleep, dropped])
        yield {
            **{name: ended[id] for name, id in ids.items()},
            "running": running,
            "waiting": held_back,
            "cancelled": cancelled[asleep],
            "dropped": cancelled[dropped],
            "unknown": SLURM.query([NEVER_WAS])[NEVER_WAS],
            "one of many": SLURM.query([failed, NEVER_WAS, ids["done"]])[NEVER_WAS],
            "done still": SLURM.query([ids["done"]])[ids["done"]],
        }
        SLURM.cancel([waiting, dropped, *ids.values()])


@pytest.mark.parametrize(
    ("name", "state", "reason"),
    [
        ("done", JobState.COMPLETED, "COMPLETED, exit 0:0"),
        ("done still", JobState.COMPLETED, "COMPLETED, exit 0:0"),
        ("failed", JobState.FAILED, "FAILED, NonZeroExitCode, exit 7:0"),
        ("left", JobState.LEFT, "FAILED, NonZeroExitCode, exit 75:0"),
        ("killed", JobState.FAILED, "exit 0:11"),
        ("too many nodes", JobState.STUCK, "PENDING, PartitionConfig"),
        ("too long", JobState.STUCK, "PENDING, PartitionTimeLimit"),
        ("held", JobState.STUCK, "PENDING, JobHeldUser"),
        ("never to begin", JobState.DEPENDENCY, "DependencyNeverSatisfied"),
        ("given up", JobState.DEPENDENCY, "DependencyNeverSatisfied"),
        ("running", JobState.RUNNING, "RUNNING"),
        ("waiting", JobState.PENDING, "PENDING, Dependency"),
        ("cancelled", JobState.CANCELLED, "CANCELLED"),
        ("dropped", JobState.CANCELLED, "CANCELLED"),
        ("unknown", JobState.UNKNOWN, "accounting storage is disabled"),
        ("one of many", JobState.UNKNOWN, "unknown to Slurm"),
    ],
)
def test_state_and_reason(jobs: dict[str, Job], name: str, state: JobState, reason: str) -> None:
    job = jobs[name]
    assert (job.state, reason in job.reason) == (state, True), job
    if state is JobState.RUNNING:
        assert job.nodes == "n1"


def test_our_script_in_a_folder_of_any_name(slurm: Cluster, tmp_path: Path) -> None:
    # Slurm reads quotes, percent signs and hashes in directives in a way of its own.
    folder = tmp_path / 'it\'s 100 %j & #1 "ü"'
    (folder / "output").mkdir(parents=True)
    stands_for_python = tmp_path / "python"
    stands_for_python.write_text('#!/bin/bash\nprintf "%s\\n" "$@" "$NOTE"\nexit 75\n')
    stands_for_python.chmod(0o755)
    machine = replace(
        ARCHER,
        partition="debug",
        account="",
        qos="",
        constraint="",
        directives=(),
        setup=(),
        python=str(stands_for_python),
    )
    path = folder / "a.sh"
    path.write_text(
        SLURM.render(script(machine, folder=folder, id="a b", ranks_per_node=1, walltime_s=60.0))
    )
    id = SLURM.submit(path)
    assert wait([id])[id].state is JobState.LEFT
    # The file and the state come by different ways.
    told = (folder / "output" / f"a b-{id}.out").read_text()
    assert told == f"-P\n-m\nhindmost\nstudy\ndrive\n{folder}\na b\n{machine.environment['NOTE']}\n"


def test_cancelling_tells_the_driver(slurm: Cluster, tmp_path: Path) -> None:
    # It takes the shell's place, and Slurm must find it there.
    driver = (
        "exec python3 -uc 'import signal, sys, time\n"
        'signal.signal(signal.SIGTERM, lambda *_: (print("told"), sys.exit(75)))\n'
        'print("ready")\ntime.sleep(60)\''
    )
    id = submit(tmp_path / "x", driver)
    output = tmp_path / "x" / f"{id}.out"
    wait([id], while_in=frozenset({JobState.PENDING}))
    for _ in range(100):
        if output.exists() and "ready" in output.read_text():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    SLURM.cancel([id])
    assert wait([id])[id].state is JobState.CANCELLED
    assert "told" in output.read_text()


def test_what_slurm_refuses(slurm: Cluster, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"sbatch refused .*[Ii]nvalid partition"):
        submit(tmp_path / "x", "exit 0", "--partition=gpu")


def test_a_slurm_that_does_not_answer_is_no_answer(
    slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (slurm.folder / "slurm.conf").read_text()
    gone = tmp_path / "slurm.conf"
    gone.write_text(
        text.replace(f"SlurmctldPort={slurm.ports[0]}", "SlurmctldPort=1\nMessageTimeout=1")
    )
    monkeypatch.setenv("SLURM_CONF", str(gone))
    with pytest.raises(MissingError, match="squeue"):
        SLURM.query(["1"])
