"""Decks: a problem, its mesh, and how much of it makes a cycle; the built-in ones time the kernel.

They are named and sized as SAGE's timing decks. Cells and levels are those of the literature; the
steps are as many as make a cycle last some tens of milliseconds on one core, so that noise averages
out within it. Heavy discs keep the mesh moving over 200 cycles; on one rank it holds at most 2.9
cells to a base cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.documents import Document, read_document
from hindmost.errors import UsageError
from hindmost.models.adaptive.offline import Application, Count, Exchange
from hindmost.records import RecordError, from_document, to_toml
from hindmost.registry import Registry
from hindmost.text import choose

DOUBLE, STATE_BYTES = 8, 32
CELL_BYTES = STATE_BYTES + 9
"""Of a cell that moves or is kept: its state, two indices and a level."""
ITERATIONS, MOVED_SHARE, IMBALANCE = 8.0, 0.015, 0.015
"""Of a heat solve; of the cells of a rank in a cycle; what an adaption adds to max / mean - 1 of
cells per rank: typical of the built-in decks."""


Name = Annotated[
    str,
    Meta(
        pattern=r"\A[\w.-]+\Z",
        description="letters, digits, '-', '_' and '.', since run files are named after it",
    ),
]
Share = Annotated[int, Meta(ge=1, le=1 << 15)]
Positive = Annotated[float, Meta(gt=0)]
Amount = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deck:
    """A problem on an adaptive mesh, like SAGE's input decks; weak scaling by default.

    Attributes
    ----------
    name, summary : str
    columns, rows : int
        Base cells of a rank's share along x and y.
    spacing : float
        Width of a base cell.
    levels : int
        How often a base cell may divide.
    steps : int
        Time steps of a cycle, which ends with heat and adaption.
    heat : bool
        Whether a cycle conducts heat over the time of its steps.
    heats : int
        How often it does so in a cycle, each time after as many steps.
    gamma : float
        Ratio of specific heats.
    specific_heat, conductivity : float
        Of heat; the temperature is internal energy over density and specific heat.
    cfl : float
        Of the sum over the axes: at most 1.
    divide, combine : float
        Relative jumps to a neighbour above which a cell divides and below which it may combine.
    buffer : int
        Rings of cells around those that divide, which divide as well.
    growth : float
        Most cells of all ranks, over base cells.

    Raises
    ------
    RecordError
        Two values do not go together.
    """

    name: Name
    summary: str
    columns: Share
    rows: Share
    spacing: Positive
    levels: Annotated[int, Meta(ge=0, le=10)]
    steps: Annotated[int, Meta(ge=1, le=1_000_000)]
    heat: bool = False
    heats: int = 1
    gamma: Annotated[float, Meta(gt=1, le=5)] = 1.4
    specific_heat: Positive = 2.5
    conductivity: Amount = 0.0
    cfl: Annotated[float, Meta(gt=0, le=1)] = 0.8
    divide: Positive = 0.1
    combine: Amount = 0.03
    buffer: Annotated[int, Meta(ge=0, le=8)] = 1
    growth: Annotated[float, Meta(ge=1)] = 3.5

    def __post_init__(self) -> None:
        for field, right, why in (
            ("heats", self.heats >= 1 and self.steps % self.heats == 0,
             f"allowed: a divisor of steps ({self.steps})"),
            ("combine", self.combine < self.divide,
             f"allowed: a number below divide ({self.divide:g})"),
            ("conductivity", self.conductivity > 0 or not self.heat,
             "allowed: a finite number above 0, with heat = true"),
        ):  # fmt: skip
            if not right:
                raise RecordError(why, field, found=getattr(self, field))

    def base(self, ranks: int) -> tuple[int, int]:
        """Return the base mesh for a number of ranks: their shares, arranged nearly square."""
        pairs = [(n, ranks // n) for n in range(ranks, 0, -1) if ranks % n == 0]
        shapes = [(self.columns * across, self.rows * up) for across, up in pairs]
        return min(shapes, key=lambda shape: abs(math.log(shape[0] / shape[1])))

    def most_cells(self, base: tuple[int, int]) -> int:
        """Return how many cells the mesh of all ranks may grow to."""
        return int(self.growth * base[0] * base[1])

    def state(
        self, base: tuple[int, int], i: NDArray[np.int32], j: NDArray[np.int32],
        level: NDArray[np.int8],
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return the state in the beginning at the cells' centres.

        A hot disc off the middle and two heavy ones lie in the way of a shock, which comes from the
        left at Mach 2 for a ratio of specific heats of 1.4 (Rankine and Hugoniot). The heavy discs
        move slowly, so that there is something to resolve for long.

        Parameters
        ----------
        base : (int, int)
            Columns and rows of the base mesh of all ranks.
        i, j, level : int32, int32 and int8 array, shape (cell,)

        Returns
        -------
        float64 array, shape (cell, 4)
            Density, x and y momentum, energy.
        """
        width = self.spacing / 2.0**level
        extent = (base[0] * self.spacing, base[1] * self.spacing)
        x, y = (i + 0.5) * width, (j + 0.5) * width

        def disc(x_part: float, y_part: float, radius: float) -> NDArray[np.bool_]:
            """Tell which places are in a disc, given as parts of the domain."""
            far = np.hypot(x - x_part * extent[0], y - y_part * extent[1])
            return np.asarray(far < radius * min(extent))

        behind, hot = x < 0.08 * extent[0], disc(0.55, 0.4, 0.03)
        heavy = disc(0.3, 0.7, 0.06) | disc(0.8, 0.75, 0.05)
        rho = np.where(heavy, 20.0, np.where(behind, 8 / 3, 1.0))
        p = np.where(hot, 400.0, np.where(behind, 4.5, 1.0))
        u, v = np.where(behind, 1.25 * np.sqrt(1.4), 0.0), np.zeros(x.size)
        energy = p / (self.gamma - 1.0) + 0.5 * rho * (u * u + v * v)
        return np.column_stack([rho, rho * u, rho * v, energy])

    def to_toml(self) -> str:
        """Return the deck as text that `find_deck` reads from a file."""
        return to_toml(self)


TIMING_A = Deck(
    name="timing-a",
    summary="4,096 base cells per rank, two levels, flow only",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=2,
    steps=500,
    cfl=0.2,
    divide=0.4,
    combine=0.1,
)
TIMING_B = Deck(
    name="timing-b",
    summary="4,096 base cells per rank, two levels, flow and heat",
    columns=64,
    rows=64,
    spacing=1 / 64,
    levels=2,
    steps=400,
    cfl=0.2,
    heat=True,
    heats=40,
    conductivity=0.001,
    divide=0.15,
    combine=0.05,
)
TIMING_C = Deck(
    name="timing-c",
    summary="80,640 base cells per rank, one level, flow and heat",
    columns=288,
    rows=280,
    spacing=1 / 288,
    levels=1,
    steps=32,
    cfl=0.5,
    heat=True,
    heats=4,
    conductivity=0.002,
    divide=0.15,
    combine=0.04,
)
DECKS: Registry[Deck] = Registry("deck", (TIMING_A, TIMING_B, TIMING_C))
"""Every deck that is built in."""


def find_deck(word: str) -> Deck:
    """Return the deck of a name, or of a file that ends in .toml.

    Raises
    ------
    UsageError
        There is no such deck.
    DataError
        Its file is not right.
    """
    if word.endswith(".toml") or "/" in word:
        return deck_of(read_document(Path(word)))
    if word not in DECKS.names:
        raise UsageError(
            f"Unknown deck '{word}'; {choose(DECKS.names)}; or name a TOML file (.toml)."
        )
    return DECKS[word]


def deck_of(document: Document) -> Deck:
    """Return the deck that a document describes.

    Raises
    ------
    DataError
        A field is unknown, missing, of the wrong kind or out of range.
    """
    with document.errors():
        return from_document(Deck, document.data)


def parse_base(text: str) -> tuple[int, int]:
    """Read the size of a base mesh that does not grow with the ranks, as in ``512x256``.

    Raises
    ------
    UsageError
        It is not two sizes.
    """
    across, _, up = text.lower().partition("x")
    if not (across.isdecimal() and up.isdecimal() and int(across) > 0 and int(up) > 0):
        raise UsageError(f"Base mesh '{text}': give two sizes, as 512x256.")
    return int(across), int(up)


def application_of(deck: Deck) -> Application:
    """Return the counts of a deck, known from how the kernel is written.

    Every step fills the ghosts of the state and finds the largest rate; every iteration of the heat
    solver fills one column and reduces twice at once; adaption fills the state once more.
    """
    heat = 1.0 if deck.heat else 0.0
    solves = deck.heats * heat
    column = Count(per_cycle=float(deck.buffer) + 3.0 * solves, per_iteration=heat)
    return Application(
        name=deck.name,
        exchanges=(
            Exchange(count=Count(per_cycle=1.0, per_step=1.0), bytes_per_cell=STATE_BYTES),
            Exchange(count=column, bytes_per_cell=DOUBLE),
        ),
        reductions=Count(per_cycle=2.0 * solves, per_step=1.0, per_iteration=heat),
        iterations=ITERATIONS * solves,
        solves=solves,
        moved_share=MOVED_SHARE if deck.levels else 0.0,
        bytes_moved=CELL_BYTES,
        imbalance=IMBALANCE if deck.levels else 0.0,
    )
