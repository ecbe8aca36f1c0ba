"""What the solve of a run consists of, and the memory that it ran in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from hindmost.analysis.runs.configuration import is_own_loop, options_of, solves_in
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine
from hindmost.models.simulation.length import SolveShape
from hindmost.models.simulation.memory import MemoryLevels
from hindmost.models.simulation.program import Program

JACOBI_VECTORS, COPY_VECTORS = 3.0, 2.0
"""Vectors that Jacobi's preconditioner reads and writes, and none."""
ENTRY_VECTORS = 1.5
"""Vectors that a matrix of one entry a row takes: 8 bytes a value and 4 a column."""
FEWEST_SIZES = 2
"""Probed sizes, for a time between them."""


def shape_of(run: Run) -> SolveShape | None:
    """Return what a solve consists of; None for several solves, whose cycles end within."""
    if solves_in(run) > 1:
        return None
    header = run.header
    given = header.spec.get("unknowns")
    unknowns = given if isinstance(given, int) and given > 0 else 0
    return SolveShape(
        solver=header.solver,
        iterations=header.iterations,
        restart=header.restart,
        drain=np.asarray(run.kind == BodyKind.DRAIN),
        extra=(run.bodies - header.iterations) // max(np.count_nonzero(run.position == 0), 1),
        unknowns=unknowns,
        vector_bytes=8.0 * unknowns / header.ranks,
        preconditioner=preconditioner_vectors(run),
        matrix=ENTRY_VECTORS * entries_of(run) / unknowns if unknowns else 0.0,
    )


def entries_of(run: Run) -> int:
    """Return how many entries the matrix stores; 0 if not known."""
    given = run.header.spec.get("nonzeros")
    return given if isinstance(given, int) and given > 0 else 0


def preconditioner_vectors(run: Run) -> float:
    """Return how many vectors a preconditioner reads and writes; 0 if not known.

    A solve of a program of one's own says which it has. For others without an option it is that of
    the problem, as `hindmost run` chose it.
    """
    words = options_of(run).split()
    chosen = "none" if run.header.workload == "diagonal" else "jacobi"
    for option, value in pairwise(words):
        if option == "-pc_type":
            chosen = value
    if is_own_loop(run):
        chosen = str(run.header.spec.get("pc_type"))
    return {"jacobi": JACOBI_VECTORS, "none": COPY_VECTORS}.get(chosen, 0.0)


def memory_of(run: Run, machine: Machine) -> MemoryLevels | None:
    """Return the levels of memory, as probed on as many ranks of a node; None if they were not."""
    hosts = hosts_of_all(run) or run.hosts
    ranks = max(hosts.count(host) for host in set(hosts))
    points = sorted(
        (each.bytes, each.seconds_per_byte)
        for each in machine.memory
        if each.ranks_per_node == ranks
    )
    if len(points) < FEWEST_SIZES:
        return None
    sizes, seconds = zip(*points, strict=True)
    return MemoryLevels(bytes=sizes, seconds_per_byte=seconds)


def with_memory(program: Program, run: Run, machine: Machine | None) -> Program:
    """Return a program with what was probed of the memory that the run was recorded in."""
    if machine is None or program.shape is None:
        return program
    return replace(program, shape=replace(program.shape, memory=memory_of(run, machine)))
