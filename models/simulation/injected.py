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
MOST_SEARCHED = 64
"""Ranks that are searched for iterations that come back longer."""
LACKING = 0.01
"""Share of the detours that the step which has them may lack, by rounding."""
LEAST_S = 1e-9
"""Least standard deviation of the work of a step."""


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
    work = np.concatenate([block.work, block.rest[:, :, None]], axis=2).astype(np.float64)
    at_calls = program.injected_at_calls
    for rows in alike(program, fewest=1, by_place=at_calls):
        detours = program.injected[rows]
        if at_calls:
            work[rows] -= detours_of_steps(work[rows], detours)
            continue
        at = step_of_detours(work[rows], detours)
        work[rows, :, at] = np.maximum(work[rows, :, at] - detours, 0.0)
    rest = np.ascontiguousarray(work[:, :, -1])
    quiet = replace(block, work=np.ascontiguousarray(work[:, :, :-1]), rest=rest)
    return replace(program, block=quiet, injected=None, injected_at_calls=False)


def detours_of_steps(work: Times, detours: Times) -> Times:
    """Divide the detours of every body among its steps, where each call may have had some.

    A run has the sum for each body. The work of a step without detours is taken as normal, with the
    mean and the deviation that it has in the bodies without detours, of the same rank. The most
    likely division then takes from every step what it has above its mean, less a part that grows
    with its variance, so that the sum is that of the body. A step of even work that took longer had
    a detour; one that varies much anyway may not.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank, step), seconds
        Of bodies with the same events at the same place, detours included.
    detours : float64 array, shape (iteration, rank), seconds

    Returns
    -------
    float64 array, shape (iteration, rank, step), seconds
        At most the work of each step.
    """
    usual, variance = usual_work(work, detours)
    excess = work - usual
    # The largest excess over variance first: steps before a place k have detours, if the common
    # multiple of the variances that is left to them, with the sum of these steps, lies there.
    ratio = excess / variance
    order = np.argsort(-ratio, axis=2)
    sorted_ratio = np.take_along_axis(ratio, order, axis=2)
    sums = np.cumsum(np.take_along_axis(excess, order, axis=2), axis=2)
    variances = np.cumsum(np.take_along_axis(np.broadcast_to(variance, work.shape), order, 2), 2)
    multiple = (sums - detours[:, :, None]) / variances
    has = np.sum(sorted_ratio > multiple, axis=2, keepdims=True)
    left = np.take_along_axis(multiple, np.maximum(has - 1, 0), axis=2)
    found = np.where(detours[:, :, None] > 0.0, np.maximum(excess - left * variance, 0.0), 0.0)
    found = np.minimum(found, work)
    # What a step is too short for goes to the others, in proportion to what is left of them.
    lacking = np.maximum(detours - found.sum(axis=2), 0.0)
    room = work - found
    part = lacking / np.maximum(room.sum(axis=2), LEAST_S)
    return np.asarray(found + np.minimum(part, 1.0)[:, :, None] * room)


def usual_work(work: Times, detours: Times) -> tuple[Times, Times]:
    """Return mean and variance of the work of each step on each rank, without detours.

    If nearly every body has some, the work of a step is a straight line over the detours of its
    body, whose slope is the step's share of them: cov(work, sum) is the variance of its detours.

    Returns
    -------
    usual, variance : float64 array, shape (1, rank, step), seconds and seconds squared
    """
    ranks, steps = work.shape[1:]
    usual, variance = np.empty((1, ranks, steps)), np.empty((1, ranks, steps))
    for rank in range(ranks):
        mine, sums = work[:, rank], detours[:, rank]
        quiet = mine[sums == 0.0]
        if len(quiet) >= FEWEST_ALIKE:
            # Robust against a body in which the rank lost its core.
            usual[0, rank] = np.median(quiet, axis=0)
            spread = np.median(np.abs(quiet - usual[0, rank]), axis=0)
            variance[0, rank] = (1.4826 * spread) ** 2
        else:
            off = sums - sums.mean()
            shared = off @ mine / len(mine)
            share = np.clip(shared / max(float(off @ off) / len(mine), LEAST_S**2), 0.0, 1.0)
            usual[0, rank] = np.maximum(mine.mean(axis=0) - share * sums.mean(), 0.0)
            variance[0, rank] = mine.var(axis=0) - shared
    return usual, np.maximum(variance, LEAST_S**2)


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
    varies[lacking > lacking.min() + LACKING * detours.sum()] = np.inf
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
    some = slice(None, None, -(-work.shape[1] // MOST_SEARCHED))  # the first rank among them
    found = find_recurring(work[:, some], position)
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
