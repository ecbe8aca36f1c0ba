"""Ranks on two nodes of a real Slurm that are hosts, with a network between them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.jobs.across_nodes import (
    OPEN_MPI,
    attach,
    check_nodes,
    hold_to_slow_link,
    hold_to_slow_node,
    hold_to_study_of_somebody_else,
)
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.conftest import start
from tests.jobs.slurm.waiting import submit, wait
from tests.jobs.whole_study import STUDY, collected_after_a_stop
from tests.programs.attaching import compiled

import hindmost
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.jobs.schedulers.slurm import SLURM

pytestmark = pytest.mark.slurm_slow

LIMIT_S = 120.0
TWO_NODES = ("--nodes=2", "--ntasks-per-node=1", "--time=3")
MACHINE = f"""
[machine.site]
scheduler = "slurm"
launcher = "mpiexec"
launch_args = ["--bind-to", "none"]  # a node is a core, its slurmd's
cores_per_node = 1
nodes = 2
setup = ["export PYTHONPATH='{ROOT / "src"}'"]
environment = {{{", ".join(f'{name} = "{value}"' for name, value in OPEN_MPI.items())}}}
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Cluster]:
    """Return a Slurm whose nodes are hosts."""
    started = start(hosts=True)
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def slurm(hosts: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this test's commands talk to that Slurm."""
    monkeypatch.setenv("SLURM_CONF", str(hosts.folder / "slurm.conf"))


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """Return a program whose ranks exchange messages and sums."""
    return compiled(tmp_path, "ring")


def run(folder: Path, lines: str) -> None:
    """Run a script on both nodes."""
    id = submit(folder / "job", lines, *TWO_NODES)
    job = wait([id], LIMIT_S)[id]
    assert job.state is JobState.COMPLETED, (job, (folder / "job" / f"{id}.out").read_text())


def test_a_study_on_both_nodes(tmp_path: Path) -> None:
    study, files = collected_after_a_stop(tmp_path, STUDY + MACHINE, SLURM, LIMIT_S)
    for row in files:
        run = hindmost.open(study.path / "collected" / row["file"])
        check_nodes(run)
        assert run.header.scheduler["SLURM_JOB_ID"] == row["job"]


def test_a_study_of_somebody_else(hosts: Cluster) -> None:
    for folder in (hosts.folder, hosts.folder.parent):
        folder.chmod(0o755)
    hold_to_study_of_somebody_else(STUDY + MACHINE, SLURM, LIMIT_S)


def test_a_slow_link_is_named_and_foretold(tmp_path: Path, ring: Path) -> None:
    hold_to_slow_link(
        tmp_path, lambda out: attach(tmp_path, ring, out), lambda lines: run(tmp_path, lines)
    )


def test_a_slow_node_is_named(tmp_path: Path, ring: Path) -> None:
    hold_to_slow_node(
        tmp_path, lambda out: attach(tmp_path, ring, out), lambda lines: run(tmp_path, lines)
    )
