"""Conjugate gradients: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import MONITORED, Solver

CG = Solver(
    name="cg", synchronisation="blocking", lag=0, pattern=MONITORED, pipelined=("pipecg", "groppcg")
)
