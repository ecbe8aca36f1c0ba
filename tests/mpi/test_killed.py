"""Ranks that are killed at any moment leave no file, a valid file, or one known as unfinished."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import BIN, Ranks

import hindmost
from hindmost.errors import DamagedFileError, NotARunFileError

pytestmark = pytest.mark.mpi

ROUNDS = 3
LONGEST_WAIT_S = 600


def ranks_of(launcher: int) -> list[int]:
    """Return the processes beneath a launcher that run hindmost, in the order of their start."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            )
        except OSError:
            continue
    beneath = {launcher}
    while True:
        more = {child for child, parent in parents.items() if parent in beneath} - beneath
        if not more:
            break
        beneath |= more
    ranks = []
    for process in sorted(beneath):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"/hindmost") for word in words) and b"python" in words[0]:
            ranks.append(process)
    return ranks


@pytest.mark.parametrize("rounds", [1, pytest.param(ROUNDS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("victims", ["one rank", "all ranks", "the launcher"])
def test_what_is_left_is_whole_or_known_as_unfinished(
    tmp_path: Path, victims: str, rounds: int
) -> None:
    random = np.random.default_rng(len(victims))
    out = tmp_path / "out"
    whole = 0
    for _ in range(rounds):
        process = subprocess.Popen(
            [BIN / "mpiexec", "-n", "2", BIN / "hindmost", "run", "diagonal", "--unknowns", "600",
             "--solver", "gmres", "--iterations", "3000", "--repeats", "400", "--out", out],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + LONGEST_WAIT_S
            before = len(list(out.glob("*.h5")))
            while len(list(out.glob("*.h5"))) == before and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(random.uniform(0.0, 0.3))
            ranks = ranks_of(process.pid)
            assert len(ranks) == 2
            doomed = {"one rank": ranks[:1], "all ranks": ranks, "the launcher": [process.pid]}
            for victim in doomed[victims]:
                os.kill(victim, signal.SIGKILL)
            # The launcher ends what is left; where it is gone itself, ranks may stay.
            if victims != "the launcher":
                assert process.wait(timeout=LONGEST_WAIT_S) != 0
        finally:
            for survivor in ranks_of(process.pid):
                os.kill(survivor, signal.SIGKILL)
            process.kill()
            process.wait()
            subprocess.run(["pkill", "-KILL", "-f", str(out)], check=False)
        for path in out.iterdir():
            if path.suffix == ".h5":
                run = hindmost.open(path)
                run.verify()
                assert run.bodies == 3000
                whole += 1
            elif path.suffix == ".raw":  # of the solve that was under way
                assert path.is_dir()
            else:
                assert path.name.endswith(".h5.part"), path
                with pytest.raises((DamagedFileError, NotARunFileError)) as caught:
                    hindmost.open(path)
                assert "unfinished" in str(caught.value)
    assert whole >= rounds


TERMINATED = """
import os, signal
from hindmost.harness import petsc
parallel = petsc.start()
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.solves.recorded import RecordedSolver
PETSc = parallel.PETSc
system = PROBLEMS["diagonal"].build(SystemRequest(unknowns=600), PETSc, PETSc.COMM_WORLD)
solver = RecordedSolver(SOLVERS["gmres"], system, iterations=200, preconditioner="none",
                        parallel=parallel)
solver.warm_up()
comm = PETSc.COMM_WORLD.tompi4py()
pids = comm.allgather(os.getpid())

def end(ksp, number, norm):
    if number == 100 and comm.rank == 0:  # MPICH kills the others once it has seen one end
        for pid in reversed(pids):
            os.kill(pid, signal.SIGTERM)

solver.ksp.setMonitor(end)
solver.record()
"""


def test_a_solve_that_is_terminated_keeps_its_iterations(ranks: Ranks, tmp_path: Path) -> None:
    assert ranks(2, script=TERMINATED).returncode != 0
    convert = [str(BIN / "hindmost"), "attach", "--convert", "solve-gmres.raw"]
    subprocess.run(convert, check=True, cwd=tmp_path)
    assert not (tmp_path / "solve-gmres.raw").exists()
    (path,) = tmp_path.glob("*.h5")
    run = hindmost.open(path)
    run.verify()
    assert 60 < run.bodies < 100  # whole cycles of 30
    assert "all ranks were ended by SIGTERM" in run.header.spec["failure"]
