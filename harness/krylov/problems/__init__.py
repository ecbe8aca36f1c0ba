"""The linear systems that solvers are run on, by name."""

from __future__ import annotations

from hindmost.harness.krylov.problems.by_rows import DIAGONAL, LAPLACIAN_1D
from hindmost.harness.krylov.problems.grid import (
    CONVECTION_DIFFUSION_2D,
    JACOBI_3D,
    LAPLACIAN_2D,
    LAPLACIAN_3D,
)
from hindmost.harness.krylov.problems.ice_flow import ICE_FLOW
from hindmost.harness.krylov.problems.matrix_file import MATRIX
from hindmost.harness.krylov.problems.problem import Problem
from hindmost.registry import Registry

PROBLEMS: Registry[Problem] = Registry(
    "workload",
    (
        LAPLACIAN_1D,
        LAPLACIAN_2D,
        LAPLACIAN_3D,
        CONVECTION_DIFFUSION_2D,
        JACOBI_3D,
        DIAGONAL,
        ICE_FLOW,
        MATRIX,
    ),
    group="hindmost.problems",
    kind=Problem,
)
"""Every linear system that ``hindmost run`` knows."""
