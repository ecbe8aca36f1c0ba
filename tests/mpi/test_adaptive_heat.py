"""Heat on an adaptive mesh by PETSc's KSP, beside the own conjugate gradients, on real ranks."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from tests.conftest import ROOT, Ranks

SCRIPT = """
import json, sys, time
import numpy as np
from hindmost.harness.petsc import start
parallel = start([])
from mpi4py import MPI
from hindmost.harness.adaptive.physics.conduction import Conduction
from hindmost.harness.adaptive.physics.heat import FaceHeat
from hindmost.harness.adaptive.physics.heat_petsc import PetscHeat
from tests.harness.adaptive.meshes import share, two_levels

world = parallel.communicator
def end(*error):
    sys.__excepthook__(*error)
    world.Abort(1)
sys.excepthook = end
mesh = two_levels(9, 7, lambda i, j: (i + 2 * j) % 5 < 2)
random = np.random.default_rng(11)
rho, warmth = random.uniform(0.2, 3, (2, mesh.owned))
whole = np.column_stack([rho, rho, -rho, rho * warmth + rho])

def steps_on(comm):
    # of three ranks the last has no cells
    owner = (np.arange(mesh.owned) * min(comm.size, 2) // mesh.owned).astype(np.int32)
    patch, rows = share(mesh, owner, comm.rank)

    class Whole:
        messages = comm.size
        def bytes_sent(self, columns):
            return 0
        def fill(self, field):
            whole = np.zeros((mesh.owned, field.shape[1]))
            whole[rows[: patch.owned]] = field[: patch.owned]
            comm.Allreduce(MPI.IN_PLACE, whole)
            field[patch.owned :] = whole[rows[patch.owned :]]

    def allsum(array):
        comm.Allreduce(MPI.IN_PLACE, array)
        return array

    def equations():
        return Conduction(
            patch, spacing=0.25, conductivity=2.0, specific_heat=1.0, exchange=Whole()
        )

    own = FaceHeat(equations(), allsum=allsum, tolerance=1e-12)
    petsc = PetscHeat(equations(), PETSc=parallel.PETSc, communicator=comm, tolerance=1e-12)
    states = [whole[rows].copy() for _ in range(2)]
    told = []
    for step in range(3):
        counts = [solver.step(state, 0.3) for solver, state in zip((own, petsc), states)]
        weight = np.sum(states[1][: patch.owned, 3] / 4.0 ** patch.level[: patch.owned])
        before = np.sum(whole[:, 3] / 4.0 ** mesh.level)
        apart = abs(states[0] - states[1])[: patch.owned].max(initial=0.0) / whole[:, 3].max()
        apart = comm.allreduce(apart, MPI.MAX)
        drift = abs(comm.allreduce(weight) / before - 1)
        told.append([*counts, bool(apart < 1e-11), bool(drift < 1e-14)])
    petsc.destroy()
    return told

found = {}
for count, options in ((1, {}), (2, {}), (3, {}), (1, {"pc_type": "lu"})):
    for name, value in options.items():
        parallel.PETSc.Options().setValue(name, value)
    comm = world.Split(world.rank < count, world.rank)
    if world.rank < count:
        found[" ".join([str(count), *options.values()])] = steps_on(comm)
    waiting = world.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)
if world.rank == 0:
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def steps(module_ranks: Ranks) -> dict[str, list[list[Any]]]:
    """Return the iterations of both solvers in every step, and whether they agree."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = module_ranks(3, script=SCRIPT, environment={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[Any]]] = json.loads(done.stdout)
    return found


@pytest.mark.mpi
@pytest.mark.parametrize("count", [1, 2, 3])
def test_petsc_and_own_solver_agree(steps: dict[str, list[list[Any]]], count: int) -> None:
    assert len(steps[str(count)]) == 3
    for own, petsc, *right in steps[str(count)]:
        assert right == [True, True]
        # Both are conjugate gradients with Jacobi, which stop by the same norm.
        assert abs(own - petsc) <= 1


@pytest.mark.mpi
def test_petsc_takes_its_options(steps: dict[str, list[list[Any]]]) -> None:
    assert [petsc for _, petsc, *_ in steps["1 lu"]] == [1, 1, 1]
    assert all(right == [True, True] for _, _, *right in steps["1 lu"])
