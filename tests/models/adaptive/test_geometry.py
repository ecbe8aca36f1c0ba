"""What a rank exchanges, by counting."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.models.adaptive.offline import curve_surface


@pytest.mark.parametrize("ranks", [1, 2, 4, 16, 64])
def test_the_surface_is_that_of_a_square_in_morton_order(ranks: int) -> None:
    i, j = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    key = np.zeros((64, 64), int)
    for bit in range(6):
        key |= ((i >> bit) & 1) << (2 * bit + 1) | ((j >> bit) & 1) << (2 * bit)
    owner = key // (64 * 64 // ranks)
    counted = []
    for rank in range(ranks):  # cells outside each rank that touch it
        mine = np.pad(owner == rank, 1)
        near = mine[2:, 1:-1] | mine[:-2, 1:-1] | mine[1:-1, 2:] | mine[1:-1, :-2]
        counted.append(int((near & (owner != rank)).sum()))
    surface = curve_surface(64 * 64 / ranks, ranks)
    assert surface.cells == pytest.approx(max(counted))
    assert (surface.messages > 0) == (ranks > 1)
