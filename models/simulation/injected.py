"""Bodies that do the same, and the noise that was injected into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.recurring import find_recurring, places_of_rules
from hindmost.models.simulation.blocks import NONE
from hindmost.models.simulation.program import Program

FEWEST_ALIKE = 5
"""Bodies at a place, for a typical value of its work."""


def without_injected(program: Program) -> Program:
    """Return a program without the noise that was put into it.

    Raises
    ------
    UsageError
        None was.
    """
    if program.injected is None:
        raise UsageError("No noise was injected into this run, so none can be removed.")
    block = program.block
    work, rest = np.array(block.work, np.float64), np.array(block.rest, np.float64)
    for rows in alike(program, fewest=1, by_place=False):
        detours = program.injected[rows]
        # Every body has one point for detours: without them, what is left there varies least.
        steps = np.concatenate([work[rows], rest[rows, :, None]], axis=2)
        left = np.square(steps - detours[:, :, None]).sum(axis=(0, 1))
        gained = left - np.square(steps).sum(axis=(0, 1))
        at = int(gained.argmin())
        if at == work.shape[2]:
            rest[rows] = np.maximum(rest[rows] - detours, 0.0)
        else:
            work[rows, :, at] = np.maximum(work[rows, :, at] - detours, 0.0)
    return replace(program, block=replace(block, work=work, rest=rest), injected=None)


def with_points(program: Program) -> NDArray[np.bool_]:
    """Return the bodies in which a detour may begin, one for each iteration: bool, (iteration,).

    A pipelined solver has bodies beyond its iterations: those that drain its pipeline have none,
    and others behind the first of a cycle, until it calls its monitor.
    """
    shape = program.shape
    if shape is None:
        return np.ones(program.bodies, np.bool_)
    filling = shape.extra - int(shape.drain.any())
    place = program.position
    return np.asarray(~shape.drain & ~((place >= 1) & (place <= filling)))


def alike(
    program: Program, *, fewest: int = FEWEST_ALIKE, by_place: bool = True
) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of bodies that do the same, at the same place of a cycle if asked for.

    Iterations that come back longer, as with output, are places as well: the program does so.
    """
    kind = np.where(program.block.recorded, program.block.kind, NONE)
    position = program.position
    if not by_place or np.unique(position).size * FEWEST_ALIKE > program.bodies:
        position = np.zeros_like(position)
    recurs = recurring_places(program, position) if by_place else np.zeros_like(position)
    key = np.column_stack([kind.astype(np.int64), position, recurs])
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    for each in range(int(group.max()) + 1):
        rows = np.flatnonzero(group == each)
        if rows.size >= fewest:
            yield rows


def recurring_places(program: Program, position: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Return a number for each body, 0 for those that do not come back longer: (iteration,)."""
    work = np.asarray(program.block.work.sum(axis=2) + program.block.rest, np.float64)
    if program.injected is not None:
        work = np.maximum(work - program.injected, 0.0)
    found = find_recurring(work, position)
    return places_of_rules([each.rule for each in found], program.bodies)
