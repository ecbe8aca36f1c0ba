"""The private Slurm itself: it leaves nothing behind, however a test run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT
from tests.jobs.slurm import daemons
from tests.jobs.slurm.cluster import Cluster

# A test run of its own, with a job that runs.
RUN = """
import sys, time
from tests.jobs.slurm.cluster import Cluster
cluster = Cluster()
cluster.call("sbatch", "--output=/dev/null", "--wrap", "trap '' TERM; sleep 300")
while "R" not in cluster.call("squeue", "--noheader", "--format=%t")[1]:
    time.sleep(0.1)
print(cluster.folder, cluster._guard.pid, flush=True)
time.sleep(300)
"""


def killed_run(*, guard_too: bool) -> Path:
    """Kill a test run that has a Slurm, and return the folder of that."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as run:
        assert run.stdout is not None
        folder, guard = run.stdout.readline().split()
        names = [name for _, name in daemons.processes(Path(folder))]
        assert {"munged", "slurmctld", "slurmd"} <= set(names)
        assert any(name not in ("munged", "slurmctld", "slurmd") for name in names)
        if guard_too:
            os.kill(int(guard), signal.SIGKILL)
        run.kill()
    return Path(folder)


def test_a_killed_run_leaves_nothing(slurm: Cluster) -> None:
    folder = killed_run(guard_too=False)
    end = time.monotonic() + 20
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert list(daemons.processes(folder)) == []
    assert not folder.exists()
    assert slurm.idle_nodes() == 2  # one beside it is left alone


def test_the_next_start_ends_what_was_left(slurm: Cluster) -> None:
    folder = killed_run(guard_too=True)
    assert list(daemons.processes(folder)) != []
    daemons.stop_orphans()
    assert list(daemons.processes(folder)) == []
    assert not folder.exists()
    assert slurm.idle_nodes() == 2


def test_without_slurm_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    here = {**os.environ, "PATH": str(tmp_path), "HINDMOST_TEST_SLURM_PATH": str(tmp_path)}
    for ci, status, word in (("", 0, "SKIPPED [1]"), ("true", 1, "CI wants a real Slurm")):
        done = subprocess.run(
            [
                *words,
                "-k",
                "test_state_and_reason or test_what_slurm_refuses",
                Path(__file__).parent,
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**here, "CI": ci},
        )
        assert done.returncode == status, done.stdout
        assert word in done.stdout
        assert "sudo apt-get install" in done.stdout
        if not ci:
            assert done.stdout.count("sudo apt-get install") == 1, done.stdout
