"""What a deck is: a problem, its mesh, and how much of it makes a cycle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.decks.starts import STARTS

MOST_LEVELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Deck:
    """A problem on an adaptive mesh, as SAGE's input decks are; weak scaling unless told.

    Attributes
    ----------
    name, summary : str
    start : str
        The state in the beginning; see `hindmost.harness.adaptive.decks.starts.STARTS`.
    columns, rows : int
        Base cells of a rank's share along x and y.
    spacing : float
        Width of a base cell.
    levels : int
        How often a base cell may divide.
    steps : int
        Time steps of a cycle, which ends with heat and adaption.
    flow : bool
        Whether steps move the gas.
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
    UsageError
        A value is out of its range; the message begins with the field's name.
    """

    name: str
    summary: str
    start: str
    columns: int
    rows: int
    spacing: float
    levels: int
    steps: int
    flow: bool = True
    heat: bool = False
    heats: int = 1
    gamma: float = 1.4
    specific_heat: float = 2.5
    conductivity: float = 0.0
    cfl: float = 0.8
    divide: float = 0.1
    combine: float = 0.03
    buffer: int = 1
    growth: float = 3.5

    def __post_init__(self) -> None:
        if not self.name or not all(letter.isalnum() or letter in "-_." for letter in self.name):
            raise UsageError(
                f"name: '{self.name}'; letters, digits, '-', '_' and '.' are allowed, "
                "since run files are named after it."
            )
        for field in ("columns", "rows"):
            self._check(field, 1 <= getattr(self, field) <= 1 << 15, "1 to 32768")
        self._check("levels", 0 <= self.levels <= MOST_LEVELS, f"0 to {MOST_LEVELS}")
        self._check("steps", 1 <= self.steps <= 10**6, "1 to 1000000")
        self._check(
            "heats",
            1 <= self.heats <= self.steps and self.steps % self.heats == 0,
            f"a divisor of steps ({self.steps})",
        )
        self._check("buffer", 0 <= self.buffer <= 8, "0 to 8")
        for field in ("spacing", "specific_heat"):
            self._check(field, 0 < getattr(self, field) < math.inf, "a positive number")
        self._check("gamma", 1 < self.gamma <= 5, "above 1, at most 5")
        self._check("cfl", 0 < self.cfl <= 1, "above 0, at most 1")
        self._check("divide", 0 < self.divide < math.inf, "a positive number")
        self._check(
            "combine", 0 <= self.combine < self.divide, f"0 to below divide ({self.divide:g})"
        )
        self._check("growth", 1 <= self.growth < math.inf, "a number of at least 1")
        most = "a number of at least 0" + (", above 0 with heat = true" if self.heat else "")
        least = self.conductivity > 0 if self.heat else self.conductivity >= 0
        self._check("conductivity", least and self.conductivity < math.inf, most)
        if not (self.flow or self.heat):
            raise UsageError("flow: false, and heat: false; one of them must be true.")
        try:
            STARTS[self.start]
        except UsageError as error:
            raise UsageError(f"start: {error}") from None

    def _check(self, field: str, right: bool, allowed: str) -> None:
        if not right:
            raise UsageError(f"{field}: {getattr(self, field)}; allowed is {allowed}.")

    def base(self, ranks: int) -> tuple[int, int]:
        """Return the base mesh of so many ranks: their shares, put together nearly square."""
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
        gas = STARTS[self.start].gas((i + 0.5) * width, (j + 0.5) * width, extent)
        rho, u, v, p = gas.T
        energy = p / (self.gamma - 1.0) + 0.5 * rho * (u * u + v * v)
        return np.column_stack([rho, rho * u, rho * v, energy])

    def to_toml(self) -> str:
        """Return the deck as text that `text.parse_deck` reads."""
        from hindmost.harness.adaptive.decks.text import write_deck  # which knows what a deck is

        return write_deck(self)


def parse_base(text: str) -> tuple[int, int]:
    """Read the size of a base mesh that does not grow with the ranks, as in ``512x256``.

    Raises
    ------
    UsageError
        It is not two sizes.
    """
    across, _, up = text.lower().partition("x")
    if not (across.isdecimal() and up.isdecimal() and int(across) > 0 and int(up) > 0):
        raise UsageError(f"A base mesh of '{text}'; two sizes are wanted, as in 512x256.")
    return int(across), int(up)
