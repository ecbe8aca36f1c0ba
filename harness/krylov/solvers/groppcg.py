"""Gropp's conjugate gradients: two reductions a body, each posted and awaited in it."""

from hindmost.harness.krylov.solvers.solver import MONITORED, Solver

GROPPCG = Solver(name="groppcg", synchronisation="pipelined", lag=0, pattern=MONITORED)
