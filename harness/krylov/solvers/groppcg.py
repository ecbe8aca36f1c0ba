"""Gropp's conjugate gradients: two reductions a body, each posted and awaited in it."""

from dataclasses import replace

from hindmost.harness.krylov.solvers.cr import CR

GROPPCG = replace(CR, name="groppcg", synchronisation="pipelined")
