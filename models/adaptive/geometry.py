"""Patterns: the cells that a rank exchanges with others, and the distance of those ranks.

With E cells per rank on P ranks SAGE's domain is a cube of side L = (E P)^(1/3), in whose row order
a rank owns a slab, layer by layer, in blocks of 2 x 2 x 2 cells. That of the kernel is a square of
side (E P)^(1/2), of which a rank owns a compact piece along a space-filling curve.
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
    """Row order in a cube: contiguous runs of cells are slabs, as in SAGE."""

    @property
    def name(self) -> str:
        """``slab``."""
        return "slab"

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return S = min((E P)^(2/3), E / 2) and PED; nothing on one rank."""
        if ranks < 2:
            return Surface(0.0, 0.0, 0, 0)
        distance = min(self.distance(cells, ranks), ranks - 1)
        directions = min(2, ranks - 1)
        return Surface(self.surface_cells(cells, ranks), float(distance), distance, directions)

    def surface_cells(self, cells: float, ranks: int) -> float:
        """Return the cells on one side of a slab; at most half of its cells."""
        face: float = (cells * ranks) ** (2.0 / 3.0)
        return min(face, cells / 2.0)

    def distance(self, cells: float, ranks: int) -> int:
        """Return PED, 2 / thickness rounded up: ceil((8 P^2 / E)^(1/3))."""
        blocks = (8.0 * ranks**2 / cells) ** (1.0 / 3.0)
        return max(1, math.ceil(float(blocks) - 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Order along a space-filling curve (Morton): a rank owns a compact piece of a square."""

    @property
    def name(self) -> str:
        """``curve``."""
        return "curve"

    def surface(self, cells: float, ranks: int) -> Surface:
        """Return S = 4 sqrt(E) for all sides at once; less on few ranks.

        On two and four ranks pieces also have outer sides: a half has one inner side
        as long as the domain, a quarter two of its own length.
        """
        if ranks < 2:
            return Surface(0.0, 0.0, 0, 0)
        inner = min(4.0, math.log2(ranks))
        # Halves of a square share a cut of sqrt(2 E).
        side = math.sqrt(2.0 * cells if ranks == 2 else cells)
        messages = float(min(ranks - 1, 4 if inner < 4.0 else 6))
        return Surface(inner * side, messages, min(ranks - 1, 4), 1)


def contention(surface: Surface, ranks: int, ranks_per_node: int) -> float:
    """Return C(P, E): messages that share a node's NIC; 1 if no message leaves the node.

    min(PED, PPN) ranks of a node send messages off it in each direction.
    """
    if ranks <= ranks_per_node:
        return 1.0
    return float(max(1, min(surface.distance, ranks_per_node)))
