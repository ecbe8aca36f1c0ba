"""The order numbers every base cell once, and says so when there are too many."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.harness.adaptive.mesh.order import tables_of

SHAPES = [(1, 1), (1, 9), (9, 1), (8, 8), (5, 40), (288, 3), (33, 31)]


@pytest.mark.parametrize("base", SHAPES, ids=str)
def test_every_base_cell_has_a_key_of_its_own(base: tuple[int, int]) -> None:
    columns, rows = tables_of(base, 3)
    keys = (columns[:, None] + rows[None, :]).ravel()
    assert np.unique(keys).size == base[0] * base[1]
    assert keys.min() == 0
    # Less than a square of a power of two, of which those at the side are partly empty.
    assert keys.max() < 4 * keys.size


def test_the_curve_goes_through_all_of_a_square_before_the_next() -> None:
    columns, rows = tables_of((4, 16), 0)
    square = (columns[:, None] + rows[None, :]) // 16
    np.testing.assert_array_equal(square, np.tile(np.arange(16) // 4, (4, 1)))


def test_the_largest_mesh_whose_keys_fit() -> None:
    tables_of((2, 2), 30)
    with pytest.raises(UsageError, match="at most 31 and 62"):
        tables_of((3, 2), 30)
