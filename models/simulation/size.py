"""A recorded solve of a system of another size, on the same ranks.

The work of every iteration grows with the unknowns of a rank. If the memory was probed, each byte
takes as long as the probe says of what the rank then reads again and again: vectors that fitted
into a cache may do so no more. Messages between neighbours stay as recorded; there are as many.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.injected import without_injected
from hindmost.models.simulation.memory import OTHERS
from hindmost.models.simulation.program import Program

HELD = {"cg": 6.0, "pipecg": 11.0, "bcgs": 9.0, "pipebcgs": 17.0}
"""Vectors that solvers without a basis read in an iteration, Jacobi's diagonal included."""
MATRIX = 4.5
"""Vectors that take as much memory as a matrix of three entries a row, the sparsest there is."""
MOST = 1e6
"""Factor of the size; the least is its inverse."""


def of_size(program: Program, unknowns: int) -> Program:
    """Return the program of a system of another size.

    Raises
    ------
    UsageError
        The run does not say how large its system is, or the size is out of range.
    """
    shape = program.shape
    if shape is None or not shape.unknowns:
        raise UsageError(
            "This run does not say how many unknowns its system has, so no other size can be "
            "predicted."
        )
    factor = unknowns / shape.unknowns
    if not 1.0 / MOST <= factor <= MOST:
        raise UsageError(
            f"--unknowns {unknowns:,}: the run has {shape.unknowns:,}; give at least 1 and at most "
            f"{MOST:,.0f} times as many."
        )
    slower = factor * cache_ratio(program, factor)
    # Injected detours do not grow with the work.
    injected = program.injected
    block = program.block if injected is None else without_injected(program).block
    low, high = np.minimum(slower, factor), np.maximum(slower, factor)
    work, rest = block.work * slower[:, None, None], block.rest * slower[:, None]
    if injected is not None:
        work[:, :, 0] += injected
    return replace(
        program,
        block=replace(block, work=work, rest=rest),
        between=program.between * factor,
        after=program.after * factor,
        shape=replace(shape, unknowns=unknowns, vector_bytes=shape.vector_bytes * factor),
        doubt=(
            program.doubt[0] * float(low.mean() / slower.mean()),
            program.doubt[1] * float(high.mean() / slower.mean()),
        ),
    )


def cache_ratio(program: Program, factor: float) -> NDArray[np.float64]:
    """Return how much longer each byte takes at the other size: float64, shape (iteration,)."""
    shape = program.shape
    if shape is None or shape.memory is None or not shape.vector_bytes:
        return np.ones(program.bodies)
    held = np.full(program.bodies, HELD.get(shape.solver, OTHERS) + MATRIX)
    if shape.restart:
        held = program.position + 1.0 + OTHERS + MATRIX
    bytes = held * shape.vector_bytes
    per_byte_s = shape.memory.per_byte_s
    return np.asarray(per_byte_s(bytes * factor) / per_byte_s(bytes))
