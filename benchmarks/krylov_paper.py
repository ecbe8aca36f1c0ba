"""What the paper on noise and pipelined Krylov methods measured, to stand beside this machine.

H. Morgan, P. Sanan, M. Knepley, R. Mills, The impact of noise on pipelined Krylov method
performance: tables 1 to 4. Times in seconds, 8192 ranks, 10^6 unknowns, 5000 iterations, restart
30, Jacobi. ex23 is the one-dimensional Laplacian, ex48 the Blatter-Pattyn ice flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Case = tuple[str, str]
"""Workload and solver, by the names that they have here."""

LAPLACIAN, ICE = "laplacian-1d", "ice-flow"
NAMES = {LAPLACIAN: "ex23", ICE: "ex48"}
MODELS = {
    "stationary-johnsonsu": "E, Johnson SU",
    "stationary-nct": "E, non-central t",
    "nonstationary-uniform": "Ê, uniform",
    "cramer": "Cramér",
    "bertsimas": "Bertsimas",
}
"""Models of table 1 by their names here."""


class JohnsonParameters(NamedTuple):
    """Parameters by scipy's names; loc and scale in seconds."""

    a: float
    b: float
    loc: float
    scale: float


class UniformParameters(NamedTuple):
    """The laws of the fastest rank and of the span of an iteration."""

    least: JohnsonParameters
    span: JohnsonParameters


SOLVE_S: Mapping[Case, float] = {
    (LAPLACIAN, "gmres"): 2.217,
    (LAPLACIAN, "pgmres"): 2.006,
    (ICE, "gmres"): 2.943,
    (ICE, "pgmres"): 2.656,
    (LAPLACIAN, "bcgs"): 3.957,
    (LAPLACIAN, "pipebcgs"): 3.53,
}
"""KSPSolve of tables 1, 3 and 4, on Theta."""

TABLE_1: Mapping[Case, Mapping[str, float]] = {
    (LAPLACIAN, "gmres"): dict(zip(MODELS, (4.831, 4.365, 2.432, 6.35, 8.102), strict=True)),
    (LAPLACIAN, "pgmres"): dict(zip(MODELS, (1.865, 1.868, 1.857), strict=False)),
    (ICE, "gmres"): dict(zip(MODELS, (5.716, 10.88, 3.189, 20.59, 27.99), strict=True)),
    (ICE, "pgmres"): dict(zip(MODELS, (2.413, 2.413, 2.455), strict=False)),
}

TABLE_2: Mapping[Case, UniformParameters] = {
    (LAPLACIAN, "gmres"): UniformParameters(
        JohnsonParameters(-0.586, 3.35, 3.97e-4, 1.07e-21),
        JohnsonParameters(-0.740, 3.21, 8.06e-4, 1.86e-23),
    ),
    (LAPLACIAN, "pgmres"): UniformParameters(
        JohnsonParameters(2.84, 6.74, 3.10e-4, 2.26e-19),
        JohnsonParameters(-0.0618, 2.42, 2.21e-3, 6.47e-19),
    ),
    (ICE, "gmres"): UniformParameters(
        JohnsonParameters(0.674, 2.09, 2.22e-2, 2.24e-24),
        JohnsonParameters(0.669, 2.10, 1.71e-3, 9.23e-26),
    ),
    (ICE, "pgmres"): UniformParameters(
        JohnsonParameters(-0.602, 3.34, 4.07e-4, 3.05e-23),
        JohnsonParameters(1.24, 1.84, 1.36e-2, 1.66e-18),
    ),
}

TABLE_3: Mapping[Case, float] = {
    (LAPLACIAN, "gmres"): 2.416,
    (LAPLACIAN, "pgmres"): 1.908,
    (ICE, "gmres"): 3.14,
    (ICE, "pgmres"): 2.482,
}
"""Simulated times."""

TABLE_4: tuple[tuple[str, Case, float, float], ...] = (
    ("Theta", (LAPLACIAN, "bcgs"), 3.957, 4.227),
    ("Theta", (LAPLACIAN, "pipebcgs"), 3.53, 3.512),
    ("Piz Daint", (ICE, "gmres"), 3.029, 3.541),
    ("Piz Daint", (ICE, "pgmres"), 2.642, 2.473),
    ("Mira", (ICE, "gmres"), 3.026, 3.189),
    ("Mira", (ICE, "pgmres"), 2.804, 2.455),
)
"""Machine, case, KSPSolve, and the non-stationary model with uniform laws."""
