"""What an iteration of PETSc's Krylov solvers does between the events in which ranks wait.

Counted for PETSc 3.18, and held against the calls that its log counts (`-log_view`). A vector that
is read, and one that is written, counts once each. A preconditioner is Jacobi's, three vectors; or
none, a copy; or another that needs no other rank, whose time is fitted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.models.simulation.blocks import COMPLETE, NONE, POST, RECEIVE, REDUCE, SEND


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


@dataclass(frozen=True, slots=True)
class Product:
    """A product with the matrix, with its halo."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """A preconditioner that needs no other rank."""


Part = Do | Product | Precondition | int
"""An int is an event, see `hindmost.models.events.EventKind`."""
PRODUCT, PC = Product(), Precondition()
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
        elif isinstance(part, Precondition):
            fixed[Unit.VECTOR] += preconditioner
            fixed[Unit.PRECONDITIONER] += preconditioner == 0.0
        elif isinstance(part, Product):
            if halo:
                yield Step(event=SEND, fixed=fixed, by_place=by_place)
                fixed, by_place = np.zeros((2, len(Unit)))
            fixed[Unit.LOCAL] += 1.0
            if halo:
                yield Step(event=RECEIVE, fixed=fixed, by_place=by_place)
                fixed, by_place = np.zeros((2, len(Unit)))
                fixed[Unit.REST] += 1.0
        else:
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
