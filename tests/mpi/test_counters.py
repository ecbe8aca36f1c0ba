"""Counters of perf_event_open at every mark: hardware where there is any, software everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost

SOFTWARE = """
import json
import time
import numpy as np
from hindmost.harness import petsc
parallel = petsc.start()
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solves.recorded import RecordedSolver
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.recorder.counters import open_counters

TASK_CLOCK, PAGE_FAULTS = (1, 1), (1, 2)
counters = open_counters((TASK_CLOCK, PAGE_FAULTS))
PETSc = parallel.PETSc
system = PROBLEMS["laplacian-1d"].build(SystemRequest(unknowns=20000), PETSc, PETSc.COMM_WORLD)
solver = RecordedSolver(SOLVERS["gmres"], system, iterations=300, preconditioner="jacobi",
                        parallel=parallel, counting=counters.open)
solver.warm_up()
bodies = solver.record()[0].bodies
system.solution.set(0.0)
before_s = time.process_time()
solver.ksp.solve(system.right_side, system.solution)
spent_s = time.process_time() - before_s  # of the same solve once more
print(json.dumps({
    "open": counters.open, "why_not": counters.why_not, "quick": counters.quick,
    "seconds": bodies.duration.tolist(), "spent_s": spent_s,
    "task_s": (bodies.instructions * 1e-9).tolist() if counters.open else [],
    "faults": bodies.cycles.tolist() if counters.open else [],
}))
"""


@pytest.mark.mpi
def test_software_counters_of_every_body(ranks: Ranks) -> None:
    done = ranks(1, script=SOFTWARE)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if not found["open"]:
        pytest.skip(f"perf_event_open: {found['why_not']}")
    seconds, task, faults = (np.array(found[name]) for name in ("seconds", "task_s", "faults"))
    assert task.shape == seconds.shape == (300,)
    assert not found["quick"], "a software event is in no register"
    # A task runs no longer than time passes, and a solve takes about the same once more.
    # The counts are read after the clock, so a body's may be off by the cost of a reading.
    assert (task > 0).all()
    assert task.sum() < seconds.sum() * 1.01
    assert 0.5 * found["spent_s"] < task.sum() < 2.0 * found["spent_s"]
    assert (faults >= 0).all()


def commands(_: Path) -> Commands:
    """Return a solve whose instructions are counted where there are counters."""
    wanted = ("run", "laplacian-1d", "--solver", "gmres", "--iterations", "50", "--unknowns", "500")
    return {"counted": (*wanted, "--out", "runs")}


@pytest.mark.mpi
def test_counted_or_absent_and_doctor_says_which(launched: Launched, ranks: Ranks) -> None:
    folder, done = launched[0], launched[1]["counted"]
    assert done.returncode == 0, done.stderr
    run = hindmost.open(folder / "runs/laplacian-1d-gmres-p2-0.h5")
    # In a process of its own: it starts MPI, after which this one could launch no ranks.
    if "instructions and cycles are counted" in ranks(1, "doctor").stdout:
        assert run.variable("instructions").shape == (50, 2)
        assert np.nanmin(run.variable("instructions")) > 0
        assert np.nanmin(run.variable("cycles")) > 0
        return
    assert not run.has("instructions")
    assert run.summary["counted"] == {"instructions": 0.0, "cycles": 0.0}
