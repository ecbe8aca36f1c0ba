"""Every KSP type that this PETSc has, pairs of solvers, Jacobi relaxation, and solves that fail."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT, Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.harness.krylov.solvers import OTHERS, SOLVERS
from hindmost.harness.runfile.ending import Ending
from hindmost.models.events import EventKind

pytestmark = pytest.mark.mpi

ITERATIONS = 24

EVERY_TYPE = """
import json
from hindmost.harness import petsc
parallel = petsc.start()
import numpy as np
from hindmost.errors import UsageError
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solves.recorded import RecordedSolver
from hindmost.harness.krylov.solvers import solver_named
from hindmost.harness.krylov.solvers import check_types, registered_types
PETSc, comm = parallel.PETSc, parallel.communicator
system = PROBLEMS["laplacian-1d"].build(SystemRequest(unknowns=300), PETSc, PETSc.COMM_WORLD)
found = {}
for name in registered_types():
    try:
        check_types([name])
    except UsageError as error:
        found[name] = {"refused": str(error)}
        continue
    try:
        solver = RecordedSolver(solver_named(name), system, iterations=ITERATIONS,
                                preconditioner="jacobi", parallel=parallel)
        solver.warm_up()
    except PETSc.Error as error:
        found[name] = {"error": str(error)}
        continue
    rank, header, ending = solver.record()
    bodies = rank.bodies
    parts_s = (bodies.lead_in_s + bodies.duration.sum() + bodies.restart_duration.sum()
               + bodies.lead_out_s)
    found[name] = {
        "bodies": int((bodies.kind != 1).sum()), "petsc": solver.ksp.getIterationNumber(),
        "done": ending.done, "reason": ending.reason, "generic": ending.generic,
        "shortfall": ending.shortfall, "flaw": ending.flaw,
        "synchronisation": header.synchronisation, "lost": header.records_lost,
        "norms": int(np.isfinite(rank.residual_norm).sum()),
        "open": max(comm.allgather(abs(parts_s - bodies.solve_time_s))),
    }
every_type = found
""".replace("ITERATIONS", str(ITERATIONS))

IN_STEPS = {"bcgsl": 2, "pipecg2": 2}
"""PETSc's iterations from one call of the monitors to the next, where it is not 1."""
STOPS_EARLY = {"pipecg2": 2}
"""Iterations that are not done at the end."""
FIRST_UNSEEN = {"cgls"}
"""Solvers that first call their monitors after an iteration."""
ONE_STEP = {"preonly", "none"}
NEEDS = {"python": "Python context not set", "tsirm": "PC must be of type PCKSP"}


def named_on_the_page() -> set[str]:
    """Return the types that docs/solvers.md speaks of."""
    page = (ROOT / "docs/solvers.md").read_text().split("## Solvers")[1].split("\n## ")[0]
    return set(re.findall(r"`(\w+)`", page))


def test_every_type_does_its_iterations_or_says_what_it_did(every_type: dict[str, Any]) -> None:
    assert every_type.keys() >= {
        *(each.name for each in SOLVERS.built_in),
        "tfqmr",
        "gcr",
        "lgmres",
    }
    for name, found in every_type.items():
        if name in ONE_STEP:
            assert "there are no iterations to record" in found["refused"]
        elif name == "fetidp":
            assert "MATIS" in found["refused"]
        elif name in NEEDS:
            assert NEEDS[name] in found["error"]
        else:
            iterations = ITERATIONS - STOPS_EARLY.get(name, 0)
            bodies = iterations // IN_STEPS.get(name, 1) - (name in FIRST_UNSEEN)
            assert (found["bodies"], found["petsc"]) == (bodies, iterations), (name, found)
            assert (found["done"], found["lost"]) == (bodies, 0)
            short = f"stopped after {iterations} of {ITERATIONS} iterations (DIVERGED_ITS)"
            assert found["shortfall"] == (short if iterations < ITERATIONS else ""), (name, found)
            assert found["open"] < 1e-6, name
            assert (found["generic"] == "") == (name in SOLVERS), (name, found)
            apart = f"({bodies} bodies for {iterations} iterations)"
            assert (apart in found["generic"]) == (bodies != iterations), (name, found)
            pipelined = name.startswith("pipe") or name in ("pgmres", "groppcg")
            assert (found["synchronisation"] == "pipelined") == pipelined, name
            assert found["norms"] == bodies, (name, found)


def test_the_page_names_what_is_declared() -> None:
    assert named_on_the_page() >= {*(each.name for each in SOLVERS.built_in), *OTHERS}


def commands(folder: Path) -> Commands:
    """Return pairs of solvers and a solve that breaks down, for a folder."""
    entries = "\n".join(f"{n} {n} {(-1) ** n * n}" for n in range(1, 9))
    matrix = f"%%MatrixMarket matrix coordinate real general\n8 8 8\n{entries}\n"
    (folder / "indefinite.mtx").write_text(matrix)
    return {
        "pairs": (
            "run", "laplacian-2d", "--unknowns", "900", "--iterations", "30", "--out", "pairs",
            "--warmup", "0",
            "--solver", "cg", "--solver", "gcr", "--pair", "--", "-ksp_gcr_restart", "7",
        ),
        "breakdown": (
            "run", "matrix", "indefinite.mtx", "--solver", "cg", "--iterations", "50",
            "--out", "breakdown", "--", "-pc_type", "none",
        ),
    }  # fmt: skip


def test_pairs_run_beside_each_other(launched: Launched) -> None:
    folder, ended = launched[0], launched[1]["pairs"]
    assert ended.returncode == 0, ended.stderr
    runs = {run.header.solver: run for run in map(hindmost.open, folder.glob("pairs/*.h5"))}
    assert runs.keys() == {"cg", "pipecg", "groppcg", "gcr", "pipegcr"}
    for solver, run in runs.items():
        pipelined = solver not in ("cg", "gcr")
        assert (run.header.synchronisation == "pipelined") == pipelined, solver
        ending = Ending.of(run.header)
        assert ending is not None
        assert (ending.generic != "") == ("gcr" in solver)
        assert run.header.iterations == 30
        assert {"ksp_gmres_haptol", "ksp_norm_type"}.isdisjoint(run.header.petsc_options)


def test_jacobi_relaxation_is_that_of_the_stencil(ranks: Ranks, tmp_path: Path) -> None:
    shape, sweeps = (6, 5, 4), 12
    done = ranks(
        4, "run", "jacobi-3d", "--grid", "x".join(map(str, shape)), "--iterations", str(sweeps),
        "--out", "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "runs/jacobi-3d-richardson-p4-0.h5")
    ending = Ending.of(run.header)
    assert ending is not None
    assert (ending.norm, ending.generic, run.bodies) == ("none", "", sweeps)
    assert run.header.petsc_options["ksp_norm_type"] == "none"
    # Boxes have up to six neighbours, and here two or three: 4 ranks in a row, or 2 by 2.
    edges = set(zip(run.edges.source.tolist(), run.edges.target.tolist(), strict=True))
    assert edges == {(target, source) for source, target in edges}
    # No reduction: nothing but the halo ties the ranks together.
    assert set(np.unique(run.variable("event_kind"))) <= {
        EventKind.NONE, EventKind.SEND, EventKind.RECEIVE,
    }  # fmt: skip
    assert run.phase("wait").sum() == run.phase("post").sum() == 0.0
    # Relaxed by hand: the mean of the six neighbours, on a grid of another spacing each weighted.
    spacing = 1.0 / (np.array(shape) + 1.0)
    weight = spacing.prod() / spacing**2 / spacing[0]
    one = np.ones(shape)

    def product(x: Any) -> Any:
        padded = np.pad(x, 1)
        total = 2.0 * weight.sum() * x
        for axis in range(3):
            for step in (-1, 1):
                total -= weight[axis] * np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1]
        return total

    right = product(one)
    x = np.zeros(shape)
    for _ in range(sweeps):
        x += (right - product(x)) / (2.0 * weight.sum())
    expected = np.linalg.norm(right - product(x)) / np.linalg.norm(right)
    assert ending.true_residual == pytest.approx(expected, rel=1e-10)


FAILING = """
from hindmost.harness.solves.experiment import KrylovExperiment, petsc_errors
from hindmost.harness.krylov.problems.problem import LinearSystem, matrix_of_rows
UNKNOWNS = 40

def rows_of(beside, diagonal):
    def rows(first, last, unknowns):
        row = np.arange(first, last)
        column = np.stack([row - 1, row, row + 1], axis=1)
        value = np.stack([beside(row, -1), diagonal(row), beside(row, 1)], axis=1)
        inside = (column >= 0) & (column < unknowns)
        starts = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        return starts, column[inside], value[inside]
    return rows

SYSTEMS = {
    "skew": rows_of(lambda row, side: side * np.ones(row.size), lambda row: 0.0 * row),
    "indefinite": rows_of(lambda row, side: 0.1 + 0.0 * row, lambda row: (-1.0) ** row * (row + 1)),
    "large": rows_of(lambda row, side: 0.0 * row, lambda row: 1e10 + 0.0 * row),
    "singular": rows_of(lambda row, side: -1.0 + 0.0 * row,
                        lambda row: 2.0 - (row == 0) - (row == UNKNOWNS - 1)),
}
found = []
for matrix, solver, pc, restart in WANTED:
    for option, value in {"pc_type": pc, "ksp_gmres_restart": restart}.items():
        PETSc.Options().setValue(option, value)
    system = LinearSystem.of_ones(
        matrix_of_rows(SYSTEMS[matrix], UNKNOWNS, PETSc, PETSc.COMM_WORLD), {})
    if matrix == "singular":
        system.right_side.set(1.0)
    try:
        with petsc_errors(parallel):
            rank, _, ending = RecordedSolver(solver_named(solver), system, iterations=60,
                                      preconditioner=pc, parallel=parallel).record()
        found.append([rank.bodies.duration.size, f"{ending.shortfall} {ending.doubt}"])
    except UsageError as error:
        found.append([0, str(error)])
for names in (["gmers"], ["cg", "pipegmres"]):
    try:
        KrylovExperiment(workload="diagonal", solvers=tuple(names), iterations=5).check_ranks(comm)
    except UsageError as error:
        found.append([0, str(error)])
everybody = comm.allgather(found)
if comm.rank == 0:
    print(json.dumps([every_type, PETSc.Sys.getVersion(), everybody]))
"""
FAILURES = {
    ("skew", "bcgs", "none", 30): (0, "DIVERGED_BREAKDOWN: the method broke down"),
    ("indefinite", "cg", "none", 30): (
        1,
        "after 1 of 60 iterations (DIVERGED_INDEFINITE_MAT: the m",
    ),
    ("indefinite", "cg", "jacobi", 30): (
        1,
        "DIVERGED_INDEFINITE_PC: the preconditioner is not pos",
    ),
    ("skew", "gmres", "bjacobi", 30): (0, "the preconditioner failed; is the matrix singular"),
    ("large", "richardson", "none", 30): (60, "is not finite (NaN or infinity)"),
    ("singular", "cg", "jacobi", 30): (
        60,
        "the solution is worse than zero; is the matrix singular",
    ),
}
"""Matrix, solver, preconditioner and restart; iterations that are kept, and what is said."""
UNKNOWN = ("Unknown solver 'gmers'; did you mean", "Unknown solver 'pipegmres'; did you mean")


@pytest.fixture(scope="module")
def told(module_ranks: Ranks) -> list[Any]:
    """Return what every type did, PETSc's version, and how solves failed on either rank."""
    failing = FAILING.replace("WANTED", repr(list(FAILURES)))
    done = module_ranks(2, script=EVERY_TYPE + failing)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def every_type(told: list[Any]) -> dict[str, Any]:
    """Return what every type did that the page speaks of: of PETSc 3.18 these are all."""
    types, version, _ = told
    named = named_on_the_page()
    if version[:2] == [3, 18]:
        assert named >= types.keys(), types.keys() - named
    return {name: found for name, found in types.items() if name in named}


def test_solves_that_fail_say_why_and_keep_what_they_did(told: list[Any]) -> None:
    first, second = told[2]
    assert first == second
    for wanted, expected, (bodies, said) in zip(FAILURES, FAILURES.values(), first, strict=False):
        assert bodies == expected[0], (wanted, said)
        assert expected[1] in said, (wanted, said)
    for expected_words, (_, said) in zip(UNKNOWN, first[len(FAILURES) :], strict=True):
        assert said.startswith(expected_words), said


def test_a_breakdown_is_kept_and_marked(launched: Launched) -> None:
    folder, ended = launched[0], launched[1]["breakdown"]
    assert ended.returncode == 0, ended.stderr
    assert "DIVERGED_INDEFINITE_MAT: the matrix is not positive definite" in ended.stderr
    run = hindmost.open(folder / "breakdown/matrix-cg-p2-0.h5")
    ending = Ending.of(run.header)
    assert ending is not None
    assert (run.bodies, ending.asked, ending.as_asked) == (ending.done, 50, False)


def test_a_grid_that_cannot_be_split_is_refused(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(3, "run", "laplacian-2d", "--grid", "2x2", "--solver", "cg", "--out", "runs")
    assert done.returncode == 2
    assert "PETSc cannot split a grid of 2 x 2 points into boxes for 3 ranks" in done.stderr
