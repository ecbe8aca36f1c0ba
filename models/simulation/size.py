"""A recorded solve of a system of another size, on the same ranks.

The work of every iteration grows with the unknowns of a rank. If the memory was probed, the bytes
that an iteration reads and writes take longer by what the probe says of as many bytes that a rank
reads again and again: vectors that fitted into a cache may do so no more. What an iteration took
beyond the probed time per byte, such as the arithmetic of a product, grows with the unknowns alone.
Messages between neighbours stay as recorded; there are as many.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.injected import alike, without_injected
from hindmost.models.simulation.length import SolveShape
from hindmost.models.simulation.memory import OTHERS
from hindmost.models.simulation.program import Program, Times
from hindmost.models.simulation.recipes import RECIPES, Unit, steps_of

HELD = {"cg": 6.0, "pipecg": 11.0, "bcgs": 9.0, "pipebcgs": 17.0}
"""Vectors that solvers without a basis read in an iteration, Jacobi's diagonal included."""
MATRIX = 4.5
"""Vectors that take as much memory as a matrix of three entries a row, the sparsest there is; used
where the entries are not known."""
PRODUCT = 2.0
"""Vectors that a product with the matrix reads and writes beside it."""
UNPROBED = 2.0
"""How much more a byte may cost beyond a cache if the memory was not probed; 2.2 was measured."""
SHORTEST_S = 1e-12
"""Work below it is rounding."""
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
    ratio = cache_ratio(program, factor)
    slower = factor * (1.0 + bounded(cache_growth(program, factor), ratio - 1.0))
    # Injected detours do not grow with the work.
    injected = program.injected
    block = program.block if injected is None else without_injected(program).block
    if shape.memory is None:
        ratio = np.full(program.bodies, np.clip(factor, 1.0 / UNPROBED, UNPROBED))
    # Nothing of the work, or all of it, is in proportion to the times per byte.
    low, high = np.minimum(factor * ratio, factor), np.maximum(factor * ratio, factor)
    work, rest = block.work * slower[:, None, None], block.rest * slower[:, None]
    if injected is not None:
        work[:, :, 0] += injected
    return replace(
        program,
        block=replace(block, work=work, rest=rest),
        injected_at_calls=False,
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
    bytes = held_bytes(program, shape)
    per_byte_s = shape.memory.per_byte_s
    return np.asarray(per_byte_s(bytes * factor) / per_byte_s(bytes))


def cache_growth(program: Program, factor: float) -> NDArray[np.float64]:
    """Return how much longer the work takes for each of its bytes, as a share of the work.

    Returns
    -------
    float64 array, shape (iteration,)
        Time per byte, beyond the recorded one, of the bytes that an iteration reads and writes,
        over the typical work of its place.
    """
    shape = program.shape
    if shape is None or shape.memory is None or not shape.vector_bytes:
        return np.zeros(program.bodies)
    bytes = held_bytes(program, shape)
    more_s = shape.memory.per_byte_s(bytes * factor) - shape.memory.per_byte_s(bytes)
    moved = moved_vectors(program, shape) * shape.vector_bytes
    return np.asarray(moved * more_s / np.maximum(typical_work(program), SHORTEST_S))


def outruns_probe(program: Program) -> bool:
    """Tell whether a run moves its bytes in less time than the probe of the memory took for them.

    The machine was slower then, so the probed times say nothing of the run but their ratios.
    """
    shape = program.shape
    if shape is None or shape.memory is None or not shape.vector_bytes:
        return False
    probed_s = moved_vectors(program, shape) * shape.vector_bytes
    probed_s = probed_s * shape.memory.per_byte_s(held_bytes(program, shape))
    return bool(np.median(probed_s / np.maximum(typical_work(program), SHORTEST_S)) > 1.0)


def typical_work(program: Program) -> Times:
    """Return the typical work of the place of every iteration: float64, shape (iteration,), s."""
    work = (program if program.injected is None else without_injected(program)).block
    body_s = work.work.sum(axis=2) + work.rest
    typical_s = np.median(body_s, axis=1)
    for rows in alike(program):
        typical_s[rows] = np.median(body_s[rows])
    return np.asarray(typical_s)


def held_bytes(program: Program, shape: SolveShape) -> NDArray[np.float64]:
    """Return what a rank reads again and again in each iteration, in bytes: (iteration,)."""
    matrix = shape.matrix or MATRIX
    held = np.full(program.bodies, HELD.get(shape.solver, OTHERS) + matrix)
    if shape.restart:
        held = program.position + 1.0 + OTHERS + matrix
    return held * shape.vector_bytes


def moved_vectors(program: Program, shape: SolveShape) -> NDArray[np.float64]:
    """Return how many vectors an iteration reads and writes, matrix included: (iteration,).

    Of solvers whose steps are not known, each vector that they hold once.
    """
    recipe = RECIPES.get(shape.solver)
    if recipe is None:
        return held_bytes(program, shape) / shape.vector_bytes
    weight = np.zeros(len(Unit))
    weight[[Unit.VECTOR, Unit.BASIS]] = 1.0
    weight[Unit.LOCAL] = PRODUCT + (shape.matrix or MATRIX)
    moved = np.zeros(program.bodies)
    for step in steps_of(recipe.body, halo=False, preconditioner=shape.preconditioner):
        moved += weight @ step.fixed + program.position * (weight @ step.by_place)
    return moved


def bounded(growth: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a growth, or a decrease, that is no more than another."""
    return np.clip(growth, np.minimum(most, 0.0), np.maximum(most, 0.0))
