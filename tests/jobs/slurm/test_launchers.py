"""Launchers inside an allocation of a real Slurm: which rank is on which node and processor."""

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.mpich import mpich_python
from tests.jobs.slurm.waiting import submit, wait

from hindmost.jobs.schedulers.scheduler import JobState

CORES = len(os.sched_getaffinity(0))
LAUNCHES = Path(__file__).with_name("launches.py")
SOURCE = Path(__file__).parents[3] / "src"

pytestmark = pytest.mark.skipif(CORES < 2, reason="two ranks on a node need two cores")


def launch(python: Path, folder: Path, *launches: dict[str, Any]) -> list[dict[str, Any]]:
    """Do launches in one allocation of two nodes, and return what came of each."""
    asked, told = folder / "asked.json", folder / "told.json"
    asked.write_text(json.dumps([{"cores": CORES, **launch} for launch in launches]))
    words = shlex.join(map(str, (python, LAUNCHES, asked, told)))
    command = f"export PYTHONPATH={shlex.quote(str(SOURCE))} OMP_NUM_THREADS=1\nexec {words}"
    whole = ("--nodes=2", f"--ntasks-per-node={CORES}", "--exclusive", "--time=3")
    id = submit(folder / "job", command, *whole)
    job = wait([id], 90.0)[id]
    assert job.state is JobState.COMPLETED, (job, (folder / "job" / f"{id}.out").read_text())
    return list(json.loads(told.read_text()))


def on(launcher: str, ranks: int, ranks_per_node: int, nodes: int, **more: Any) -> dict[str, Any]:
    machine = {"launcher": launcher, **more}
    numbers = {"ranks": ranks, "ranks_per_node": ranks_per_node, "nodes": nodes}
    return {"machine": machine, **numbers}


def places(result: dict[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    """Return node and processors of every rank."""
    assert result["status"] == 0, result
    told = json.loads(result["out"].splitlines()[-1])
    found = sorted(told["places"])
    assert [rank for rank, _, _ in found] == list(range(len(found)))
    return [(node, tuple(cpus)) for _, node, cpus in found]


def assert_bound(found: list[tuple[str, tuple[int, ...]]]) -> None:
    """Hold that every rank has one processor, and no two of a node the same."""
    assert all(len(cpus) == 1 for _, cpus in found), found
    assert len(set(found)) == len(found), found


@pytest.fixture(scope="module")
def mpich() -> Path:
    python = mpich_python()
    if python is None:
        pytest.skip("the wheels of MPICH and mpi4py cannot be had: no network?")
    return python


def test_srun_with_mpich(slurm: Cluster, mpich: Path, tmp_path: Path) -> None:
    spread, full, uneven, one, alone, singletons = launch(
        mpich,
        tmp_path,
        on("srun", 2, 1, 2),
        on("srun", 4, 2, 2),
        on("srun", 3, 2, 2),
        on("srun", 2, 2, 1),
        on("srun", 1, 1, 1),
        on(
            "template",
            2,
            1,
            2,
            launch_template=["srun", "--mpi=none", "--nodes={nodes}", "--ntasks={ranks}"],
        ),
    )
    assert [node for node, _ in places(spread)] == ["n0", "n1"]
    assert [node for node, _ in places(full)] == ["n0", "n0", "n1", "n1"]
    assert [node for node, _ in places(uneven)] == ["n0", "n0", "n1"]
    assert [node for node, _ in places(one)] == ["n0", "n0"]
    for each in (spread, full, uneven, one, alone):
        assert_bound(places(each))
    # Slurm is content with two worlds of one rank each; a run is not.
    assert singletons["status"] == 0
    refusals = [json.loads(line)["refused"] for line in singletons["out"].splitlines()]
    assert len(refusals) == 2
    assert all("srun started 2 processes, but MPI sees 1" in refusal for refusal in refusals)


def test_mpiexec_of_mpich(slurm: Cluster, mpich: Path, tmp_path: Path) -> None:
    spread, full, one = launch(
        mpich,
        tmp_path,
        on("mpiexec", 2, 1, 2),
        on("mpiexec", 4, 2, 2),
        on("mpiexec", 2, 2, 1),
    )
    assert [node for node, _ in places(spread)] == ["n0", "n1"]
    assert [node for node, _ in places(full)] == ["n0", "n0", "n1", "n1"]
    assert [node for node, _ in places(one)] == ["n0", "n0"]
    for each in (spread, full, one):
        assert_bound(places(each))


def test_mpiexec_of_this_environment(slurm: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    # Two ranks a node on both nodes are more than Open MPI's shared memory takes where the nodes
    # are one machine.
    spread, one = launch(
        Path(sys.executable), tmp_path, on("mpiexec", 2, 1, 2), on("mpiexec", 2, 2, 1)
    )
    assert [node for node, _ in places(spread)] == ["n0", "n1"]
    assert [node for node, _ in places(one)] == ["n0", "n0"]
    for each in (spread, one):
        assert_bound(places(each))
