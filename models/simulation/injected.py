"""Bodies that do the same, and the noise that is removed from them or added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.recurring import find_recurring, places_of_rules
from hindmost.models.simulation.blocks import NONE, EventBlock
from hindmost.models.simulation.program import Program, Times

FEWEST_ALIKE = 5
"""Bodies at a place, for a typical value of its work."""


def without_injected(program: Program) -> Program:
    """Return a program without the noise that was put into it.

    Raises
    ------
    UsageError
        None was, or not at one point of each iteration.
    """
    if program.injected is None:
        raise UsageError(
            "No noise was injected into this run at one point of each iteration, so none can be "
            "removed. Record one with 'hindmost run --inject LAW', without at=calls."
        )
    block = program.block
    work = np.concatenate([block.work, block.rest[:, :, None]], axis=2).astype(np.float64)
    for rows in alike(program, fewest=1, by_place=False):
        detours = program.injected[rows]
        at = step_of_detours(work[rows], detours)
        work[rows, :, at] = np.maximum(work[rows, :, at] - detours, 0.0)
    rest = np.ascontiguousarray(work[:, :, -1])
    quiet = replace(block, work=np.ascontiguousarray(work[:, :, :-1]), rest=rest)
    return replace(program, block=quiet, injected=None)


def step_of_detours(work: Times, detours: Times) -> int:
    """Return the step of bodies in which their detours were taken.

    Every body has one point for detours. The work of its step is never shorter than they are, and
    without them it varies least from body to body. How long the step is says nothing: that of an
    orthogonalisation may be far longer.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank, step), seconds
        Of bodies with the same events, in the order of time.
    detours : float64 array, shape (iteration, rank), seconds
    """
    lacking = np.maximum(detours[:, :, None] - work, 0.0).sum(axis=(0, 1))
    change, of_detours = np.diff(work, axis=0), np.diff(detours, axis=0)[:, :, None]
    # Absolute values: a rank that lost its core once would decide over squares.
    varies = (np.abs(change - of_detours) - np.abs(change)).sum(axis=(0, 1))
    # By rounding, the step that has them may lack some.
    varies[lacking > lacking.min() + 0.01 * detours.sum()] = np.inf
    return int(varies.argmin())


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


def delayed(block: EventBlock, detours: Times) -> EventBlock:
    """Return bodies that begin with a detour of every rank."""
    work, rest = np.array(block.work, np.float64), np.array(block.rest, np.float64)
    empty = block.kind[:, 0] == NONE
    work[~empty, :, 0] += detours[~empty]
    rest[empty] += detours[empty]
    return replace(block, work=work, rest=rest)


def with_noise(
    program: Program, stay: Times, quantile: float, factor: float
) -> tuple[EventBlock, Times]:
    """Return bodies whose work and stays deviate by a factor from a quantile at their place.

    On each rank; with a factor of 0 they are that quantile. Places are those in the restart cycle,
    if enough bodies share each; bodies of few alike stay as they are.
    """
    block = program.block
    work, rest = np.array(block.work, np.float64), np.array(block.rest, np.float64)
    duration, stay = np.array(block.duration, np.float64), stay.copy()
    for rows in alike(program):
        for values in (work, rest, duration, stay):
            typical = np.quantile(values[rows], quantile, axis=0)
            deviating = typical + factor * (values[rows] - typical)
            values[rows] = deviating if values is stay else np.maximum(deviating, 0.0)
    return replace(block, work=work, duration=duration, rest=rest), stay
