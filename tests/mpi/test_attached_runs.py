"""A program that knows nothing of hindmost, from its solves to the sentences about it."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import BIN, starter

import hindmost
from hindmost.analysis.runs.attached import attached_programs
from hindmost.cli import main
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

PROGRAM = """
import json, sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc

def system(comm, unknowns):
    matrix = PETSc.Mat().createAIJ([unknowns, unknowns], nnz=3, comm=comm)
    for row in range(*matrix.getOwnershipRange()):
        for column in range(max(row - 1, 0), min(row + 2, unknowns)):
            matrix[row, column] = 2.0 if row == column else -1.0
    matrix.assemble()
    x, b = matrix.createVecs()
    b.set(1.0)
    return matrix, x, b

def solver(kind, matrix, most, pc, prefix=None):
    ksp = PETSc.KSP().create(matrix.comm)
    ksp.setOptionsPrefix(prefix)
    ksp.setOperators(matrix)
    ksp.setType(kind)
    ksp.getPC().setType(pc)
    ksp.setTolerances(rtol=1e-6, max_it=most)
    ksp.setFromOptions()
    return ksp

matrix, x, b = system(PETSc.COMM_WORLD, 200)
counts = {}
for kind, pc, prefix in (
    ("gmres", "none", "u_"), ("pgmres", "none", "p_"), ("pipecg", "none", "c_"),
    ("cg", "gamg", "mg_"), ("lgmres", "jacobi", "l_"),
):
    ksp = solver(kind, matrix, 70, pc, prefix)
    counts[prefix] = []
    for right in (1.0, 1.0, 0.0, 1.0):  # the third has nothing to solve
        b.set(right)
        x.set(0.0)
        ksp.solve(b, x)
        counts[prefix].append(ksp.getIterationNumber())
alone = system(PETSc.COMM_SELF, 30)
solver("cg", alone[0], 70, "none", "s_").solve(alone[2], alone[1])
if PETSc.COMM_WORLD.rank == 0:
    print(json.dumps(counts))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[int]]]:
    """Return the folder of the run files of a program, and the iterations that PETSc counted."""
    folder = tmp_path_factory.mktemp("attached")
    (folder / "app.py").write_text(PROGRAM)
    done = starter(folder)(2, "attach", "--out", "runs", "--", BIN / "python", "app.py")
    assert done.returncode == 0, done.stderr
    return folder / "runs", json.loads(done.stdout)


def runs_in(folder: Path) -> dict[str, list[Run]]:
    """Return the runs by the prefix of their solver's options."""
    runs: dict[str, list[Run]] = {}
    for path in sorted(folder.glob("*.h5")):
        run = hindmost.open(path)
        runs.setdefault(run.header.spec["attached"]["prefix"], []).append(run)
    return runs


def test_every_solve_has_the_iterations_that_petsc_counts(
    recorded: tuple[Path, dict[str, list[int]]],
) -> None:
    folder, counts = recorded
    assert not list(folder.glob("*.raw"))
    runs = runs_in(folder)
    for prefix, (first, second, none, last) in counts.items():
        (run,) = runs[prefix]
        run.verify()
        ending = Ending.of(run.header)
        assert ending is not None
        assert bool(ending.generic) == (prefix == "l_")
        fill = 1
        solve = run.variable("solve")[run.kind != fill].astype(int)
        numbers = np.unique(solve)
        found = np.bincount(solve - numbers[0])[[0, 1, 3]]
        # At its limit pipecg counts an iteration that it does not begin.
        assert found.tolist() == [min(each, 70) for each in (first, second, last)]
        attached = run.header.spec["attached"]
        assert (attached["solves"], attached["without_iterations"]) == (4, 1 if none == 0 else 0)
        parts = run.lead_in + run.durations.sum(axis=0) + run.restart_durations.sum(axis=0)
        np.testing.assert_allclose(parts + run.lead_out, run.solve_time, atol=1e-6, rtol=0)
        assert (run.phase("wait").sum(axis=0) > 0).all()
        assert (run.phase("halo").sum(axis=0) > 0).all()
        assert (run.phase("post").sum() > 0) == (prefix in ("p_", "c_"))
        assert run.header.spec["unknowns"] == 200
        assert run.header.spec["nonzeros"] == 598
        assert np.isfinite(run.variable("residual_norm")[run.kind != fill]).mean() > 0.9
        assert sorted(zip(run.edges.source, run.edges.target, strict=True)) == [(0, 1), (1, 0)]
    assert runs["mg_"][0].header.spec["attached"]["inner"]
    assert [run.header.ranks for run in runs["s_"]] == [1, 1]  # one of each rank


def test_show_says_first_what_was_solved(
    recorded: tuple[Path, dict[str, list[int]]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, counts = recorded
    (program,) = attached_programs(run for runs in runs_in(folder).values() for run in runs)
    assert program.name == "app"
    assert main(["show", str(folder)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("app: ")
    assert "app.py, 2 ranks" in said
    solves = int(said.split("\n")[1].split()[0])
    assert solves >= 4 * len(counts) + 2  # and what gamg solves while it is set up
