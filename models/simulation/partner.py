"""The pipelined partner of a blocking solve, or the blocking one of a pipelined, never run.

A recipe says what an iteration of one of PETSc's Krylov solvers does between the events in which
ranks wait, counted for PETSc 3.18 and held against the calls that its log counts (`-log_view`). A
vector that is read, and one that is written, counts once each. A preconditioner is Jacobi's, three
vectors; or none, a copy; or another that needs no other rank, whose time is fitted by itself.

The recorded work before every event is split into these units: vectors, vectors of the basis, and
the two parts of a product. Their times on each rank, by least squares, make the work of the
partner. The recorded iterations keep their noise: each body of the partner takes as much more than
its typical work, in proportion, as the recorded one that it stands for, and other time in MPI goes
with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import (
    COMPLETE,
    FEWEST,
    KINDS,
    NONE,
    POST,
    RECEIVE,
    REDUCE,
    SEND,
    EventBlock,
)
from hindmost.models.simulation.injected import step_of_detours
from hindmost.models.simulation.program import Program, Times, TypicalCosts
from hindmost.text import choose


class Unit(IntEnum):
    """What the work of an iteration consists of."""

    VECTOR = 0
    """A vector that is read or written."""
    BASIS = 1
    """A vector of the basis in an orthogonalisation."""
    LOCAL = 2
    """The product with the part of the matrix that needs no halo."""
    REST = 3
    """The product with the other part."""
    PRECONDITIONER = 4
    """A preconditioner whose vectors are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """Own work: vectors, and vectors of the basis at place k of a cycle."""

    vectors: float = 0.0
    basis: float = 0.0
    basis_by_place: float = 0.0


Part = Do | Literal["product", "preconditioner"] | int
"""A product with the matrix has its halo; a preconditioner needs no other rank; an int is an event,
see `hindmost.models.events.EventKind`."""
PRODUCT: Final = "product"
PC: Final = "preconditioner"
SLOW_NORMS = 6.0
"""VecDotNorm2 reads two vectors, but takes as long as this many: PETSc's loop is not BLAS's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A solver.

    Attributes
    ----------
    body, first, last : tuple of Part
        A regular iteration; the first of a cycle; one that drains the pipeline. Empty: none such.
    more : int
        Bodies of a cycle beyond its iterations.
    partner : str
        The pipelined solver of a blocking one, or the blocking of a pipelined one.
    """

    body: tuple[Part, ...]
    partner: str
    first: tuple[Part, ...] = ()
    last: tuple[Part, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Work that leads to an event, or to the end of a body (NONE).

    Attributes
    ----------
    event : int
    fixed, by_place : float64 array, shape (unit,)
        Units of work, and units more at each place of a cycle.
    """

    event: int
    fixed: NDArray[np.float64]
    by_place: NDArray[np.float64]

    def units(self, place: float) -> NDArray[np.float64]:
        """Return the work at a place: float64, shape (unit,)."""
        return np.asarray(self.fixed + place * self.by_place)


def steps_of(parts: tuple[Part, ...], *, halo: bool, preconditioner: float) -> Iterator[Step]:
    """Yield the steps of a body.

    Parameters
    ----------
    halo : bool
        Whether products exchange halos.
    preconditioner : float
        Vectors that it reads and writes; 0 if not known.
    """
    fixed, by_place = np.zeros((2, len(Unit)))
    for part in parts:
        if isinstance(part, Do):
            fixed[Unit.VECTOR] += part.vectors
            fixed[Unit.BASIS] += part.basis
            by_place[Unit.BASIS] += part.basis_by_place
        elif part == PC:
            fixed[Unit.VECTOR] += preconditioner
            fixed[Unit.PRECONDITIONER] += preconditioner == 0.0
        elif part == PRODUCT:
            if halo:
                yield Step(event=SEND, fixed=fixed, by_place=by_place)
                fixed, by_place = np.zeros((2, len(Unit)))
            fixed[Unit.LOCAL] += 1.0
            if halo:
                yield Step(event=RECEIVE, fixed=fixed, by_place=by_place)
                fixed, by_place = np.zeros((2, len(Unit)))
                fixed[Unit.REST] += 1.0
        elif isinstance(part, int):
            yield Step(event=part, fixed=fixed, by_place=by_place)
            fixed, by_place = np.zeros((2, len(Unit)))
    yield Step(event=NONE, fixed=fixed, by_place=by_place)


RECIPES = {
    # (z, r); p = z + b p; A p; (p, w); x, r; z = B r and its norm.
    "cg": Recipe(
        partner="pipecg",
        body=(
            Do(vectors=2.0), REDUCE, Do(vectors=3.0), PRODUCT, Do(vectors=2.0), REDUCE,
            Do(vectors=6.0), PC, Do(vectors=1.0), REDUCE,
        ),
    ),
    # m = B w; n = A m; eight updates of three vectors; a norm and two products.
    "pipecg": Recipe(
        partner="cg",
        body=(PC, PRODUCT, COMPLETE, Do(vectors=29.0), POST),
        last=(PC, PRODUCT, COMPLETE),
        more=1,
    ),
    # (r, r0); p; v = A B p, (v, r0); s; t = A B s, (s, t), (t, t); x, r and its norm.
    "bcgs": Recipe(
        partner="pipebcgs",
        body=(
            Do(vectors=2.0), REDUCE, Do(vectors=4.0), PRODUCT, PC, Do(vectors=2.0), REDUCE,
            Do(vectors=3.0), PRODUCT, PC, Do(vectors=SLOW_NORMS), REDUCE, Do(vectors=8.0), REDUCE,
        ),
    ),
    # Four updates of four vectors, three of three, (q, y) and (y, y); B, A; x, r and five others,
    # five products; B, A.
    "pipebcgs": Recipe(
        partner="bcgs",
        body=(
            Do(vectors=28.0), POST, PC, PRODUCT, COMPLETE, Do(vectors=28.0), POST, PC, PRODUCT,
            COMPLETE,
        ),
    ),
    # B A v; products with k + 1 vectors of the basis, and their combination; the norm; scaling.
    "gmres": Recipe(
        partner="pgmres",
        body=(
            PRODUCT, PC, Do(vectors=1.0, basis=1.0, basis_by_place=1.0), REDUCE,
            Do(vectors=3.0, basis=1.0, basis_by_place=1.0), REDUCE, Do(vectors=2.0),
        ),
    ),
    # B A z; three vectors scaled, one added; two combinations of k vectors; a norm, k + 1 products.
    "pgmres": Recipe(
        partner="gmres",
        body=(PRODUCT, PC, COMPLETE, Do(vectors=15.0, basis=1.0, basis_by_place=3.0), POST),
        first=(PRODUCT, PC, Do(vectors=1.0, basis=1.0), POST),
        last=(COMPLETE, Do(vectors=2.0)),
        more=2,
    ),
}  # fmt: skip
"""By PETSc's name."""


TYPICAL = 0.25
"""Quantile of the work of a step that is split: less disturbed than the median."""


def as_partner(program: Program, solver: str) -> Program:
    """Return the program of another solver on the same system.

    Raises
    ------
    UsageError
        Solvers that are no pair, a preconditioner whose work is not known, or a run that does not
        have the events of its solver.
    """
    shape = program.shape
    if shape is None:
        raise UsageError("This run is of no solve, so no other solver can be predicted.")
    if solver == shape.solver:
        return program
    ours = RECIPES.get(shape.solver)
    if solver not in RECIPES:
        raise UsageError(f"--solver {solver}: {choose(tuple(RECIPES), solver)}.")
    if ours is None or ours.partner != solver:
        known = "nothing can" if ours is None else f"only {ours.partner}"
        raise UsageError(
            f"{solver} cannot be predicted from runs of {shape.solver}, {known}. Record it, and "
            "give those runs with --against."
        )
    theirs = RECIPES[solver]
    halo = program.has(RECEIVE)
    source = list(steps_of(ours.body, halo=halo, preconditioner=shape.preconditioner))
    rows = rows_of(program, source)
    work = np.concatenate([program.block.work, program.block.rest[:, :, None]], axis=2)
    if program.injected is not None:  # the detours come back in the bodies of the partner
        at = step_of_detours(work[rows], program.injected[rows])
        work[:, :, at] = np.maximum(work[:, :, at] - program.injected, 0.0)
    typical = np.full((program.bodies, program.ranks), np.nan)
    unit_s, left_out_s = fit_units(work, rows, program.position, source, typical)
    noise = work.sum(axis=2) / typical
    noise[~np.isin(np.arange(program.bodies), rows)] = np.median(noise[rows])
    bodies = bodies_of(program, ours, theirs, halo=halo, preconditioner=shape.preconditioner)
    block, units = block_of(program, bodies, unit_s, noise)
    released, late, costs = waits_of(program, bodies.rows, block)
    total_s, *others_s = (float((each @ units).max()) for each in (unit_s, *left_out_s))
    others = [each / total_s for each in others_s]
    injected = None
    if program.injected is not None:
        injected = np.where(bodies.drain[:, None], 0.0, program.injected[bodies.rows])
        block.work[:, :, 0] += injected
    return replace(
        program,
        block=block,
        released_s=released,
        late_s=late,
        position=bodies.place,
        costs=costs,
        injected=injected,
        shape=replace(shape, solver=solver, drain=bodies.drain, extra=theirs.more),
        doubt=(min(others, default=1.0), max(others, default=1.0)),
    )


def rows_of(program: Program, source: list[Step]) -> NDArray[np.intp]:
    """Return the recorded bodies that have the events of their solver, and no more."""
    kinds = [step.event for step in source if step.event != NONE]
    wanted = np.zeros(program.block.kind.shape[1], np.uint8)
    wanted[: len(kinds)] = kinds[: wanted.size]
    recorded = np.where(program.block.recorded, program.block.kind, NONE)
    rows = np.flatnonzero(np.all(recorded == wanted, axis=1))
    if len(kinds) > wanted.size or rows.size < FEWEST:
        name = program.shape.solver if program.shape else ""
        raise UsageError(
            f"{rows.size:,} of {program.bodies:,} iterations have the events of PETSc's {name} and "
            f"no others; its partner needs {FEWEST}. Record more iterations, with a "
            "preconditioner that waits for no other rank, such as jacobi, bjacobi or none."
        )
    return rows


def fit_units(
    work: Times,
    rows: NDArray[np.intp],
    position: NDArray[np.int32],
    source: list[Step],
    typical: Times,
) -> tuple[Times, list[Times]]:
    """Fit the times of units to the typical times of every step at every place, on every rank.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank, event and rest), seconds
    rows : int array
        Bodies that count.
    typical : float64 array, shape (iteration, rank), seconds
        Is filled with the typical work of the bodies at their place.

    Returns
    -------
    unit_s : float64 array, shape (rank, unit), seconds
    """
    grows = any(step.by_place.any() for step in source)
    place = position[rows] if grows else np.zeros(rows.size, np.int32)
    # The rest of a body stands behind all events that any body has.
    at = [*range(len(source) - 1), work.shape[2] - 1]
    units, medians, step_of = [], [], []
    for each in np.unique(place):
        here = rows[place == each]
        middle = np.quantile(work[here], TYPICAL, axis=0)
        typical[here] = middle[:, at].sum(axis=1)
        for number, step in enumerate(source):
            units.append(step.units(float(each)))
            medians.append(middle[:, at[number]])
            step_of.append(number)
    matrix, values, of_step = np.stack(units), np.stack(medians), np.array(step_of)

    def solve(kept: NDArray[np.bool_]) -> Times:
        # A step's variance is taken in proportion to its time, so that short steps, which often are
        # vectors alone, count beside long ones.
        # Shorter times are noise of the clock.
        weights = 1.0 / np.sqrt(np.maximum(values[kept], 1e-7))
        return np.stack(
            [
                nnls(weight[:, None] * matrix[kept], weight * column)[0]
                for weight, column in zip(weights.T, values[kept].T, strict=True)
            ]
        )

    every = solve(np.ones(of_step.size, np.bool_))
    left_out = []
    needed = matrix.any(axis=0)
    for number in range(len(source)):
        kept = of_step != number
        if np.array_equal(matrix[kept].any(axis=0), needed):
            left_out.append(solve(kept))
    return every, left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    """Bodies of the partner.

    Attributes
    ----------
    rows : int array, shape (iteration,)
        Recorded bodies that they stand for.
    place : int32 array, shape (iteration,)
    drain : bool array, shape (iteration,)
        Those that drain the pipeline.
    steps : list of (list of Step, int array)
        The steps of regular bodies, of the first and of the last of cycles, and which have them.
    """

    rows: NDArray[np.intp]
    place: NDArray[np.int32]
    drain: NDArray[np.bool_]
    steps: list[tuple[list[Step], NDArray[np.intp]]]


def bodies_of(
    program: Program, ours: Recipe, theirs: Recipe, *, halo: bool, preconditioner: float
) -> Bodies:
    """Return the bodies of the partner, cycle by cycle."""
    rows, places, last = [], [], []
    for cycle in program.block.cycles():
        count = max(cycle.stop - cycle.start - ours.more + theirs.more, 1)
        places.append(np.arange(count, dtype=np.int32))
        rows.append(np.minimum(cycle.start + places[-1], cycle.stop - 1).astype(np.intp))
        last.append((places[-1] == count - 1) & bool(theirs.last))
    place, drain = np.concatenate(places), np.concatenate(last)
    first = (place == 0) & bool(theirs.first)
    kinds = (theirs.body, ~first & ~drain), (theirs.first, first), (theirs.last, drain)
    steps = [
        (list(steps_of(parts, halo=halo, preconditioner=preconditioner)), np.flatnonzero(here))
        for parts, here in kinds
    ]
    return Bodies(rows=np.concatenate(rows), place=place, drain=drain, steps=steps)


def block_of(
    program: Program, bodies: Bodies, unit_s: Times, noise: Times
) -> tuple[EventBlock, NDArray[np.float64]]:
    """Return the events of the partner, and the units of work of all: shape (unit,).

    Parameters
    ----------
    unit_s : float64 array, shape (rank, unit), seconds
    noise : float64 array, shape (recorded iteration, rank)
        Work over typical work.
    """
    events = len(bodies.steps[0][0]) - 1
    shape = bodies.rows.size, program.ranks, events
    kind = np.zeros((shape[0], events), np.uint8)
    work, duration, rest = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    every = np.zeros(len(Unit))
    sent_s, posted_s = own_costs(program)
    for steps, rows in bodies.steps:
        factor = noise[bodies.rows[rows]]
        for number, step in enumerate(steps):
            units = step.fixed + bodies.place[rows, None] * step.by_place
            every += units.sum(axis=0)
            own = factor * (units @ unit_s.T)
            if step.event == NONE:
                rest[rows] = own
                continue
            kind[rows, number], work[rows, :, number] = step.event, own
            if step.event in (SEND, POST):
                duration[rows, :, number] = sent_s if step.event == SEND else posted_s
    begins = bodies.place == 0
    block = EventBlock(kind=kind, work=work, duration=duration, rest=rest, cycle_begins=begins)
    return block, every


def own_costs(program: Program) -> tuple[float, float]:
    """Return what sending a halo and posting a reduction take a rank, in seconds.

    Posts that were not recorded take as long as a reduction once all ranks have come.
    """
    block, costs = program.block, program.costs

    def median(kind: int) -> float:
        found = block.duration.transpose(0, 2, 1)[block.recorded & (block.kind == kind)]
        return float(np.median(found)) if found.size else 0.0

    if program.has(POST):
        return median(SEND), median(POST)
    known = costs.there[:, REDUCE] >= FEWEST
    posted_s = float(costs.median_s[known, REDUCE].mean()) if known.any() else 0.0
    return median(SEND), posted_s


def waits_of(
    program: Program, rows: NDArray[np.intp], block: EventBlock
) -> tuple[Times, Times, TypicalCosts]:
    """Return how long ranks stay in the events of the partner, and what these cost."""
    stays, kind = program.stays(program.costs.median_s), program.block.kind
    costs = costs_of(program, block.kind.shape[1])
    released, late = np.zeros(block.work.shape), np.full(block.work.shape, np.inf)
    for kinds in ((REDUCE, COMPLETE), (RECEIVE,)):
        was = program.block.recorded & np.isin(kind, kinds)
        now = block.recorded & np.isin(block.kind, kinds)
        # What kept a rank in all reductions, or exchanges, of a body, in those of the partner.
        kept = np.where(was[:, None, :], stays, 0.0).sum(axis=2)[rows]
        kept = kept / np.maximum(now.sum(axis=1), 1)[:, None]
        waits = np.isfinite(program.late_s) & was[:, None, :]
        depends = waits.any(axis=(0, 2))  # on whom, by rank
        paid = costs.median_s[np.arange(block.kind.shape[1]), block.kind][:, None, :]
        here = now[:, None, :] & depends[None, :, None]
        released = np.where(here, paid + kept[:, :, None], released)
        # Its costs are typical ones: ranks wait in every event.
        late = np.where(here, -1.0, late)
    return released, late, costs


def costs_of(program: Program, events: int) -> TypicalCosts:
    """Return what events cost by kind, at any place."""
    costs = program.costs
    median, low, high = np.zeros((3, events, KINDS))
    seen, there = np.zeros((2, events, KINDS), np.int64)
    for kinds in ((REDUCE, COMPLETE), (RECEIVE,)):
        weight = costs.there[:, kinds].astype(np.float64)
        if not weight.sum():
            continue
        hidden = bool(costs.hidden[:, kinds].any())
        here = list(kinds)
        for found, source in (
            (median, costs.median_s),
            (low, costs.low_s),
            (high, costs.high_s),
        ):
            found[:, here] = (source[:, here] * weight).sum() / weight.sum()
        there[:, here] = program.bodies
        seen[:, here] = 0 if hidden else program.bodies
    return TypicalCosts(median_s=median, low_s=low, high_s=high, seen=seen, there=there)
