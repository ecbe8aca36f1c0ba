"""Solves and loops recorded by one line in a program: kept, or left on all ranks."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

import hindmost
from hindmost.analysis.runs.check import check_group
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.summary import summarise_run
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.time_left import KEY, time_use_of

pytestmark = pytest.mark.mpi

PROGRAM = """
import sys
import hindmost
if "deaf" not in sys.argv:
    hindmost.listen()
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

def solver(kind, matrix, most, pc="jacobi", prefix=None):
    ksp = PETSc.KSP().create(comm=matrix.comm)
    ksp.setOptionsPrefix(prefix)
    ksp.setOperators(matrix)
    ksp.setType(kind)
    ksp.getPC().setType(pc)
    ksp.setTolerances(rtol=1e-6, max_it=most)
    ksp.setFromOptions()
    return ksp

world = PETSc.COMM_WORLD
matrix, x, b = system(world, 200)
"""

SEEN = """
iterations = []
for kind, pc in (("gmres", "none"), ("pgmres", "none"), ("cg", "gamg"), ("lgmres", "jacobi")):
    x.set(0)
    ksp = solver(kind, matrix, 70, pc, "ice_")
    with hindmost.record_ksp(ksp, f"{kind}.h5", activities=True): ksp.solve(b, x)
    iterations.append((kind, ksp.getIterationNumber()))
    again = ksp
    x.set(0)
    own = {"name": "mine", "parameters": {"case": 7}, "keep": 0.5}
    with hindmost.record_ksp(again, f"{kind}-again.h5", **own):
        again.solve(b, x)
with hindmost.record_ksp(ksp, "several.h5"):
    for _ in range(3):
        x.set(0)
        ksp.solve(b, x)
# Its residual falls steadily past the tolerance: that of `matrix` with its even right side
# falls to rounding in the one step that makes CG exact.
shifted = matrix.duplicate(copy=True)
shifted.shift(0.1)
ksp = solver("cg", shifted, 300)
with hindmost.record_ksp(ksp, "first.h5"):
    x.set(0)
    ksp.solve(b, x)
    iterations.append(("first", ksp.getIterationNumber()))
    x.set(0)
    ksp.setTolerances(rtol=1e-9, max_it=2)
    ksp.solve(b, x)
# Somebody looks on: the solve goes on when five iterations of it have been noted.
import json, time

def wait_for_watch(ksp, iteration, norm):
    deadline = time.monotonic() + 60
    while iteration == 9 and time.monotonic() < deadline:
        try:
            if json.load(open("seen.raw/time-left.json"))["iterations"] >= 5: break
        except OSError:
            pass
        time.sleep(0.02)
    if iteration == 9 and world.rank == 0:
        open("watched.json", "w").write(open("seen.raw/time-left.json").read())

ksp = solver("cg", shifted, 20)
x.set(0)
ksp.setMonitor(wait_for_watch)
with hindmost.record_ksp(ksp, "seen.h5", live=20): ksp.solve(b, x)
part = PETSc.Comm(world.tompi4py().Split(world.rank, 0))
small, y, c = system(part, 50)
inner = solver("cg", small, 70)
if world.rank == 1:
    with hindmost.record_ksp(inner, "part.h5"):
        inner.solve(c, y)
if world.rank == 0:
    print(json.dumps(iterations))
"""


@pytest.fixture(scope="module")
def seen(module_ranks: Ranks) -> tuple[dict[str, Run], subprocess.CompletedProcess[str]]:
    done = module_ranks(2, script=PROGRAM + SEEN)
    assert done.returncode == 0, done.stderr
    folder = Path(str(done.args[4])).parent
    return {path.stem: hindmost.open(path) for path in folder.glob("*.h5")}, done


def test_own_solves_have_the_full_split(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    runs, done = seen
    counted = dict(json.loads(done.stdout))
    for kind in ("gmres", "pgmres", "cg"):
        run = runs[kind]
        ending = Ending.of(run.header)
        assert ending is not None
        assert ending.done == counted[kind] == np.count_nonzero(run.kind != 1)
        assert (ending.asked, ending.rtol, ending.generic) == (70, 1e-6, "")
        assert ending.reached == (kind == "cg")
        assert run.header.restart == (30 if "gmres" in kind else 0)
        assert run.restarts == (2 if "gmres" in kind else 0)
        parts = run.lead_in + run.durations.sum(axis=0) + run.restart_durations.sum(axis=0)
        np.testing.assert_allclose(parts + run.lead_out, run.solve_time, atol=1e-6, rtol=0)
        assert (run.phase("wait").sum(axis=0) > 0).all()
        assert (run.phase("halo").sum(axis=0) > 0).all()
        assert (run.phase("post").sum() > 0) == (kind == "pgmres")
        spent = run.variable("activity_duration").sum(axis=2, dtype=np.float64)
        np.testing.assert_allclose(spent, run.phase("local"), atol=1e-9)
        assert np.isfinite(run.variable("residual_norm")[run.kind == 0]).mean() > 0.9
        assert sorted(zip(run.edges.source, run.edges.target, strict=True)) == [(0, 1), (1, 0)]
    spec = runs["cg"].header.spec
    assert runs["cg"].header.workload == "ice"
    assert (spec["unknowns"], spec["nonzeros"], spec["pc_type"]) == (200, 598, "gamg")
    assert (spec["mat_type"], spec["mpi_seen"]) == ("mpiaij", True)


def test_an_unknown_solver_is_kept_as_generic(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    run = seen[0]["lgmres"]
    ending = Ending.of(run.header)
    assert ending is not None
    assert ending.generic == "hindmost knows no pattern for lgmres"
    assert run.bodies == ending.done
    assert (run.phase("wait").sum(axis=0) > 0).all()


def test_a_solve_is_followed_while_it_runs(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    folder = seen[0]["seen"].path.parent
    use = time_use_of({KEY: json.loads((folder / "watched.json").read_text())})
    assert use is not None
    assert (use.loop, use.total, use.status, use.lost) == ("ksp", 20, None, False)
    assert 5 <= use.iterations <= 10
    assert use.progress().startswith(f"{use.iterations} of 20 iterations ({5 * use.iterations} %)")
    assert not list(folder.glob("*.raw"))


def test_names_and_parameters_are_kept_and_one_solve_is_recorded(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    runs, done = seen
    again = runs["cg-again"]
    assert (again.header.workload, again.header.spec["parameters"]) == ("mine", {"case": 7})
    assert again.bodies == runs["cg"].bodies
    assert not again.activities
    assert (again.columns, again.header.ranks, runs["cg"].columns) == (1, 2, 2)
    several = runs["several"]
    assert several.header.spec["solves_left_out"] == 2
    assert several.bodies == runs["lgmres"].bodies
    assert done.stderr.count("2 further solves in one record_ksp not recorded") == 1


def test_a_later_solve_does_not_change_the_ending_of_the_first(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    runs, done = seen
    run, ending = runs["first"], Ending.of(runs["first"].header)
    assert ending is not None
    assert (ending.asked, ending.rtol, ending.reason) == (300, 1e-6, "CONVERGED_RTOL")
    assert ending.reached
    assert ending.done == dict(json.loads(done.stdout))["first"]
    assert np.isfinite(run.variable("residual_norm")).any()
    unknown = replace(ending, reason="")
    assert unknown.shortfall == f"unknown whether {ending.done} iterations reached rtol 1e-06"


def test_a_part_of_the_ranks_may_record(
    seen: tuple[dict[str, Run], subprocess.CompletedProcess[str]],
) -> None:
    run = seen[0]["part"]
    assert (run.header.ranks, run.header.spec["unknowns"]) == (1, 50)
    assert run.header.workload == "ksp"


DEAF = """
ksp = solver("cg", matrix, 70)
with hindmost.record_ksp(ksp, "deaf.h5", activities=True): ksp.solve(b, x)
"""


def test_what_was_not_seen_is_never_work(ranks: Ranks, tmp_path: Path) -> None:
    log = {"PETSC_OPTIONS": "-log_view ascii:log.txt"}
    done = ranks(2, "deaf", script=PROGRAM + DEAF, environment=log)
    assert done.returncode == 0, done.stderr
    (counted,) = re.findall(r"^KSPSolve +(\d+)", (tmp_path / "log.txt").read_text(), re.MULTILINE)
    assert counted == "1"  # PETSc's own log goes on
    assert done.stderr.count("hindmost does not see MPI calls, so all time is unclassified") == 1
    assert "hindmost.listen()" in done.stderr
    run = hindmost.open(tmp_path / "deaf.h5")
    assert run.bodies > 0
    assert not run.work.any()
    np.testing.assert_allclose(run.phase("unclassified"), run.durations, rtol=1e-6)
    assert not run.has("event_kind")
    assert not run.activities
    assert summarise_run(run).efficiency is None
    (group,) = group_runs([run])
    said = {each.code: each.text for each in check_group(group)}
    assert "work and waiting cannot be separated" in said["mpi-unseen"]
    assert "unattributed-mpi" not in said


TAKEN = """
refused = []
open("taken.h5", "w").close()
world.tompi4py().Barrier()
ksp = solver("cg", matrix, 70)
try:
    with hindmost.record_ksp(ksp, "taken.h5"): ksp.solve(b, x)
except hindmost.errors.UsageError as error:
    refused.append(str(error))
try:
    with hindmost.record_ksp(ksp, "none.h5"): pass
except hindmost.errors.UsageError as error:
    refused.append(str(error))
try:
    with hindmost.record_ksp(ksp, "failed.h5"):
        ksp.solve(b, x)
        if world.rank == 1:
            raise ValueError("mine")
except (ValueError, hindmost.errors.UsageError) as error:
    refused.append(str(error))
try:
    hindmost.record_ksp(matrix, "matrix.h5")
except hindmost.errors.UsageError as error:
    refused.append(str(error))
try:
    with hindmost.record_ksp(ksp, "outer.h5"), hindmost.record_ksp(ksp, "inner.h5"):
        pass
except hindmost.errors.UsageError as error:
    refused.append(str(error))
of_all = world.tompi4py().gather(refused)
if world.rank == 0:
    import json
    print(json.dumps(of_all))
"""


def test_errors_are_those_of_all_ranks(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=PROGRAM + "import hindmost.errors\n" + TAKEN)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    for refused in (first, second):
        assert "taken.h5 exists" in refused[0]
        assert "The KSP did not solve inside" in refused[1]
        assert "needs a petsc4py.PETSc.KSP, not a Mat" in refused[3]
        assert "one at a time" in refused[4]
    assert "The program failed on rank 1" in first[2]
    assert second[2] == "mine"
    assert [path.name for path in tmp_path.glob("*.h5")] == ["taken.h5"]


LOOP = """
import ctypes, json, sys, time
import hindmost
hindmost.listen()
from mpi4py import MPI
import hindmost.errors
comm = MPI.COMM_WORLD

def left(case):
    with hindmost.record("left.h5", comm, name="left") as recorder:
        for step in range(3):
            with recorder.iteration():
                if step == 1 and comm.rank == 1:
                    raise (SystemExit(5) if case == "leaves" else ValueError("mine"))
                if case == "waits" or case == "leaves":
                    comm.Barrier()
        if case == "late" and comm.rank == 0:
            time.sleep(2.5)
        if case == "both" and comm.rank == 0:
            raise ValueError("mine")

if sys.argv[1] in ("waits", "leaves"):
    # As a library of the MPI that breaks while exit takes it down: no rank may get there.
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.abort, None)
found = {}
for case in sys.argv[1:]:
    try:
        left(case)
    except (ValueError, hindmost.errors.UsageError) as error:
        if case == "waits":
            raise
        found[case] = comm.gather(f"{type(error).__name__} {error}")
if comm.rank == 0:
    print(json.dumps(found), flush=True)
"""
OTHER = "UsageError The loop failed on rank 1, so no run file is written."


SAID = {
    "caught": [OTHER, "ValueError mine"],
    "late": [OTHER, "ValueError mine"],
    "both": ["ValueError mine", "ValueError mine"],
}


def test_all_ranks_leave_a_loop_that_failed(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, *SAID, script=LOOP)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SAID
    assert not list(tmp_path.glob("left*"))


@pytest.mark.parametrize("case", ["waits", "leaves"])
def test_a_rank_that_waits_in_mpi_is_ended(ranks: Ranks, tmp_path: Path, case: str) -> None:
    done = ranks(2, case, script=LOOP)
    assert done.returncode == (5 if case == "leaves" else 1), done.stderr
    assert not done.stdout
    assert done.stderr.count("ValueError: mine") == (1 if case == "waits" else 0)
    told = done.stderr.index("hindmost: rank 1: the recorded program failed here while other")
    assert done.stderr.find("ValueError: mine") < told  # the error itself comes first
    assert done.stderr.count("hindmost: ") == 1
    assert not list(tmp_path.glob("left*"))
