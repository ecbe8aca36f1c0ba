"""Conjugate residuals: blocking reductions; a body lasts from monitor to monitor."""

from hindmost.harness.krylov.solvers.solver import MONITORED, Solver

CR = Solver(name="cr", synchronisation="blocking", lag=0, pattern=MONITORED, pipelined=("pipecr",))
