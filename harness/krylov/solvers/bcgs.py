"""Stabilised biconjugate gradients: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import MONITORED, Solver

BCGS = Solver(
    name="bcgs", synchronisation="blocking", lag=0, pattern=MONITORED, pipelined=("pipebcgs",)
)
