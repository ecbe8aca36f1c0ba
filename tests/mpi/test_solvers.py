"""Every solver with every preconditioner: bodies against PETSc's own count, and closed books."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.runfile.ending import Ending

pytestmark = pytest.mark.mpi

PRECONDITIONERS = {
    "none": {},
    "jacobi": {},
    "bjacobi": {"sub_pc_type": "ilu"},
    "sor": {},
    "gamg": {},
    "ksp": {"ksp_ksp_type": "gmres", "ksp_ksp_max_it": "3", "ksp_pc_type": "jacobi"},
}
"""Each with the options of its parts; ``ksp`` solves inside every application."""

EXACT = ("bjacobi",)
"""Those that solve the tridiagonal system almost at once: PETSc's PIPEBCGS then divides by zero."""

ENDS = {
    "forced": (None, list(PRECONDITIONERS)),
    "to a tolerance": (1e-6, ["none", "bjacobi", "ksp"]),
}
"""How solves end, and with which preconditioners."""

EVERY_COMBINATION = """
import json, sys
from hindmost.harness import petsc
parallel = petsc.start(json.loads(sys.argv[4]))
import numpy as np
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solves.recorded import FORCED, RecordedSolver
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.krylov.solvers import GMRES_GOES_ON
preconditioners, ends, names = (json.loads(word) for word in sys.argv[1:4])
PETSc, comm = parallel.PETSc, parallel.communicator
system = PROBLEMS["laplacian-1d"].build(SystemRequest(unknowns=300), PETSc, PETSc.COMM_WORLD)
options, found = PETSc.Options(), []
exact = json.loads(sys.argv[5])
for end, (rtol, usable) in ends.items():
    for pc in usable:
        for name, value in {"pc_type": pc, **preconditioners[pc]}.items():
            options.setValue(name, value)
        for name in names:
            if name == "pipebcgs" and pc in exact:
                continue
            for option in (*FORCED, *GMRES_GOES_ON):
                options.delValue(option)
            solver = RecordedSolver(
                SOLVERS[name], system, iterations=45, preconditioner=pc, parallel=parallel,
                rtol=rtol, activities=True)
            rank, _, ending = solver.record()
            bodies = rank.bodies
            parts_s = (bodies.lead_in_s + bodies.duration.sum() + bodies.restart_duration.sum()
                       + bodies.lead_out_s)
            local = bodies.phase_duration[:, bodies.phases.index("local")]
            mine = {
                "balance": abs(parts_s - bodies.solve_time_s),
                "phases": float(np.abs(bodies.phase_duration.sum(axis=1, dtype=float)
                                       - bodies.duration).max()),
                "least": float(bodies.phase_duration.min()),
                "local": float(np.abs(bodies.activity_duration.sum(axis=1, dtype=float)
                                      - local).max()),
                "least_activity": float(bodies.activity_duration.min()),
            }
            worst = {key: (min if key.startswith("least") else max)(comm.allgather(value))
                     for key, value in mine.items()}
            found.append({"end": end, "pc": pc, "solver": name, "generic": ending.generic,
                          "counted": int((bodies.kind != 1).sum()), "done": ending.done,
                          "petsc": solver.ksp.getIterationNumber(), "reason": ending.reason,
                          "reached": ending.reached, "as_asked": ending.as_asked,
                          "norms": int(np.isfinite(rank.residual_norm).sum()),
                          "true": ending.true_residual, **worst})
if comm.rank == 0:
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def every_combination(module_ranks: Ranks) -> list[dict[str, Any]]:
    wanted: list[Any] = [PRECONDITIONERS, ENDS, list(SOLVERS.names), [], EXACT]
    words = [json.dumps(each) for each in wanted]
    done = module_ranks(2, *words, script=EVERY_COMBINATION)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(("end", "pc"), [(end, pc) for end in ENDS for pc in ENDS[end][1]])
def test_bodies_of_every_solver_with_every_preconditioner(
    every_combination: list[dict[str, Any]], pc: str, end: str
) -> None:
    here = [each for each in every_combination if (each["pc"], each["end"]) == (pc, end)]
    left_out = {"pipebcgs"} if pc in EXACT else set()
    assert {each["solver"] for each in here} == set(SOLVERS.names) - left_out
    for each in here:
        assert each["generic"] == "", each
        assert each["counted"] == each["done"] > 0, each
        # PETSc counts an iteration in which CG finds that nothing is left to do, and the one that
        # PIPECG begins when it has done all that it may.
        late = each["reason"] in ("CONVERGED_ATOL", "DIVERGED_ITS")
        assert each["petsc"] - each["done"] in (0, late), each
        # The last norm of a cycle of GMRES is not always told; and a solve that is forced on after
        # an exact preconditioner has left nothing divides zeros: rounding decides when.
        unknown = each["done"] - each["norms"]
        divides = end == "forced" and pc in EXACT
        assert unknown in (0, "gmres" in each["solver"]) or (divides and each["norms"] > 0), each
        assert max(each[name] for name in ("balance", "phases", "local")) < 1e-6, each
        assert min(each["least"], each["least_activity"]) > -1e-9, each
        if end == "forced":
            assert each["as_asked"] == (each["done"] == 45), each
            assert not each["reached"], each
        else:
            assert each["reached"] == each["as_asked"] == (each["reason"] == "CONVERGED_RTOL"), each
            assert each["true"] < 1e-2 or not each["reached"], each


def test_monitors_and_variants_of_a_method_leave_its_bodies_alone(ranks: Ranks) -> None:
    options = ["-ksp_cg_single_reduction", "-ksp_monitor_true_residual", "ascii:norms.txt"]
    wanted: list[Any] = [
        {"jacobi": {}},
        {"forced": (None, ["jacobi"])},
        list(SOLVERS.names),
        options,
        [],
    ]
    words = [json.dumps(each) for each in wanted]
    done = ranks(2, *words, script=EVERY_COMBINATION)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    for each in found:
        assert (each["generic"], each["counted"], each["petsc"]) == ("", 45, 45), each
        assert each["balance"] < 1e-6


ENDINGS = {
    "to a tolerance": (
        "laplacian-1d", "--unknowns", "300", "--iterations", "200", "--solver", "cg",
        "--solver", "gmres", "--rtol", "1e-6", "--activities", "--out", "tolerance",
    ),
}  # fmt: skip


def commands(_: Path) -> Commands:
    """Return solves that end at a tolerance, or at the most iterations."""
    return {name: ("run", *words) for name, words in ENDINGS.items()}


def test_solves_to_a_tolerance_are_kept_with_what_they_reached(
    launched: Launched,
) -> None:
    folder, done = launched[0], launched[1]["to a tolerance"]
    assert done.returncode == 0, done.stderr
    files = [folder / file for file in done.stdout.split()]
    runs = {run.header.solver: run for run in map(hindmost.open, files)}
    cg, gmres = (Ending.of(runs[name].header) for name in ("cg", "gmres"))
    assert cg is not None
    assert gmres is not None
    # CG needs half as many iterations as there are unknowns: the right side is symmetric.
    assert (cg.asked, cg.done, cg.reason) == (200, 150, "CONVERGED_RTOL")
    assert cg.reached
    assert not gmres.reached
    assert gmres.done == 200
    assert "gmres: rtol 1e-06 not reached in 200 iterations" in done.stderr
    for run in runs.values():
        assert run.header.spec["rtol"] == 1e-6
        assert run.activities[-1] == "other"
        spent = run.variable("activity_duration").sum(axis=2, dtype=np.float64)
        np.testing.assert_allclose(spent, run.phase("local"), atol=1e-9)
        orthogonal = run.activity("orthogonalisation")
        assert orthogonal.any() == (run.header.solver == "gmres")
        assert (run.activity("MatMult") > 0).all()
