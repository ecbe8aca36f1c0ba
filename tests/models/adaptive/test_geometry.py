from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hindmost.models.adaptive.offline import Surface, contention, curve_surface, slab_surface


def slab_by_counting(side: int, thickness_cells: int) -> tuple[int, int]:
    """Return surface and distance of the middle rank when a cube is cut in row order, counted."""
    cells = np.arange(side**3).reshape((side,) * 3)
    ranks = cells // thickness_cells
    owner = int(ranks.max()) // 2
    mine = ranks == owner
    above = np.zeros_like(mine)
    above[1:] |= mine[:-1]
    remote = above & ~mine
    distance = 0 if not remote.any() else int(np.max(ranks[remote]) - owner)
    return int(remote.sum()), distance


@pytest.mark.parametrize(("side", "ranks"), [(16, 2), (16, 4), (16, 8), (32, 8)])
def test_the_slab_surface_is_that_of_a_cube_cut_in_rows(side: int, ranks: int) -> None:
    cells = side**3 // ranks
    counted, distance = slab_by_counting(side, cells)
    surface = slab_surface(cells, ranks)
    assert surface.cells == pytest.approx(counted)
    assert surface.distance == distance == 1


@pytest.mark.parametrize(
    ("cells", "ranks", "distance"),
    [(4000, 16, 1), (4000, 22, 1), (4000, 23, 2), (4000, 64, 3), (4000, 256, 6), (4000, 1024, 13)],
)
def test_the_distance_grows_as_the_facts_say(cells: int, ranks: int, distance: int) -> None:
    assert slab_surface(cells, ranks).distance == distance


@pytest.mark.parametrize(("cells", "crossover"), [(4000, 22.4), (13_500, 41.1), (80_000, 100.0)])
def test_the_surface_saturates_where_slabs_are_two_cells_thick(
    cells: int, crossover: float
) -> None:
    at = np.sqrt(cells / 8.0)
    assert at == pytest.approx(crossover, rel=2e-3)
    # At P* a slab is two cells thick: its face is half of its cells, and no more after that.
    assert (cells * at) ** (2 / 3) == pytest.approx(cells / 2)
    below, above = slab_surface(cells, int(0.8 * at)), slab_surface(cells, int(4 * at))
    assert below.cells < cells / 2 == above.cells


def morton_surface(bits: int, ranks: int) -> list[int]:
    """Return the cells outside each rank that touch it, by counting on a square."""
    side = 2**bits
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    key = np.zeros((side, side), int)
    for bit in range(bits):
        key |= ((i >> bit) & 1) << (2 * bit + 1) | ((j >> bit) & 1) << (2 * bit)
    owner = key // (side * side // ranks)
    found = []
    for rank in range(ranks):
        mine = np.pad(owner == rank, 1)
        near = mine[2:, 1:-1] | mine[:-2, 1:-1] | mine[1:-1, 2:] | mine[1:-1, :-2]
        found.append(int((near & (owner != rank)).sum()))
    return found


@pytest.mark.parametrize("ranks", [2, 4, 16, 64])
def test_the_curve_surface_is_that_of_a_square_in_morton_order(ranks: int) -> None:
    counted = morton_surface(6, ranks)
    surface = curve_surface(64 * 64 / ranks, ranks)
    assert surface.cells == pytest.approx(max(counted))


@pytest.mark.parametrize("surface_of", [slab_surface, curve_surface])
def test_one_rank_exchanges_nothing(surface_of: Callable[[float, int], Surface]) -> None:
    assert surface_of(4096, 1).cells == surface_of(4096, 1).messages == 0.0


def test_ranks_of_a_node_share_its_way_out() -> None:
    for ranks, factor in ((4, 1.0), (16, 1.0), (64, 3.0), (1024, 4.0)):  # min(PED, 4)
        assert contention(slab_surface(4000, ranks), ranks, 4) == factor
