"""Programs that know nothing of hindmost, under `hindmost attach`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, Ranks
from tests.programs.attaching import (
    ATTACH,
    DEEP,
    Program,
    alone,
    attached,
    close_books,
    compiled,
    record_all,
    shared_petsc,
)

import hindmost
from hindmost.analysis.runs.run_facts import activity_of_extra
from hindmost.cli import main
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def solves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that solves with PETSc."""
    petsc = shared_petsc()
    folder = tmp_path_factory.mktemp("petsc")
    return compiled(folder, "solves", petsc, f"-Wl,-rpath,{petsc.parent}")


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that knows MPI only."""
    # As old compilers do: then weak symbols are hardest to find at run time.
    fixed = ("-fno-pie", "-no-pie")
    return compiled(tmp_path_factory.mktemp("mpi"), "loop", f"-I{ATTACH}", *fixed)


SOLVES = (
    "from petsc4py import PETSc\n"
    "A = PETSc.Mat().createAIJ([200, 200], nnz=3)\n"
    "for i in range(*A.getOwnershipRange()):\n"
    "    for j in range(max(i - 1, 0), min(i + 2, 200)): A[i, j] = 2.0 if i == j else -1.0\n"
    "A.assemble(); x, b = A.createVecs(); b.set(1.0)\n"
)
APP = (
    "for n in range(4):\n"
    "    ksp = PETSc.KSP().create(); ksp.setOperators(A); ksp.setType('pgmres')\n"
    "    ksp.setTolerances(rtol=0, max_it=20); x.set(0); ksp.solve(b, x)\n"
)
SLOW_IN_PYTHON = """
import time

class Shell:
    def apply(self, pc, x, y):
        x.copy(y)
        if PETSc.COMM_WORLD.rank == 1: time.sleep(2e-3)

ksp = PETSc.KSP().create(); ksp.setOperators(A); ksp.setType("gmres")
ksp.pc.setType("python"); ksp.pc.setPythonContext(Shell())
ksp.setTolerances(rtol=0, atol=0, max_it=40); ksp.solve(b, x)
"""
BREAKING = (
    "def breaks(ksp, iteration, norm): 1 // (11 - iteration)\n"
    "for n in range(2):\n"
    "    for prefix in ('good_', 'broken_'):\n"
    "        ksp = PETSc.KSP().create(); ksp.setOptionsPrefix(prefix); ksp.setOperators(A)\n"
    "        ksp.setType('cg'); ksp.getPC().setType('none')\n"
    "        ksp.setTolerances(rtol=1e-30, max_it=15)\n"
    "        if prefix == 'broken_': ksp.setMonitor(breaks)\n"
    "        x.set(0)\n"
    "        try: ksp.solve(b, x)\n"
    "        except (ZeroDivisionError, PETSc.Error): pass\n"
)
OWN = (
    "import hindmost; hindmost.listen()\n"
    "from petsc4py import PETSc\n"
    "A = PETSc.Mat().createAIJ([90, 90], nnz=1)\n"
    "for i in range(90): A[i, i] = 1.0 + i\n"
    "A.assemble(); x, b = A.createVecs(); b.set(1.0)\n"
    "ksp = PETSc.KSP().create(); ksp.setOperators(A); ksp.setType('cg')\n"
    "ksp.getPC().setType('none'); ksp.setTolerances(rtol=0, max_it=20)\n"
    "def solve(): x.set(0); ksp.solve(b, x)\n"
    "solve()\n"
    "with hindmost.record_ksp(ksp, 'own.h5', activities=True): solve()\n"
    "solve()\n"
)
LATE = (
    "import time\n"
    "from mpi4py import MPI\n"
    "world = MPI.COMM_WORLD\n"
    "for number in range(400):\n"
    "    world.allreduce(number)\n"
    "    if number % 100 == 0: time.sleep(0.02)\n"  # parts of the loop are written
    "for number in range(51):\n"
    "    MPI.Pcontrol(1)\n"
    "    world.allreduce(number)\n"
)
FILES = (
    "import numpy as np\n"
    "from mpi4py import MPI\n"
    "world, data = MPI.COMM_WORLD, np.zeros(1 << 18)\n"
    "file = MPI.File.Open(world, 'out.bin', MPI.MODE_CREATE | MPI.MODE_WRONLY)\n"
    "for number in range(30):\n"
    "    world.allreduce(number)\n"
    "    file.Write_at_all(world.rank * data.nbytes, data)\n"
    "file.Close()\n"
)
EARLY = ("abort", "exit", "term")


@pytest.fixture(scope="module")
def recorded(
    solves: Path, loop: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, list[Run]]]:
    """Return a folder, and the runs of programs that were recorded in it from one script."""
    folder = tmp_path_factory.mktemp("recorded")
    petsc = shared_petsc()
    slow = compiled(folder, "preconditioner", petsc, f"-Wl,-rpath,{petsc.parent}")
    solving = {"breaking": BREAKING, "app": APP, "slow": SLOW_IN_PYTHON}
    scripts = {name: SOLVES + text for name, text in solving.items()}
    scripts |= {"own": OWN, "late": LATE, "files": FILES}
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
    nth = ("--iterate-at", "MPI_Allreduce:2")
    deep = (solves, "well", *DEEP)
    return folder, record_all(folder, {
        **{marks: Program(command=(loop, marks), ranks=2) for marks in ("header", "pcontrol")},
        "every second call": Program(command=(loop, "none"), words=nth, ranks=2),
        "no marks": Program(command=(loop, "none")),
        **{end: Program(command=(solves, end)) for end in EARLY},
        **{
            f"every {n}": Program(command=(sys.executable, "breaking.py"), words=("--every", n))
            for n in "12"
        },
        "app": Program(
            command=(sys.executable, "app.py"), words=("--every", "2", "--most", "2"), ranks=2
        ),
        "slow in C": Program(command=(slow,), ranks=2),
        "slow in Python": Program(command=(sys.executable, "slow.py"), ranks=2),
        "own": Program(command=(sys.executable, "own.py")),
        "inner": Program(command=deep, words=("--only", "deep_ksp")),
        "late": Program(command=(sys.executable, "late.py"), ranks=2),
        "files": Program(command=(sys.executable, "files.py"), ranks=2),
    })  # fmt: skip


def test_solves_of_a_petsc_program(solves: Path, ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, "attach", "--out", "runs", "--", solves, "status7", *DEEP)
    assert done.returncode == 7, done.stderr
    printed = re.findall(r"^(\w+_) (\d+)$", done.stdout, re.M)
    assert [prefix for prefix, _ in printed] == ["ice_", "sea_", "ice_", "deep_"]
    assert "child_sees_recorder" not in done.stdout
    if list((tmp_path / "runs").glob("*.raw")):  # the launcher killed the rank that converts
        assert main(["attach", "--convert", str(tmp_path / "runs")]) == 0
    runs = {path.stem: hindmost.open(path) for path in sorted((tmp_path / "runs").glob("*.h5"))}
    by_prefix = {attached(run)["prefix"]: run for run in runs.values()}
    assert len(runs) == 3, list(runs)
    for prefix, run in by_prefix.items():
        counts = [int(count) for each, count in printed if each == prefix]
        solve = run.variable("solve")
        assert [np.count_nonzero(solve == each) for each in np.unique(solve)] == counts
        assert run.header.complete
        close_books(run)
        assert (run.phase("wait").sum(axis=0) > 0).all()
        assert (run.phase("halo").sum(axis=0) > 0).all()
        assert sorted(zip(run.edges.source, run.edges.target, strict=True)) == [(0, 1), (1, 0)]
        assert run.header.spec["unknowns"] == 300
        assert run.header.spec["nonzeros"] == 898
    ice, deep = by_prefix["ice_"], by_prefix["deep_"]
    assert (ice.header.solver, ice.header.restart, attached(ice)["solves"]) == ("gmres", 10, 2)
    assert ice.header.spec["petsc_options"][0] == "deep_ksp_ksp_max_it"
    (inner,) = attached(deep)["inner"]
    assert (inner["prefix"], inner["type"], inner["count"]) == ("deep_ksp_", "cg", 4)


def test_a_petsc4py_program(recorded: tuple[Path, dict[str, list[Run]]]) -> None:
    (run,) = recorded[1]["app"]
    assert attached(run)["name"] == "app"
    assert (run.header.solver, attached(run)["solves"]) == ("pgmres", 2)
    assert np.unique(run.variable("solve")).tolist() == [0, 2]
    assert attached(run)["solves_skipped"] == 2
    assert run.phase("post").sum() > 0
    close_books(run)


@pytest.mark.parametrize("language", ["C", "Python"])
def test_the_work_of_a_solve_is_known_by_petsc_event(
    language: str, recorded: tuple[Path, dict[str, list[Run]]]
) -> None:
    (run,) = recorded[1][f"slow in {language}"]
    assert run.activities == ["MatMult", "PCApply", "VecMAXPY", "orthogonalisation", "other"]
    spent = run.variable("activity_duration").astype(np.float64)
    np.testing.assert_allclose(spent.sum(axis=2), run.phase("local"), atol=1e-6)
    applied = np.median(run.activity("PCApply"), axis=0)
    assert applied[1] - applied[0] > 1e-3
    where, share = activity_of_extra(run, [1])
    assert where == "PCApply"
    assert share > 0.7


@pytest.mark.parametrize(
    ("marks", "iterations"), [("header", 19), ("pcontrol", 19), ("every second call", 9)]
)
def test_a_loop_with_marks(
    marks: str, iterations: int, loop: Path, recorded: tuple[Path, dict[str, list[Run]]]
) -> None:
    (run,) = recorded[1][marks]
    assert run.durations.shape == (iterations, 2)
    assert (run.header.solver, attached(run)["name"]) == ("loop", "loop")
    assert (run.phase("halo") > 0).all()
    assert (run.phase("wait") > 0).all()
    assert (run.phase("stencil") > 0).all()
    close_books(run)
    if marks == "header":
        assert attached(run)["work"] == 2 * sum(1000 + step for step in range(19))
        bare = subprocess.run([loop, marks], capture_output=True, text=True, check=True)
        assert bare.stderr == ""


@pytest.mark.parametrize("end", EARLY)
def test_what_a_program_left_that_ended_early(
    end: str, recorded: tuple[Path, dict[str, list[Run]]]
) -> None:
    runs = recorded[1][end]
    assert whole_ones(runs) == {"gmres": 25, "cg": 40}
    broken = [run for run in runs if not run.header.complete]
    assert [len(run.durations) for run in broken] == [10]  # the cycle that is whole
    assert "the program ended inside this solve" in broken[0].header.spec["failure"]


def whole_ones(runs: list[Run]) -> dict[str, int]:
    """Return the iterations of each run that is complete, by its solver."""
    return {run.header.solver: len(run.durations) for run in runs if run.header.complete}


def test_what_a_program_left_that_was_killed(solves: Path, tmp_path: Path) -> None:
    done = alone("--out", "runs", "--", solves, "kill", folder=tmp_path)
    assert done.returncode == -9
    runs = [hindmost.open(path) for path in (tmp_path / "runs").glob("*.h5")]
    assert whole_ones(runs) == {"gmres": 25, "cg": 40}
    assert len(runs) == 2  # nobody can write after that
    assert "could not write any more; a solve that it had not" in done.stderr


@pytest.mark.parametrize(
    ("every", "counts"), [("1", {"good_": 2, "broken_": 2}), ("2", {"good_": 2})]
)
def test_solves_after_one_that_ended_with_an_error(
    every: str, counts: dict[str, int], recorded: tuple[Path, dict[str, list[Run]]]
) -> None:
    found: dict[str, int] = {}
    for run in recorded[1][f"every {every}"]:
        prefix = attached(run)["prefix"]
        assert run.header.complete is (prefix == "good_")
        failure = run.header.spec.get("failure", "")
        assert failure.startswith("an error of PETSc ended" if prefix == "broken_" else "")
        assert attached(run)["inner"] == []
        found[prefix] = found.get(prefix, 0) + attached(run)["solves"]
    assert found == counts


def test_a_program_that_uses_hindmost_itself(
    recorded: tuple[Path, dict[str, list[Run]]],
) -> None:
    assert len(hindmost.open(recorded[0] / "own.h5").durations) == 20
    (run,) = recorded[1]["own"]
    assert np.unique(run.variable("solve"), return_counts=True)[1].tolist() == [20, 20]
    assert attached(run)["solves_skipped"] == 1


def test_a_program_that_records_its_loop_runs_on(tmp_path: Path) -> None:
    """Attach has nothing of it, or what lies before and behind if it was told where to look."""
    (tmp_path / "itself.py").write_text(
        "import hindmost, sys; hindmost.listen()\n"
        "from mpi4py import MPI\n"
        "for _ in range(4): MPI.COMM_WORLD.Barrier()\n"
        "with hindmost.record(sys.argv[1], MPI.COMM_WORLD) as recorder:\n"
        "    for _ in range(5):\n"
        "        with recorder.iteration(): MPI.COMM_WORLD.Barrier()\n"
        "for _ in range(6): MPI.COMM_WORLD.Barrier()\n"
    )
    for name, options in {"own.h5": (), "called.h5": ("--iterate-at", "MPI_Barrier")}.items():
        program = (sys.executable, "itself.py", name)
        done = alone("--out", "runs", *options, "--", *program, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert hindmost.open(tmp_path / name).bodies == 5
        assert ("records itself" in done.stderr) == (not options)
    (run,) = map(hindmost.open, (tmp_path / "runs").iterdir())
    assert run.bodies == 3 + 5


def test_solves_inside_others_by_their_prefix(
    recorded: tuple[Path, dict[str, list[Run]]],
) -> None:
    (run,) = recorded[1]["inner"]
    assert (run.header.solver, attached(run)["solves"], len(run.durations)) == ("cg", 4, 12)


def test_calls_of_other_threads_are_not_recorded(tmp_path: Path) -> None:
    program = compiled(tmp_path, "threads", "-pthread")
    done = alone("--out", "runs", "--", program, folder=tmp_path)
    if done.returncode == 77:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    assert run.durations.shape == (30, 1)
    assert (run.phase("halo") == 0).all()
    close_books(run)


def test_what_cannot_be_recorded_is_said(loop: Path, tmp_path: Path) -> None:
    script = "from mpi4py import MPI; MPI.COMM_WORLD.barrier()"
    no_loop = alone("--out", "runs", "--", sys.executable, "-c", script, folder=tmp_path)
    assert no_loop.returncode == 0  # the program's own: it ran well
    assert "has the whole program as one iteration" in no_loop.stderr
    (path,) = (tmp_path / "runs").iterdir()
    path.unlink()
    no_mpi = alone("--out", "runs", "--", "sh", "-c", "exit 3", folder=tmp_path)
    assert no_mpi.returncode == 3
    assert "no call of MPI_Init" in " ".join(no_mpi.stderr.split())
    nothing = alone("--out", "runs", "--", "./nothing", folder=tmp_path)
    assert nothing.returncode == 2
    assert "./nothing cannot be started: No such file or directory." in nothing.stderr
    assert not list((tmp_path / "runs").iterdir())


def test_without_marks_the_loop_is_found(recorded: tuple[Path, dict[str, list[Run]]]) -> None:
    (run,) = recorded[1]["no marks"]
    assert (len(run.durations), attached(run)["loop"]["iterations"]) == (20, 20)


def test_marks_that_come_late_say_where_iterations_end(
    recorded: tuple[Path, dict[str, list[Run]]],
) -> None:
    (run,) = recorded[1]["late"]
    assert run.durations.shape == (50, 2)
    assert "loop" not in attached(run)
    close_books(run)


def test_time_in_files_is_named(
    recorded: tuple[Path, dict[str, list[Run]]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hindmost.analysis.verbs.show.MAX_LINES", 40)  # of a busy machine is more
    assert main(["show", str(recorded[0] / "files")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"time goes, over all ranks: .*\d+ % MPI-IO \(MPI_File_", said)
    assert "of a rank's time is in MPI-IO (MPI_File_" in said


def test_a_script_of_ones_own(loop: Path, tmp_path: Path) -> None:
    printed = alone(
        "--print", "env", "--out", "runs", "--iterate-at", "MPI_Sendrecv", folder=tmp_path
    )
    assert printed.returncode == 0, printed.stderr
    script = f"{printed.stdout}\n{loop} none"
    subprocess.run(["sh", "-ec", script], check=True, cwd=tmp_path, timeout=60)
    (raw,) = (tmp_path / "runs").glob("*.raw")
    converted = alone("--convert", "runs", folder=tmp_path)
    (path,) = (tmp_path / "runs").glob("*.h5")
    assert converted.stdout == f"runs/{path.name}\n"
    assert not raw.exists()
    assert len(hindmost.open(path).durations) == 19


def test_the_examples(tmp_path: Path) -> None:
    examples, program = ROOT / "examples" / "attach", tmp_path / "heat"
    include = alone("--print", "include", folder=tmp_path).stdout.strip()
    words = (f"-I{include}", "-o", str(program), str(examples / "heat.c"), "-lm")
    subprocess.run([current_stack().mpicc, *words], check=True, timeout=120)
    heat = alone("--out", "runs", "--", program, "50", folder=tmp_path)
    options = ("-rod_ksp_type", "pgmres", "-rod_pc_type", "jacobi")
    python = (sys.executable, examples / "poisson.py", *options)
    poisson = alone("--out", "runs", "--", *python, folder=tmp_path)
    assert (heat.returncode, poisson.returncode) == (0, 0), heat.stderr + poisson.stderr
    runs = {path.name: hindmost.open(path) for path in (tmp_path / "runs").glob("*.h5")}
    loop, solver = runs["heat-loop-p1-0.h5"], runs["poisson-rod-pgmres-p1-0.h5"]
    assert len(loop.durations) == 50
    assert attached(loop)["work"] == 50 * 20000
    assert attached(solver)["solves"] == 2
    said = (examples / "output.txt").read_text()
    assert (
        f"$ mpiexec -n 2 hindmost attach --out runs -- python poisson.py {' '.join(options)}"
        in said
    )
    for line in poisson.stdout.splitlines():
        assert line in said
