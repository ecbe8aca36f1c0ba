"""Commands of the analysis whose work ranks on two nodes of a real Slurm share."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.analysis.history.planted import noise, stepped, write_nights
from tests.analysis.scaling.experiments import TRUTH, write_text
from tests.conftest import BIN, ROOT
from tests.jobs.slurm.cluster import Cluster
from tests.jobs.slurm.waiting import submit, wait

from hindmost.cli import main
from hindmost.jobs.schedulers.scheduler import JobState

pytestmark = [
    pytest.mark.slurm_slow,
    pytest.mark.skipif(
        len(os.sched_getaffinity(0)) < 2, reason="two ranks on a node need two cores"
    ),
]

NIGHTS = 30
TWO_NODES = ("--nodes=2", "--ntasks-per-node=1", "--exclusive", "--time=5")
WHERE = """
import os
from hindmost.harness.launch import assigned_rank
from hindmost.harness.shared_work import perform_shared

def node(number):
    return os.environ["SLURMD_NODENAME"]

def perform(executor):
    print(node(0), *executor.map(node, range(3)), flush=True)
    return 0

if __name__ == "__main__":
    perform_shared(perform, assigned_rank())
"""


@pytest.fixture(params=["mpiexec", "srun"])
def launcher(request: pytest.FixtureRequest) -> str:
    """Return the words that start a rank on each of two nodes."""
    pytest.importorskip("mpi4py")
    mpiexec = BIN / "mpiexec"
    if request.param == "mpiexec":
        return f"{mpiexec} -n 2"
    about = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=True)
    if "HYDRA" not in about.stdout:
        pytest.skip("srun starts the ranks of an MPICH; the Open MPI of this stack lacks its PMI")
    return "srun --mpi=pmi2"


@pytest.fixture
def batch(slurm: Cluster, tmp_path: Path) -> Callable[..., None]:
    """Return what runs commands in one allocation of two nodes."""

    def run(*commands: str) -> None:
        path = shlex.quote(f"{ROOT / 'src'}:{ROOT}")
        lines = (f"cd {shlex.quote(str(tmp_path))}", f"export PYTHONPATH={path}", "set -e")
        id = submit(tmp_path / "job", "\n".join((*lines, *commands)), *TWO_NODES)
        job = wait([id], 240.0)[id]
        said = (tmp_path / "job" / f"{id}.out").read_text()
        assert job.state is JobState.COMPLETED, (job, said)

    return run


def test_two_nodes_give_the_answer_of_one_process_to_the_bit(
    launcher: str,
    batch: Callable[..., None],
    tmp_path: Path,
    run_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "where.py").write_text(WHERE)
    experiment = write_text(tmp_path / "e.txt", TRUTH, noise=0.02, repetitions=3, seed=3)
    cases = {
        "ice_np4": {"Total Time:": stepped(0)[:NIGHTS]},
        "fire_np4": {"Total Time:": noise(1, NIGHTS), "Solve:": noise(2, NIGHTS)},
    }
    write_nights(tmp_path / "nights", cases, range(NIGHTS))
    commands = {
        "whatif": ["whatif", str(run_file), "--noise", "exponential:mean=1ms", "--json"],
        "scale": ["scale", str(experiment), "--json"],
        "history": ["history", str(tmp_path / "nights"), "--json"],
    }
    batch(
        f"{launcher} {shlex.quote(sys.executable)} where.py > where.txt",
        *(
            f"{launcher} {BIN / 'hindmost'} {shlex.join(words)} > {name}.json"
            for name, words in commands.items()
        ),
    )
    # Rank 0 performs the command on the first node, and the second does what it hands out.
    assert (tmp_path / "where.txt").read_text().split() == ["n0", "n1", "n1", "n1"]
    for name, words in commands.items():
        main(words)
        assert (tmp_path / f"{name}.json").read_text() == capsys.readouterr().out, name
