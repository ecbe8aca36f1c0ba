"""Heat on an adaptive mesh by PETSc's KSP, beside the own conjugate gradients, on real ranks."""

from __future__ import annotations

import os

import pytest
from tests.conftest import ROOT, Ranks

SCRIPT = """
import sys
import numpy as np
from hindmost.harness.petsc import start
parallel = start(sys.argv[1:])
from mpi4py import MPI
from hindmost.harness.adaptive.physics.conduction import Conduction
from hindmost.harness.adaptive.physics.heat import FaceHeat
from hindmost.harness.adaptive.physics.heat_petsc import PetscHeat
from tests.harness.adaptive.meshes import share, two_levels

comm = parallel.communicator
def end(*error):
    sys.__excepthook__(*error)
    comm.Abort(1)
sys.excepthook = end
mesh = two_levels(9, 7, lambda i, j: (i + 2 * j) % 5 < 2)
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

random = np.random.default_rng(11)
rho, warmth = random.uniform(0.2, 3, (2, mesh.owned))
whole = np.column_stack([rho, rho, -rho, rho * warmth + rho])
def equations():
    return Conduction(patch, spacing=0.25, conductivity=2.0, specific_heat=1.0, exchange=Whole())

own = FaceHeat(equations(), allsum=allsum, tolerance=1e-12)
petsc = PetscHeat(equations(), PETSc=parallel.PETSc, communicator=comm, tolerance=1e-12)
states = [whole[rows].copy() for _ in range(2)]
for step in range(3):
    counts = [solver.step(state, 0.3) for solver, state in zip((own, petsc), states)]
    weight = np.sum(states[1][: patch.owned, 3] / 4.0 ** patch.level[: patch.owned])
    before = np.sum(whole[:, 3] / 4.0 ** mesh.level)
    apart = abs(states[0] - states[1])[: patch.owned].max(initial=0.0) / whole[:, 3].max()
    apart = comm.allreduce(apart, MPI.MAX)
    drift = abs(comm.allreduce(weight) / before - 1)
    if comm.rank == 0:
        print(step, *counts, apart < 1e-11, drift < 1e-14)
petsc.destroy()
"""


def outcome(ranks: Ranks, count: int, *options: str) -> list[list[str]]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = ranks(count, *options, script=SCRIPT, environment={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.mpi
@pytest.mark.parametrize("count", [1, 2, 3])
def test_petsc_and_own_solver_agree(ranks: Ranks, count: int) -> None:
    steps = outcome(ranks, count)
    assert len(steps) == 3
    for _, own, petsc, *right in steps:
        assert right == ["True", "True"]
        # Both are conjugate gradients with Jacobi, which stop by the same norm.
        assert abs(int(own) - int(petsc)) <= 1


@pytest.mark.mpi
def test_petsc_takes_its_options(ranks: Ranks) -> None:
    steps = outcome(ranks, 1, "-pc_type", "lu")
    assert [petsc for _, _, petsc, *_ in steps] == ["1", "1", "1"]
    assert all(right == ["True", "True"] for _, _, _, *right in steps)
