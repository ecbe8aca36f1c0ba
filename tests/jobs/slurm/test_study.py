"""A study on a real Slurm, as the README has it, from its submission to models of its runs."""

from pathlib import Path

import pytest
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.whole_study import STUDY, ask, collected_after_a_stop

import hindmost
from hindmost.jobs.schedulers.slurm import SLURM

SOURCE = Path(__file__).parents[3] / "src"
MACHINE = f"""
[machine.site]
scheduler = "slurm"
launcher = "mpiexec"
cores_per_node = 2
setup = ["export PYTHONPATH='{SOURCE}'"]
"""


@pytest.mark.mpi
def test_stopped_half_way_resumed_collected_and_modelled(slurm: Cluster, tmp_path: Path) -> None:
    study, files = collected_after_a_stop(tmp_path, STUDY + MACHINE, SLURM, 90.0)
    assert "no runs remain" in ask(tmp_path, "study", "submit", "solvers").stdout
    assert {file["job"] for file in files} == {job.job for job in study.jobs()}
    for row in files:
        run = hindmost.open(study.path / "collected" / row["file"])
        assert run.header.ranks == 2
        assert run.header.scheduler["SLURM_JOB_ID"] == row["job"]
        assert run.header.scheduler["HINDMOST_NODES"].split(",") == row["nodes"]
        assert row["nodes"] in (["n0"], ["n1"])
