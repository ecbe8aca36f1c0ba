"""The pulse of the adaptive kernel: steps of its own flow, on a mesh that never changes."""

from __future__ import annotations

from functools import cache

import numpy as np

from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.physics.flow import Hydro
from hindmost.harness.probes.pulse import PulseReader

SIDE = 16
"""Cells along a side of the mesh: with their faces they fit into a core's own cache."""
STEP = 1e-12
"""So short a step leaves the gas at rest as it is."""
GAS = (1.0, 0.0, 0.0, 2.5)
GAMMA = 1.4


@cache
def pulse_reader() -> PulseReader:
    """Return what reads pulses of this rank; made once per process."""
    from mpi4py import MPI

    mesh = Mesh(MPI.COMM_SELF, (SIDE, SIDE), 1)
    state = mesh.connect(np.tile(GAS, (mesh.patch.owned, 1)))
    hydro = Hydro(mesh.patch, spacing=1.0, gamma=GAMMA)

    def step() -> None:
        hydro.largest_rate(state)
        hydro.step(state, STEP)

    return PulseReader(step)
