"""Patterns: which cells a rank shares with others, and how far away those are.

With E cells a rank on P ranks the domain is a cube of side L = (E P)^(1/3), or a square of side
(E P)^(1/2). In row order a rank owns a slab of it, one cell's thickness after another, in blocks of
2 x 2 x 2 (2 x 2) cells; along a space-filling curve it owns a lump.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Surface:
    """What a rank receives in one exchange, in one direction.

    Attributes
    ----------
    cells : float
    messages : float
        Ranks that they come from.
    distance : int
        How many ranks away, in the order of ranks, the farthest of them lies.
    directions : int
        How many such directions an inner rank has: lower and upper, or all at once.
    """

    cells: float
    messages: float
    distance: int
    directions: int


class Pattern(Protocol):
    """An order of cells, and what follows from it for the exchanges."""

    @property
    def name(self) -> str:
        """The name, as on the command line."""

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return what is exchanged with so many cells a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slab:
    """Row order: contiguous runs of cells are slabs, as in SAGE.

    Attributes
    ----------
    dimensions : int
        2 or 3.
    """

    dimensions: int = 3

    @property
    def name(self) -> str:
        """``slab``."""
        return "slab"

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return S = min((E P)^(1 - 1/d), E / 2) and PED; nothing on one rank."""
        if ranks < 2:
            return Surface(0.0, 0.0, 0, 0)
        distance = min(self.distance(cells, ranks), ranks - 1)
        directions = min(2, ranks - 1)
        return Surface(self.surface_cells(cells, ranks), float(distance), distance, directions)

    def surface_cells(self, cells: float, ranks: int) -> float:
        """Return the cells on one side of a slab; all of its lower or upper halves at most."""
        face: float = (cells * ranks) ** (1.0 - 1.0 / self.dimensions)
        return min(face, cells / 2.0)

    def distance(self, cells: float, ranks: int) -> int:
        """Return PED, 2 / thickness rounded up: ceil((8 P^2 / E)^(1/3)), or ceil(2 sqrt(P / E))."""
        if self.dimensions == 3:
            blocks = (8.0 * ranks**2 / cells) ** (1.0 / 3.0)
        else:
            blocks = 2.0 * math.sqrt(ranks / cells)
        return max(1, math.ceil(float(blocks) - 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Order along a space-filling curve (Morton): a rank owns a lump, whatever the ranks.

    Attributes
    ----------
    dimensions : int
        2 or 3.
    """

    dimensions: int = 2

    @property
    def name(self) -> str:
        """``curve``."""
        return "curve"

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return S = 4 sqrt(E), or 6 E^(2/3): all sides at once, fewer where few ranks are.

        On two and four ranks (eight in 3-D) the lumps have outer sides: a half has one inner side
        as long as the domain, a quarter two of its own length.
        """
        if ranks < 2:
            return Surface(0.0, 0.0, 0, 0)
        sides, side = 2 * self.dimensions, cells ** (1.0 - 1.0 / self.dimensions)
        inner = min(float(sides), math.log2(ranks))
        if ranks == 2:  # halves of a square: the cut is sqrt(2 E), of a cube (2 E)^(2/3)
            side = (2.0 * cells) ** (1.0 - 1.0 / self.dimensions)
        messages = float(min(ranks - 1, sides if inner < sides else 3 * self.dimensions))
        return Surface(inner * side, messages, min(ranks - 1, 2**self.dimensions), 1)


def contention(surface: Surface, ranks: int, ranks_per_node: int) -> float:
    """Return C(P, E): messages that one node's NIC carries at once; 1 where no one leaves a node.

    min(PED, PPN) ranks of a node send off it in each direction.
    """
    if ranks <= ranks_per_node:
        return 1.0
    return float(max(1, min(surface.distance, ranks_per_node)))


PATTERNS: dict[str, Callable[[int], Pattern]] = {
    "slab": lambda dimensions: Slab(dimensions=dimensions),
    "curve": lambda dimensions: Curve(dimensions=dimensions),
}
"""How cells may be ordered, by name."""
