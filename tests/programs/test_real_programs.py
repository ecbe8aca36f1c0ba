"""Programs that nobody here wrote, recorded as they are: ``make test-programs``.

Their sources and binaries come from packages of the distribution, and on the source stack from
PETSc's source distribution; a program that is not installed is skipped.
"""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Ranks
from tests.programs.attaching import fortran_compiler

import hindmost
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.programs

STACK = current_stack()
DISTRIBUTION = Path("/usr/share/petsc")
EXAMPLES = (
    sorted(DISTRIBUTION.glob("*/share/petsc/examples/src"))
    if STACK.name == "system"
    else sorted(ROOT.glob(f".venvs/{STACK.name}/petsc-examples/src"))
)
PETSC = Path(STACK.petsc_dir)
LAMMPS = Path("/usr/share/lammps/examples")

POISSON = """
import numpy as np, ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py.PETSc import ScalarType

square = mesh.create_unit_square(MPI.COMM_WORLD, 40, 40)
space = fem.FunctionSpace(square, ("CG", 1))
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
edge = mesh.locate_entities_boundary(square, 1, lambda x: np.full(x.shape[1], True))
fixed = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(space, 1, edge), space)
left = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
right = fem.Constant(square, ScalarType(1)) * v * ufl.dx
options = {"ksp_type": "cg", "pc_type": "jacobi"}
problem = LinearProblem(left, right, bcs=[fixed], petsc_options=options)
problem.solve()
if MPI.COMM_WORLD.rank == 0:
    print("iterations", problem.solver.getIterationNumber())
"""


def runs_in(folder: Path) -> list[Run]:
    """Return the runs of a folder; their times add up on every rank."""
    runs = [hindmost.open(path) for path in sorted(folder.glob("*.h5"))]
    for run in runs:
        run.verify()
        parts = run.lead_in + run.durations.sum(axis=0) + run.restart_durations.sum(axis=0)
        np.testing.assert_allclose(parts + run.lead_out, run.solve_time, atol=1e-6, rtol=0)
    return runs


def compiled(folder: Path, source: str) -> Path:
    """Compile an example of PETSc with the stack's compilers."""
    if not EXAMPLES:
        pytest.skip("PETSc's examples are not installed: make test-programs installs them")
    path = EXAMPLES[-1] / source
    compiler = fortran_compiler() if path.suffix == ".F90" else STACK.mpicc
    program = folder / path.stem
    wide = ["-ffree-line-length-none"] if path.suffix == ".F90" else []  # PETSc's macros
    library = next(
        name for name in ("petsc_real", "petsc") if list(PETSC.glob(f"lib/lib{name}.so"))
    )
    subprocess.run(
        [compiler, "-w", *wide, f"-I{PETSC / 'include'}", "-o", program, path, f"-L{PETSC / 'lib'}",
         f"-Wl,-rpath,{PETSC / 'lib'}", f"-l{library}", "-lm"],
        check=True,
        capture_output=True,
        text=True,
    )  # fmt: skip
    return program


def solves_of_log_view(output: str) -> int:
    """Return how often -log_view counts KSPSolve."""
    found = re.search(r"^KSPSolve +(\d+) ", output, re.MULTILINE)
    assert found, output
    return int(found[1])


def of_the_distribution() -> None:
    """Skip where the stack's MPI is not the distribution's."""
    if STACK.name != "system":
        pytest.skip("the distribution's programs use its Open MPI: make test-programs STACK=system")


def iterations_printed(output: str) -> int:
    """Return the sum of the iterations that -ksp_converged_reason prints for each solve."""
    return sum(int(n) for n in re.findall(r"solve converged due to \w+ iterations (\d+)", output))


SAY = ("-log_view", "-ksp_converged_reason")

CASES = {
    "a linear system": ("ksp/ksp/tutorials/ex23.c", ["-n", "400", "-ksp_type", "pgmres"]),
    "a nonlinear system": (
        "snes/tutorials/ex48.c",
        ["-M", "6", "-N", "6", "-P", "3", "-ksp_type", "gmres", "-pc_type", "bjacobi"],
    ),
    "time steps": (
        "ts/tutorials/ex13.c",
        ["-da_grid_x", "20", "-da_grid_y", "20", "-ts_type", "beuler", "-ts_max_steps", "10",
         "-ksp_type", "cg", "-pc_type", "jacobi"],
    ),
    "Fortran": ("ksp/ksp/tutorials/ex2f.F90", ["-m", "20", "-n", "20"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_solve_of_a_petsc_example_is_recorded(
    ranks: Ranks, tmp_path: Path, name: str
) -> None:
    source, options = CASES[name]
    program = compiled(tmp_path, source)
    done = ranks(2, "attach", "--out", "runs", "--", program, *options, *SAY)
    assert done.returncode == 0, done.stderr
    runs = runs_in(tmp_path / "runs")
    attached = [run.header.spec["attached"] for run in runs]
    assert sum(each["solves"] for each in attached) == solves_of_log_view(done.stdout)
    assert sum(run.header.iterations for run in runs) == iterations_printed(done.stdout)
    for run in runs:
        assert run.header.spec["unknowns"] > 0
        assert run.header.spec["nonzeros"] > 0
        assert (run.phase("wait").sum(axis=0) > 0).all()
        ending = Ending.of(run.header)
        assert ending is not None
        assert ending.reason.startswith("CONVERGED")
    if name == "a nonlinear system":
        assert runs[0].header.spec["attached"]["snes_steps"]
    if name == "time steps":
        assert attached[0]["time_steps"]


@pytest.mark.parametrize("call", ["MPI_Send:4", "auto"])
def test_the_time_steps_of_lammps_are_iterations(call: str, ranks: Ranks, tmp_path: Path) -> None:
    of_the_distribution()
    melt = LAMMPS / "melt" / "in.melt"
    if not (shutil.which("lmp") and melt.exists()):
        pytest.skip("LAMMPS is not installed: make test-programs installs it")
    # A step of two ranks has four messages: positions and forces, in two directions. Every 20 steps
    # the atoms move to other ranks, which takes a few more.
    done = ranks(2, "attach", "--out", "runs", "--iterate-at", call, "--", "lmp", "-in", melt)
    assert done.returncode == 0, done.stderr
    (run,) = runs_in(tmp_path / "runs")
    assert run.header.solver == "loop"
    assert 240 <= run.header.iterations < 260
    assert (run.phase("halo").sum(axis=0) > 0).all()


def test_a_solve_of_fenicsx_is_recorded(ranks: Ranks, tmp_path: Path) -> None:
    of_the_distribution()
    python = "/usr/bin/python3"
    if subprocess.run(
        [python, "-c", "import dolfinx"], capture_output=True, check=False
    ).returncode:
        pytest.skip("FEniCSx is not installed: make test-programs installs it")
    (tmp_path / "poisson.py").write_text(POISSON)
    done = ranks(2, "attach", "--out", "runs", "--", python, "poisson.py")
    assert done.returncode == 0, done.stderr
    counted = re.search(r"iterations (\d+)", done.stdout)
    assert counted, done.stdout
    (run,) = runs_in(tmp_path / "runs")
    assert (run.header.solver, run.header.iterations) == ("cg", int(counted[1]))
