"""The linear systems that solvers are run on, by name."""

from __future__ import annotations

from hindmost.harness.krylov.problems.diagonal import DIAGONAL
from hindmost.harness.krylov.problems.laplacian_1d import LAPLACIAN_1D
from hindmost.harness.krylov.problems.problem import Problem
from hindmost.registry import Registry

PROBLEMS: Registry[Problem] = Registry("workload", (LAPLACIAN_1D, DIAGONAL))
"""Every linear system that ``hindmost run`` knows."""
