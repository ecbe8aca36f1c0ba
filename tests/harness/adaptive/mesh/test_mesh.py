"""The mesh on one rank against brute force: order, faces, walls, 2:1, siblings, sums."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.alone import ALONE
from tests.harness.adaptive.mesh.brute import faces_of_pairs, flags_of_places, squares, walls_of
from tests.harness.adaptive.meshes import across

from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.harness.adaptive.mesh.order import Cells, tables_of


def start(base: tuple[int, int] = (4, 3), levels: int = 3, most: int | None = None) -> Mesh:
    return Mesh(ALONE, base, levels, most_cells=most)


def adapted(mesh: Mesh, flags: NDArray[Any], state: NDArray[np.float64]) -> NDArray[np.float64]:
    state, _, _ = mesh.adapt(flags.astype(np.int8), state)
    state, _ = mesh.balance(state)
    return mesh.connect(state)


def assert_faces(mesh: Mesh) -> None:
    """Compare with all pairs of cells; and neighbours differ by at most one level."""
    patch = mesh.patch
    cells, faces = squares(patch), patch.faces
    pairs = faces_of_pairs(cells, mesh.levels)
    for name, rows in zip("xy", across(patch), strict=True):
        order = list(zip(faces.lower[rows].tolist(), faces.upper[rows].tolist(), strict=True))
        found = [
            (cells[a], cells[b], int(level))
            for (a, b), level in zip(order, faces.level[rows], strict=True)
        ]
        assert len(found) == len(set(found))
        assert set(found) == pairs[name]
        assert all(abs(a[2] - b[2]) <= 1 for a, b, _ in found)
        assert order == sorted(order)
    walls = [
        (cells[c], int(side)) for c, side in zip(patch.walls.cell, patch.walls.side, strict=True)
    ]
    assert len(walls) == len(set(walls))
    assert set(walls) == walls_of(cells, mesh.base)
    assert (np.diff(patch.walls.cell) >= 0).all()


def assert_tiles(mesh: Mesh) -> None:
    """Every place of the domain is covered once: areas sum to it, and no two cells overlap."""
    finest = mesh.levels
    covered = np.zeros((mesh.base[0] << finest, mesh.base[1] << finest), np.int64)
    for i, j, level in squares(mesh.patch):
        size = 1 << (finest - level)
        covered[i * size : (i + 1) * size, j * size : (j + 1) * size] += 1
    assert (covered == 1).all()


@settings(max_examples=40, deadline=None)
@given(
    base=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    levels=st.integers(0, 4),
    seeds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5),
)
def test_random_flags(base: tuple[int, int], levels: int, seeds: list[int]) -> None:
    mesh = start(base, levels)
    state = mesh.connect(np.ones((base[0] * base[1], 1)))
    for seed in seeds:
        random = np.random.default_rng(seed)
        divide = random.choice([0.02, 0.2, 0.6])
        odds = [(1 - divide) * 0.8, (1 - divide) * 0.2, divide]
        before = squares(mesh.patch)
        flags = random.choice(np.array([-1, 0, 1], np.int8), p=odds, size=len(before))
        state = adapted(mesh, flags, state)
        assert_tiles(mesh)
        assert_faces(mesh)
        after = set(squares(mesh.patch))
        for (i, j, level), flag in zip(before, flags.tolist(), strict=True):
            if flag > 0 and level < levels:
                assert (2 * i, 2 * j, level + 1) in after
            if flag == 0:
                assert (i // 2, j // 2, level - 1) not in after


def test_the_least_that_neighbours_need_is_done() -> None:
    """One corner divides thrice: the mesh that results is drawn by hand."""
    mesh = start((2, 1), 3)
    state = mesh.connect(np.ones((2, 1)))
    for _ in range(3):
        cells = squares(mesh.patch)
        # The cell left of the middle of the domain, at the bottom.
        at = [cells.index((i, 0, level)) for i, level in ((0, 0), (1, 1), (3, 2))
              if (i, 0, level) in cells]  # fmt: skip
        flags = np.zeros(len(cells), np.int8)
        flags[at] = 1
        state = adapted(mesh, flags, state)
    levels = [level for _, _, level in squares(mesh.patch)]
    # Left: of four, the lower right one divides; of its four again the lower right one. It has
    # size 1/8, so its right neighbour has 1/4, and the rest of the right base cell 1/2.
    # The one above the divided 1/2 touches only cells of 1/4.
    assert [levels.count(level) for level in range(4)] == [0, 3 + 3, 3 + 4, 4]


def test_siblings_combine_together_or_not_at_all() -> None:
    mesh = start((1, 1), 2)
    state = adapted(mesh, np.ones(1), mesh.connect(np.array([[3.0]])))
    state[:] = [[1.0], [2.0], [4.0], [8.0]]
    state, *did = mesh.adapt(np.array([-1, -1, -1, 0], np.int8), state)
    assert did == [0, 0]
    epoch = mesh.epoch
    state = mesh.connect(state)
    assert mesh.epoch == epoch
    state, *did = mesh.adapt(np.full(4, -1, np.int8), state)
    assert did == [0, 1]
    assert mesh.connect(state).tolist() == [[3.75]]
    assert mesh.epoch == epoch + 1


def test_sums_stay() -> None:
    """Exactly: densities of few digits, whose means and sums are exact in binary."""
    base = (6, 5)
    mesh = start(base, 3)
    random = np.random.default_rng(2)
    state = mesh.connect(random.integers(0, 1024, (30, 4)).astype(float))

    def totals() -> list[Fraction]:
        level = mesh.patch.level.tolist()
        return [
            sum((Fraction(value) / 4**depth for value, depth in zip(column, level, strict=True)),
                Fraction(0))
            for column in state.T.tolist()
        ]  # fmt: skip

    expected = totals()
    done = np.zeros(2, int)
    for cycle in range(12):
        state, *did = mesh.adapt(flags_of_places(mesh.patch, base, cycle), state)
        state = mesh.connect(state)
        done += did
        assert totals() == expected
    assert (done > [100, 50]).all()


def test_nothing_divides_beyond_the_most_cells() -> None:
    mesh = start((4, 4), 2, most=40)
    flags = np.zeros(16, np.int8)
    flags[:8] = 1
    state = adapted(mesh, flags, np.zeros((16, 1)))
    assert mesh.patch.owned == 40
    flags = np.where(mesh.patch.level > 0, -1, 0).astype(np.int8)
    flags[-1] = 1
    flags[:4] = 0
    state, *did = mesh.adapt(flags, state)
    # Seven groups combine and make room, so one cell may divide after all.
    assert did == [1, 7]
    state = mesh.connect(state)
    assert mesh.adapt(np.ones(mesh.patch.owned, np.int8), state)[1:] == (0, 0)


@pytest.mark.parametrize("base", [(1, 9), (9, 1), (8, 8), (5, 40), (288, 3)], ids=str)
def test_morton_s_curve_numbers_a_square_quadrant_by_quadrant(base: tuple[int, int]) -> None:
    columns, rows = (table[::4] >> 4 for table in tables_of(base, 2))  # of base cells
    keys = columns[:, None] + rows[None, :]
    assert np.unique(keys).size == base[0] * base[1]
    side = 1 << min((count - 1).bit_length() for count in base)
    for i, j in np.ndindex(*base):
        within = sum((i >> bit & 1) << 2 * bit | (j >> bit & 1) << 2 * bit + 1 for bit in range(9)
                     if 1 << bit < side)  # fmt: skip
        assert keys[i, j] == within + side**2 * (i // side + j // side)


def test_a_mesh_of_given_cells() -> None:
    base = (6, 4)
    mesh = start(base, 3)
    state = mesh.connect(np.arange(24.0)[:, None])
    for cycle in range(4):
        state = adapted(mesh, flags_of_places(mesh.patch, base, cycle), state)
    again, states = Mesh.from_cells(ALONE, base, 3, mesh.cells, state)
    assert squares(again.patch) == squares(mesh.patch)
    np.testing.assert_array_equal(states, state)
    np.testing.assert_array_equal(again.patch.faces.lower, mesh.patch.faces.lower)


@pytest.mark.parametrize("what", ["one lost", "two swapped", "outside", "too fine", "one twice"])
def test_given_cells_that_are_no_mesh(what: str) -> None:
    cells = start((4, 4), 1).cells
    i, j, level = cells.i.copy(), cells.j.copy(), cells.level.copy()
    if what == "one lost":
        i, j, level = i[1:], j[1:], level[1:]
    elif what == "two swapped":
        i[[0, 1]], j[[0, 1]] = i[[1, 0]], j[[1, 0]]
    elif what == "outside":
        i[3] = 99
    elif what == "too fine":
        level[3] = 2
    else:
        i[1], j[1] = i[0], j[0]
    with pytest.raises(DataError, match="do not tile a base mesh of 4 x 4 with 1 levels"):
        Mesh.from_cells(ALONE, (4, 4), 1, Cells(i=i, j=j, level=level), np.zeros((level.size, 1)))


def test_given_cells_of_unlike_neighbours() -> None:
    level = np.array([2] * 16 + [0], np.int8)
    i, j = np.append(np.arange(16) % 4, 1), np.append(np.arange(16) // 4, 0)
    order = np.append(np.argsort([x & 1 | (y & 1) << 1 | (x & 2) << 1 | (y & 2) << 2
                                  for x, y in zip(i[:16], j[:16], strict=True)]), 16)  # fmt: skip
    cells = Cells(i=i[order].astype(np.int32), j=j[order].astype(np.int32), level=level)
    with pytest.raises(DataError, match="two levels finer"):
        Mesh.from_cells(ALONE, (2, 1), 2, cells, np.zeros((17, 1)))


@pytest.mark.parametrize(
    ("base", "levels", "word"),
    [((0, 4), 1, "0 x 4"), ((4, 4), -1, "-1 levels"), ((4, 4), 30, "at most 24")],
)
def test_what_is_refused(base: tuple[int, int], levels: int, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Mesh(ALONE, base, levels)
