"""The recorder in its process: when it may come, what it counts, its clock and its memory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import BIN, Ranks, starter
from tests.mpi.test_recording import assert_books_close
from tests.programs.attaching import compiled

import hindmost
from hindmost.harness.recorder.build import recorder_library

pytestmark = pytest.mark.mpi

LOSING = ("cg", "gmres", "pgmres", "pipebcgs")
SOLVES = """
import json
from pathlib import Path
import numpy as np
from hindmost.harness import petsc
parallel = petsc.start()
from hindmost.harness.campaign import run_campaign
from hindmost.harness.solves import recorded as solve
from hindmost.harness.solves.experiment import KrylovExperiment
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.library import load
PETSc = parallel.PETSc
system = PROBLEMS["laplacian-1d"].build(SystemRequest(unknowns=3000), PETSc, PETSc.COMM_WORLD)
counted = {}
for name in SOLVERS.names:
    solver = solve.RecordedSolver(SOLVERS[name], system, iterations=45, preconditioner="jacobi",
                                  parallel=parallel)
    bodies = solver.record()[0].bodies
    norms = bodies.residual_norm[np.isfinite(bodies.residual_norm)]
    counted[name] = [int((bodies.kind != 1).sum()), solver.ksp.getIterationNumber(),
                     float(norms[-1]), solver.ksp.getResidualNorm()]

def files_of(solvers, unknowns, out):
    plan = KrylovExperiment(workload="laplacian-1d", solvers=solvers,
                            system=SystemRequest(unknowns=unknowns),
                            iterations=300, repeats=1, warmup=1, seed=0)
    return [str(finished.file) for finished in run_campaign(plan, Path(out), parallel)]

enough = solve.SPARE_RECORDS, solve.ROOM
solve.SPARE_RECORDS, solve.ROOM = 0, 0.5
losing = files_of(LOSING, 5000, "losing")
solve.SPARE_RECORDS, solve.ROOM = enough
load().hindmost_shift_clock(int(3e9) * parallel.communicator.rank)
shifted = files_of(("gmres",), 2000, "shifted")
if parallel.communicator.rank == 0:
    print(json.dumps({"counted": counted, "losing": losing, "shifted": shifted}))
""".replace("LOSING", repr(LOSING))


@pytest.fixture(scope="module")
def solves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return the folder of runs, and their files and what was counted."""
    folder = tmp_path_factory.mktemp("solves")
    done = starter(folder)(2, script=SOLVES)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_running_iteration_is_petscs_own(solves: tuple[Path, dict[str, Any]]) -> None:
    for name, (iteration, petscs, norm, petscs_norm) in solves[1]["counted"].items():
        assert iteration == petscs == 45, name
        assert norm == pytest.approx(petscs_norm), name


def test_a_clock_that_is_wrong_is_found_and_put_right(
    solves: tuple[Path, dict[str, Any]],
) -> None:
    folder, told = solves
    (file,) = told["shifted"]
    run = hindmost.open(folder / file)
    offset, uncertainty = run.variable("clock_offset"), run.variable("clock_uncertainty")
    assert offset[0] == 0
    assert 0 < uncertainty[1] < 1e-3
    assert abs(offset[1] + 3.0) <= 2 * uncertainty[1]
    # Bodies end with a reduction, so no rank begins one before all others have begun the last.
    starts = run.starts
    assert (starts[1:].min(axis=1) > starts[:-1].max(axis=1) - 2 * uncertainty[1]).all()
    assert_books_close(run)


def test_clocks_agree_over_several_steps(tmp_path: Path) -> None:
    """Of seven ranks the farthest is three steps from rank 0, and each has another clock."""
    program = compiled(tmp_path, "clocks", "-ldl")
    words: list[str | Path] = [BIN / "mpiexec", "-n", "7", program, recorder_library()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found = [tuple(int(word) for word in line.split()) for line in done.stdout.splitlines()]
    assert len(found) == 7
    for error, off_ns, uncertainty_ns in found:
        assert not error
        assert abs(off_ns) <= uncertainty_ns
    assert (0, 0, 0) in found
    assert [uncertainty_ns for _, _, uncertainty_ns in found].count(0) == 1


def test_lost_records_make_a_run_incomplete(solves: tuple[Path, dict[str, Any]]) -> None:
    folder, told = solves
    runs = {run.header.solver: run for run in map(hindmost.open, (folder / "losing").glob("*.h5"))}
    assert len(told["losing"]) == len(runs)
    assert runs.keys() == set(LOSING)
    for solver, run in runs.items():
        assert not run.header.complete
        assert run.header.records_lost > 0
        if "gmres" in solver:
            assert run.bodies % (32 if solver == "pgmres" else 30) == 0
        assert 0.3 * 300 < run.bodies < 0.6 * 300 * (32 / 30)
        assert_books_close(run)


ONE_MPI = """
import sys
order = sys.argv[1:]
from hindmost.harness.recorder.library import load
load()
for name in order:
    __import__(name)
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "/libmpi.so" in line}
print(len(mapped), *mapped)
"""


@pytest.mark.parametrize("order", ["mpi4py.MPI petsc4py.PETSc", "petsc4py.PETSc mpi4py.MPI"])
def test_there_is_one_mpi_in_the_process(ranks: Ranks, order: str) -> None:
    done = ranks(1, *order.split(), script=ONE_MPI)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "1", done.stdout
