"""Compiling every loop of the mesh before anything is timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from hindmost.harness.adaptive.mesh.exchange import pack_loop
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.models.compiled import compiled


def compile_mesh(alone: Any) -> None:
    """Compile, or fetch from where compiled loops are kept, all that a mesh runs.

    Parameters
    ----------
    alone : MPI communicator
        Of this process only, such as ``MPI.COMM_SELF``. Let rank 0 of a run go first.
    """
    mesh = Mesh(alone, (2, 2), 1)
    state = mesh.connect(np.ones((4, 1)))
    for flag in (1, -1):
        state, _ = mesh.adapt(np.full(mesh.owned, flag, np.int8), state)
        state, _ = mesh.balance(state)
        state = mesh.connect(state)
    nowhere = np.empty(0, np.int32)
    for kind in (np.int8, np.float64):
        compiled(pack_loop)(nowhere, np.empty((0, 1), kind), np.empty((0, 1), kind))
