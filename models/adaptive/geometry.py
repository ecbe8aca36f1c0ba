"""Patterns: the cells that a rank exchanges with others, and the distance of those ranks.

With E cells per rank on P ranks the domain is a cube of side L = (E P)^(1/3), or a square of side
(E P)^(1/2). In row order a rank owns a slab, layer by layer, in blocks of 2 x 2 x 2 (2 x 2) cells;
along a space-filling curve it owns a compact piece.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Surface:
    """The cells that a rank receives in one exchange, from one direction.

    Attributes
    ----------
    cells : float
    messages : float
        Number of ranks that they come from.
    distance : int
        Largest difference of rank numbers: PED, the PE distance.
    directions : int
        Such directions of an inner rank: 2, lower and upper, or 1 for all at once.
    """

    cells: float
    messages: float
    distance: int
    directions: int


class Pattern(Protocol):
    """An order of cells, which determines the exchanges."""

    @property
    def name(self) -> str:
        """The name, as on the command line."""

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return the exchanged surface; ``cells`` are those per rank."""


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
        """Return the cells on one side of a slab; at most half of its cells."""
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
    """Order along a space-filling curve (Morton): a rank owns a compact piece of the domain.

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
        """Return S = 4 sqrt(E), or 6 E^(2/3), for all sides at once; less on few ranks.

        On two and four ranks (eight in 3-D) pieces also have outer sides: a half has one inner side
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
    """Return C(P, E): messages that share a node's NIC; 1 if no message leaves the node.

    min(PED, PPN) ranks of a node send messages off it in each direction.
    """
    if ranks <= ranks_per_node:
        return 1.0
    return float(max(1, min(surface.distance, ranks_per_node)))
